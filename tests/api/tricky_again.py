"""More operators that hide something, from another angle: callbacks, protocols, late changes, borrowed state."""

# ruff: noqa: E731, RUF012

from __future__ import annotations

import bisect
import collections
import contextlib
import copy
import functools
import heapq
import io
import itertools
import json
import operator
import re
import string
import types
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

from judged import at_best, at_best_stateless, unknown, unknown_filter, unknown_flat_map

LOG: list[Any] = []
TICK = itertools.count()
SLOTS = tuple([0] for _ in range(3))
RATES = {"a": 1.0}
PROXY = types.MappingProxyType(RATES)
BUFFER = io.StringIO()
TEMPLATE = string.Template("$x")
PAIR = (lambda: next(TICK), 1)
ONES = frozenset({"a", "b", "c"})


def note(x):
    LOG.append(x)
    return x


class Truth:
    def __bool__(self):
        return next(TICK) % 2 == 0


class Sized:
    def __len__(self):
        return next(TICK)


class Ordered:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        LOG.append(1)
        return len(LOG) % 2 == 0


class Hashed:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return next(TICK)

    def __eq__(self, other):
        return False


class Iterable_:
    def __iter__(self):
        return iter([next(TICK)])


class Item:
    def __getitem__(self, key):
        return next(TICK)


class Index:
    def __index__(self):
        return next(TICK) % 2


class Shown:
    def __repr__(self):
        return str(next(TICK))


class Reader:
    def __init__(self, sym):
        self.sym = sym

    @property
    def out(self):
        return float(next(TICK))


class RowWithProperty(NamedTuple):
    sym: str
    price: float

    @property
    def out(self):
        return float(next(TICK))


@dataclass
class SetterField:
    sym: str
    out: float

    @property
    def tag(self):
        return self.sym

    @tag.setter
    def tag(self, value):
        LOG.append(value)


class Level(Enum):
    LOW = 1

    def __eq__(self, other):
        return next(TICK) % 2 == 0

    def __hash__(self):
        return 1


class Mood(Enum):
    GOOD = [1]


@dataclass(frozen=True)
class Frozen:
    names: list = field(default_factory=list)


FROZEN = Frozen()


class Error(Exception):
    def __str__(self):
        return str(next(TICK))


@unknown_filter
def truth_of_a_result(t):
    return Truth()


@unknown_filter
def length_of_a_result(t):
    return Sized()


@unknown
def truth_in_or(t):
    return {"sym": t.sym, "out": float(1 if Truth() or t.n else 2)}


@unknown
def truth_in_any(t):
    return {"sym": t.sym, "out": float(any([Truth()]))}


@unknown
def truth_in_filter(t):
    return {"sym": t.sym, "out": float(len(list(filter(None, [Truth(), Truth()]))))}


@unknown
def not_truth(t):
    return {"sym": t.sym, "out": float(not Truth())}


@unknown
def compares_in_sorted(t):
    return {"sym": t.sym, "out": float(sorted([Ordered(1), Ordered(2), Ordered(t.n)])[0].n)}


@unknown
def compares_in_max(t):
    return {"sym": t.sym, "out": float(max(Ordered(1), Ordered(t.n)).n)}


@unknown
def compares_keys(t):
    return {"sym": t.sym, "out": float(min([1, t.n], key=Ordered))}


@unknown
def compares_in_heap(t):
    heap = []
    heapq.heappush(heap, Ordered(1))
    heapq.heappush(heap, Ordered(t.n))
    return {"sym": t.sym, "out": float(heap[0].n)}


@unknown
def compares_by_bisect(t):
    return {"sym": t.sym, "out": float(bisect.bisect([Ordered(1)], Ordered(2)))}


@unknown
def hashes_an_instance(t):
    return {"sym": t.sym, "out": float(len({Hashed(1), Hashed(1)}))}


@unknown
def hashes_a_key(t):
    return {"sym": t.sym, "out": float({Hashed(1): 2}.get(Hashed(1), next(iter([0]))))}


@unknown
def iterates_an_instance(t):
    return {"sym": t.sym, "out": float(sum(Iterable_()))}


@unknown
def unpacks_an_instance(t):
    (a,) = Iterable_()
    return {"sym": t.sym, "out": float(a)}


@unknown
def item_of_an_instance(t):
    return {"sym": t.sym, "out": float(Item()[0])}


@unknown
def index_of_an_instance(t):
    return {"sym": t.sym, "out": float([1, 2][Index()])}


@unknown
def slice_by_an_instance(t):
    return {"sym": "ab"[Index() :], "out": t.price}


@unknown
def shows_in_a_list(t):
    return {"sym": str([Shown()]), "out": t.price}


@unknown
def shows_by_percent(t):
    return {"sym": "%s" % Shown(), "out": t.price}  # noqa: UP031


@unknown
def shows_by_format(t):
    return {"sym": "{}".format(Shown()), "out": t.price}  # noqa: UP032


@unknown
def shows_an_exception(t):
    try:
        raise Error(t.sym)
    except Error as error:
        return {"sym": str(error), "out": t.price}


@unknown
def property_of_the_result(t):
    return Reader(t.sym)


@unknown
def property_of_a_named_tuple(t):
    return RowWithProperty(t.sym, t.price)


@unknown
def setter(t):
    made = SetterField(t.sym, t.price)
    made.tag = t.alt
    return made


@unknown
def enum_that_compares(t):
    return {"sym": t.sym, "out": float(t.n == Level.LOW)}


@unknown
def enum_that_holds_a_list(t):
    Mood.GOOD.value.append(t.n)
    return {"sym": t.sym, "out": float(len(Mood.GOOD.value))}


@unknown
def frozen_that_holds_a_list(t):
    FROZEN.names.append(t.n)
    return {"sym": t.sym, "out": float(len(FROZEN.names))}


@unknown
def mapping_proxy(t):
    return {"sym": t.sym, "out": PROXY.get(t.sym, 0.0)}


@unknown
def lists_in_a_tuple(t):
    SLOTS[t.n % 3][0] += 1
    return {"sym": t.sym, "out": float(SLOTS[t.n % 3][0])}


@unknown
def function_in_a_tuple(t):
    return {"sym": t.sym, "out": float(PAIR[0]())}


@unknown
def buffer(t):
    BUFFER.write(t.sym)
    return {"sym": BUFFER.getvalue()[-4:], "out": t.price}


@unknown
def copies_a_global(t):
    return {"sym": t.sym, "out": float(len(copy.copy(LOG)))}


@unknown
def call_in_a_default_of_a_lambda(t):
    f = lambda x=next(TICK): x  # noqa: B008
    return {"sym": t.sym, "out": float(f())}


@unknown
def call_in_a_nested_default(t):
    def inner(x=note(t.n)):  # noqa: B008
        return x

    return {"sym": t.sym, "out": float(inner() + len(LOG))}


@unknown
def suppressed(t):
    with contextlib.suppress(Exception):
        LOG.append(t.n)
    return {"sym": t.sym, "out": float(len(LOG))}


@unknown
def callback_of_max(t):
    return {"sym": t.sym, "out": float(max(t.xs, key=note, default=0) + len(LOG))}


@unknown
def callback_of_accumulate(t):
    return {"sym": t.sym, "out": float(sum(itertools.accumulate(t.xs, lambda a, b: note(a) + b)))}


@unknown
def callback_of_groupby(t):
    return {"sym": t.sym, "out": float(sum(1 for _ in itertools.groupby(t.xs, note)))}


@unknown
def callback_of_takewhile(t):
    return {"sym": t.sym, "out": float(len(list(itertools.takewhile(note, t.xs))))}


@unknown
def callback_of_starmap(t):
    return {"sym": t.sym, "out": float(len(list(itertools.starmap(lambda a, b: note(a), [(1, 2)]))))}


@unknown
def callback_of_sort(t):
    xs = list(t.xs)
    xs.sort(key=note)
    return {"sym": t.sym, "out": float(len(xs))}


@unknown
def callback_of_default_dict(t):
    d = defaultdict(lambda: next(TICK))
    return {"sym": t.sym, "out": float(d[t.n])}


@unknown
def callback_of_iter(t):
    return {"sym": t.sym, "out": float(next(iter(lambda: next(TICK), 10**9)))}


@unknown
def callback_by_attrgetter(t):
    return {"sym": t.sym, "out": operator.attrgetter("out")(Reader(t.sym))}


@unknown
def callback_by_methodcaller(t):
    return {"sym": t.sym, "out": float(operator.methodcaller("append", 1)(LOG) or len(LOG))}


@unknown
def callback_of_sub(t):
    return {"sym": re.compile("a").sub(lambda m: str(next(TICK)), t.sym), "out": t.price}


@unknown
def set_of_a_constant(t):
    return {"sym": "".join(ONES), "out": t.price}


@unknown
def star_of_a_set(t):
    return {"sym": "".join([*ONES, t.sym]), "out": t.price}


@unknown
def dict_from_keys_of_a_set(t):
    return {"sym": next(iter(dict.fromkeys(t.marks)), ""), "out": t.price}


@unknown
def mapped_set(t):
    return {"sym": "".join(map(str.upper, t.marks)), "out": t.price}


@unknown
def counted_set(t):
    return {"sym": Counter({"x", *t.marks}).most_common(1)[0][0], "out": t.price}


@unknown
def chained_set(t):
    return {"sym": "".join(itertools.chain(t.marks, "x")), "out": t.price}


@unknown
def numbered_set(t):
    return {"sym": "".join(m for i, m in enumerate(t.marks) if i == 0), "out": t.price}


@unknown
def reversed_set(t):
    return {"sym": "".join(reversed(list(t.marks))), "out": t.price}


@unknown
def set_by_a_helper(t):
    def first(things):
        for thing in things:
            return thing
        return ""

    return {"sym": first(t.marks), "out": t.price}


@unknown
def effect_in_the_order_of_a_set(t):
    found = []
    {found.append(m) for m in t.marks}
    return {"sym": "".join(found), "out": t.price}


@unknown
def json_of_a_set(t):
    return {"sym": json.dumps(list(t.marks)), "out": t.price}


@unknown
def slice_of_a_set(t):
    return {"sym": "".join(list(t.marks)[:1]), "out": t.price}


@unknown_flat_map
def gives_in_the_order_of_a_set(t):
    for mark in t.marks:
        yield {"sym": mark, "out": t.price}


@unknown_flat_map
def gives_a_comprehension_of_a_set(t):
    return [{"sym": mark, "out": t.price} for mark in t.marks]


def counted(function):
    calls = [0]

    @functools.wraps(function)
    def inner(*args):
        calls[0] += 1
        return function(*args) | {"out": float(calls[0])}

    return inner


@unknown
@counted
def wrapped(t):
    return {"sym": t.sym, "out": t.price}


def switched():
    mode = 1
    f = lambda t: {"sym": t.sym, "out": float(mode)}
    mode = next(TICK)
    return f


unknown(switched())
unknown(functools.partial(lambda log, t: log.append(t.n) or {"sym": t.sym, "out": float(len(log))}, LOG))
unknown([lambda t, i=i: {"sym": t.sym, "out": float(next(i))} for i in [TICK]][0])  # noqa: RUF015


def give(t, out):
    return {"sym": t.sym, "out": float(out)}


@unknown
class OtherKeysByMap:
    def __init__(self):
        self.d = {}

    def process(self, t):
        self.d[t.sym] = 1
        yield give(t, len([x for x in map(self.d.get, [t.alt, "a"]) if x]))


@unknown
class BestOfAll:
    def __init__(self):
        self.d = {}

    def process(self, t):
        self.d[t.sym] = t.n
        yield {"sym": max(self.d, key=self.d.get), "out": 0.0}


@unknown
class LoopTarget:
    def process(self, t):
        for self.last in t.xs:
            pass
        yield give(t, self.last if hasattr(self, "last") else 0)


@unknown
class LambdaOnTheMap:
    def __init__(self):
        self.d = {}

    def process(self, t):
        (lambda d: d.update(last=t.n))(self.d)
        yield give(t, self.d["last"])


@unknown
class HelperOnTheMap:
    def __init__(self):
        self.d = {}

    def process(self, t):
        put(self.d, t.sym, t.n)
        yield give(t, size(self.d))


def put(d, k, v):
    d[k] = v


def size(d):
    return len(d)


@unknown
class HoldsItself:
    def __init__(self):
        self.d = {}

    def process(self, t):
        self.d[t.sym] = self.d
        yield give(t, len(self.d[t.sym]))


@unknown
class HoldsTheOperator:
    def __init__(self):
        self.d = {}
        self.n = 0

    def process(self, t):
        self.d.setdefault(t.sym, self).n += 1
        yield give(t, self.n)


@unknown
class FactoryAttribute:
    def __init__(self):
        self.d = defaultdict(int)

    def process(self, t):
        self.d.default_factory = t.xs.__len__
        yield give(t, self.d[t.sym])


@unknown
class DeletesAnother:
    def __init__(self):
        self.d = {}

    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        out = self.d[t.sym]
        if t.alt in self.d:
            del self.d[t.alt]
        yield give(t, out)


@unknown
class AddsCounters:
    def __init__(self):
        self.c = Counter()

    def process(self, t):
        self.c += Counter([t.sym])
        yield give(t, self.c[t.sym])


@unknown
class MergesMaps:
    def __init__(self):
        self.d = {}

    def process(self, t):
        self.d |= {t.sym: t.n}
        yield give(t, len(t.sym))


@unknown
class SharesATuplesList:
    """The list of an old tuple, under a key, is changed with a later one."""

    def __init__(self):
        self.d = {}

    def process(self, t):
        xs = self.d.setdefault(t.sym, t.xs)
        xs.append(t.n)
        yield give(t, len(xs))


@unknown
class OneListUnderTwoKeys:
    def __init__(self):
        self.a = {}

    def process(self, t):
        fresh = []
        self.a[t.sym] = fresh
        self.a[t.alt] = fresh
        self.a[t.sym].append(t.n)
        yield give(t, len(self.a[t.alt]))


@unknown
class KeyFromState:
    def __init__(self):
        self.names = {}
        self.d = {}

    def process(self, t):
        name = self.names.setdefault(t.n, t.sym)
        self.d[name] = self.d.get(name, 0) + 1
        yield give(t, self.d[name])


@unknown
class KeyFromARecord:
    def __init__(self):
        self.d = {}

    def process(self, t):
        row = RowWithProperty(t.alt, t.price)
        self.d[row.sym] = self.d.get(row.sym, 0) + 1
        self.d[t.sym] = 0
        yield give(t, self.d[row.sym])


@unknown
class KeyByLoop:
    def __init__(self):
        self.d = {}

    def process(self, t):
        for key in (t.sym, t.alt):
            self.d[key] = self.d.get(key, 0) + 1
        yield give(t, self.d[t.sym])


@unknown
class KeyByUnpacking:
    def __init__(self):
        self.d = {}

    def process(self, t):
        first, second, *_ = t
        self.d[second] = self.d.get(second, 0) + 1
        self.d[first] = self.d.get(first, 0)
        yield give(t, self.d[first])


@unknown
class KeyByMatch:
    def __init__(self):
        self.d = {}

    def process(self, t):
        match (t.sym, t.alt):
            case (key, "a") | ("a", key):
                self.d[key] = self.d.get(key, 0) + 1
            case _:
                key = "none"
        yield give(t, self.d.get(key, 0))


@unknown
class KeyByFormat:
    def __init__(self):
        self.d = {}

    def process(self, t):
        key = f"{t.sym}{t.alt}"
        self.d[key] = self.d.get(key, 0) + 1
        yield give(t, self.d[key])


@unknown
class KeyByReplace:
    def __init__(self):
        self.d = {}

    def process(self, t):
        other = t._replace(sym=t.alt)
        self.d[other.sym] = self.d.get(other.sym, 0) + 1
        self.d[t.sym] = self.d.get(t.sym, 0)
        yield give(t, self.d[t.sym])


@unknown
class RingBuffer:
    def __init__(self):
        self.ring = deque([0] * 3, maxlen=3)

    def process(self, t):
        self.ring.rotate(1)
        yield give(t, self.ring[0])


@unknown
class Toggle:
    flag = False

    def process(self, t):
        self.flag = not self.flag
        yield give(t, self.flag)


@unknown
class CountsInATuple:
    def __init__(self):
        self.pair = (0, 0)

    def process(self, t):
        self.pair = (self.pair[0] + 1, t.n)
        yield give(t, self.pair[0])


@unknown
class CountsInOneCell:
    def __init__(self):
        self.cell = [0]

    def process(self, t):
        self.cell[0] += 1
        yield give(t, self.cell[0])


@unknown
class CountsInAString:
    def __init__(self):
        self.text = bytearray(b"")

    def process(self, t):
        self.text.append(1)
        yield give(t, len(self.text))


class Descending:
    def __init__(self):
        self.seen = collections.OrderedDict()

    def touch(self, key):
        self.seen[key] = True
        while len(self.seen) > 2:
            self.seen.popitem(last=False)
        return len(self.seen)


@unknown
class OneLRU:
    def __init__(self):
        self.lru = Descending()

    def process(self, t):
        yield give(t, self.lru.touch(t.sym))


def every_other(function):
    state = {"n": 0}

    def inner(self, t):
        state["n"] += 1
        if state["n"] % 2:
            yield from function(self, t)

    return inner


@unknown
class DecoratedMethod:
    @every_other
    def process(self, t):
        yield give(t, 1)


@unknown
class LambdaMethod:
    process = lambda self, t: [give(t, next(TICK))]


class Cached:
    def __init__(self):
        self.n = 0

    @functools.cached_property
    def number(self):
        return next(TICK)

    def process(self, t):
        yield give(t, self.number)


unknown(Cached)


class Registry_:
    known: list[Any] = []

    def __init_subclass__(cls):
        Registry_.known.append(cls)

    def __init__(self):
        self.known.append(self)


@unknown
class Registered(Registry_):
    def process(self, t):
        yield give(t, len(self.known))


@unknown
class PrivateCounter:
    def __init__(self):
        self.__n = 0

    def __next(self):
        self.__n += 1
        return self.__n

    def process(self, t):
        yield give(t, self.__next())


@unknown
class Called:
    def __init__(self):
        self.f = functools.partial(next, itertools.count())

    def process(self, t):
        yield give(t, self.f())


@unknown
class GeneratorOverState:
    def __init__(self):
        self.d = {}

    def process(self, t):
        sizes = (len(self.d) for _ in range(1))
        self.d[t.sym] = 1
        yield give(t, next(sizes))


@at_best("sym")
class ListOfMaps:
    def __init__(self):
        self.tables = [{} for _ in range(3)]

    def process(self, t):
        table = self.tables[t.n % 3]
        table[t.sym] = table.get(t.sym, 0) + 1
        yield give(t, table[t.sym])


@at_best("alt")
class SetsUnderFixedNames:
    def __init__(self):
        self.seen = {"a": set(), "b": set()}

    def process(self, t):
        found = self.seen.get(t.sym)
        is_new = found is not None and t.alt not in found
        if is_new:
            found.add(t.alt)
        yield give(t, is_new)


@at_best("sym")
class HeapByKey:
    def __init__(self):
        self.heaps = {}

    def process(self, t):
        heap = self.heaps.setdefault(t.sym, [])
        heapq.heappush(heap, (t.n, t.alt))
        if len(heap) > 2:
            heapq.heappop(heap)
        yield give(t, heap[0][0])


@at_best("sym")
class KeyByGetattr:
    def __init__(self):
        self.d = {}

    def process(self, t):
        key = getattr(t, "sym")  # noqa: B009
        self.d[key] = self.d.get(key, 0) + 1
        yield give(t, self.d[key])


@at_best_stateless
def digits(t):
    when = datetime.fromtimestamp(abs(t.n), tz=UTC)
    return {"sym": f"{when:%Y}", "out": float(when.year)}
