"""More operators with a memory: aliases, hooks, closures, generators, shared objects and keys that are not keys."""

# ruff: noqa: B905, RUF015, RUF024

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import random
import time
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar, NamedTuple

from judged import at_best, unknown, unknown_filter, unknown_flat_map

COUNTER = itertools.count(1)
MEMORY: dict[str, int] = {}
STACK: list[int] = []
SHADOWED = ["a"]
clock = time.monotonic
draw = random.Random(7).random


def give(t, out):
    return t.sym, float(out)


def own_length(len):
    return len(SHADOWED)


@unknown
def length_by_another_length(t):
    return give(t, SHADOWED[0] == "a")


def lookup_in_memory(key, table=MEMORY):
    return table.get(key, 0)


@unknown
def memory_by_default(t):
    MEMORY[t.sym] = lookup_in_memory(t.sym) + 1
    return give(t, MEMORY[t.sym])


@unknown
def time_by_another_name(t):
    return give(t, clock())


@unknown
def random_by_another_name(t):
    return give(t, draw())


@unknown
def today(t):
    return give(t, (date.today() - date(2020, 1, 1)).days)


@unknown
def now_by_instance(t):
    return give(t, datetime(2020, 1, 1).now().year)


@unknown
def next_in_a_lambda(t):
    return give(t, (lambda it=COUNTER: next(it))())


@unknown
def next_in_zip(t):
    return give(t, dict(zip([t.sym], COUNTER))[t.sym])


@unknown
def next_in_map(t):
    return give(t, list(map(lambda x, n: n, [1], COUNTER))[0])


@unknown
def next_by_star(t):
    first, *_ = itertools.islice(COUNTER, 1)
    return give(t, first)


@unknown
def pushed_by_map(t):
    list(map(STACK.append, t.xs))
    return give(t, len(STACK))


@unknown
def set_by_operator(t):
    operator.setitem(MEMORY, t.sym, 1)
    return give(t, len(MEMORY))


@unknown
def set_by_methodcaller(t):
    operator.methodcaller("append", t.n)(STACK)
    return give(t, len(STACK))


@unknown
def function_attribute(t):
    function_attribute.calls = getattr(function_attribute, "calls", 0) + 1
    return give(t, function_attribute.calls)


@functools.lru_cache(maxsize=2)
def cached(key):
    return next(COUNTER)


@unknown
def through_a_cache(t):
    return give(t, cached(t.sym))


def counted(function):
    calls = 0

    @functools.wraps(function)
    def wrapper(t):
        nonlocal calls
        calls += 1
        return t.sym, float(calls)

    return wrapper


@unknown
@counted
def decorated(t):
    return give(t, 0)


def accumulator():
    total = [0]

    def add(t):
        total[0] += t.n
        return give(t, total[0])

    return add


add_up = unknown(accumulator())


def ticking():
    n = 0
    while True:
        n += 1
        yield n


TICKS = ticking()


@unknown
def generator_of_the_module(t):
    return give(t, next(TICKS))


@unknown_flat_map
def yields_from_the_module(t):
    yield from (give(t, n) for n in itertools.islice(TICKS, 1))


@unknown_filter
def every_other(t):
    return next(COUNTER) % 2 == 0


@unknown_filter
def has_been_seen(t):
    known = t.sym in MEMORY
    MEMORY.setdefault(t.sym, 1)
    return known


@unknown
def with_a_context(t):
    with contextlib.suppress(KeyError):
        MEMORY[t.sym] += 1
    return give(t, MEMORY.get(t.sym, 0))


@unknown
def annotated_inside(t):
    def inner(x) -> STACK.append(1):
        return x

    return give(t, len(STACK))


@unknown
def starred_call(t):
    return give(t, max(*STACK_OF_TUPLE, t.n))


STACK_OF_TUPLE = (STACK, STACK)


@dataclass
class Tally:
    n: int = field(default_factory=lambda: next(COUNTER))


@unknown
def dataclass_that_counts(t):
    return give(t, Tally().n)


@dataclass
class SharedDefault:
    seen: ClassVar[list[int]] = []
    n: int = 0

    def add(self, n):
        self.seen.append(n)
        return len(self.seen)


@unknown
def dataclass_with_shared_list(t):
    return give(t, SharedDefault().add(t.n))


class Numbered(NamedTuple):
    sym: str
    out: float

    @property
    def out_again(self):
        STACK.append(1)
        return len(STACK)


@unknown
def named_tuple_with_a_property(t):
    return give(t, Numbered(t.sym, 1.0).out_again)


class Lazy:
    def __getattr__(self, name):
        return next(COUNTER)


@unknown
def attribute_made_on_demand(t):
    return give(t, Lazy().anything)


class Described:
    def __get__(self, instance, owner):
        return next(COUNTER)


class WithDescriptor:
    n = Described()


@unknown
def descriptor(t):
    return give(t, WithDescriptor().n)


class Adding:
    def __init__(self, n):
        self.n = n

    def __add__(self, other):
        STACK.append(1)
        return len(STACK)

    def __eq__(self, other):
        STACK.append(1)
        return len(STACK) % 2 == 0

    def __contains__(self, item):
        STACK.append(item)
        return len(STACK) % 2 == 0

    __hash__ = None


@unknown
def added_by_a_method(t):
    return give(t, Adding(t.n) + 1)


@unknown
def compared_by_a_method(t):
    return give(t, Adding(t.n) == 1)


@unknown
def contained_by_a_method(t):
    return give(t, t.n in Adding(t.n))


class Lru(OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > 2:
            self.popitem(last=False)


class State:
    def __init__(self):
        self.d = {}
        self.e = {}
        self.log = []
        self.seen = set()
        self.lru = Lru()
        self.user = UserDict()
        self.chain = ChainMap({}, {})
        self.ids = defaultdict(lambda: len(self.ids))
        self.shared = defaultdict(lambda: self.log)
        self.numbers = defaultdict(COUNTER.__next__)
        self.counts = Counter()
        self.recent = deque(maxlen=3)
        self.same = self.other = {}
        self.lists = dict.fromkeys("ab", [])


@unknown
class LruByKey(State):
    def process(self, t):
        self.lru[t.sym] = self.lru.get(t.sym, 0) + 1
        yield give(t, self.lru[t.sym])


@unknown
class UserDictByKey(State):
    def process(self, t):
        self.user[t.sym] = self.user.get(t.sym, 0) + 1
        yield give(t, len(self.user))


@unknown
class ChainByKey(State):
    def process(self, t):
        self.chain[t.sym] = 1
        yield give(t, len(self.chain))


@unknown
class NumberOfKey(State):
    def process(self, t):
        yield give(t, self.ids[t.sym])


@unknown
class SharedList(State):
    def process(self, t):
        self.shared[t.sym].append(t.n)
        yield give(t, len(self.shared[t.sym]))


@unknown
class CountedFactory(State):
    def process(self, t):
        yield give(t, self.numbers[t.sym])


@unknown
class MostCommon(State):
    def process(self, t):
        self.counts[t.sym] += 1
        yield give(t, self.counts.most_common(1)[0][1])


@unknown
class LastThree(State):
    def process(self, t):
        self.recent.append(t.n)
        yield give(t, sum(self.recent))


@unknown
class TwoNamesOfOneDict(State):
    def process(self, t):
        self.same[t.sym] = t.n
        yield give(t, self.other.get(t.alt, 0))


@unknown
class OneListForAll(State):
    def process(self, t):
        if t.sym in self.lists:
            self.lists[t.sym].append(t.n)
        yield give(t, len(self.lists["a"]))


@unknown
class TwoKeys(State):
    def process(self, t):
        self.d[t.sym] = t.n
        yield give(t, self.d.get(t.alt, 0))


@unknown
class KeyInLowerCase(State):
    def process(self, t):
        key = t.sym.lower()
        self.d[key] = self.d.get(key, 0) + 1
        yield give(t, self.d[key])


@unknown
class KeyByLength(State):
    def process(self, t):
        self.d[len(t.sym)] = t.n
        yield give(t, len(t.sym) in self.d)


@unknown
class KeyByPrice(State):
    def process(self, t):
        self.d[t.price] = self.d.get(t.price, 0) + 1
        yield give(t, self.d[t.price])


@unknown
class KeyRebound(State):
    def process(self, t):
        key = t.sym
        for key in (t.sym, t.alt):
            self.d[key] = self.d.get(key, 0) + 1
        yield give(t, self.d[key])


@unknown
class ConstantKey(State):
    def process(self, t):
        self.d["all"] = self.d.get("all", 0) + 1
        yield give(t, self.d["all"])


@unknown
class KeyOfLastTuple(State):
    def process(self, t):
        last = self.e.get(t.sym, t)
        self.d[last.alt] = 1
        self.e[t.sym] = t
        yield give(t, t.alt in self.d)


@unknown
class RowOfAnother(State):
    def process(self, t):
        t = t._replace(sym=t.alt[:1])
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        yield give(t, self.d[t.sym])


@unknown
class SharedUnderTwoKeys(State):
    def process(self, t):
        cell = self.d.setdefault(t.sym, [0])
        self.e[t.alt] = cell
        cell[0] += 1
        yield give(t, self.e[t.alt][0])


@at_best("sym")
class SharedUnderAFinerKey(State):
    def process(self, t):
        cell = self.d.setdefault(t.sym, [0])
        self.e[t.sym, t.alt] = cell
        cell[0] += 1
        yield give(t, self.e[t.sym, t.alt][0])


@unknown
class FirstKey(State):
    def process(self, t):
        self.d.setdefault(t.sym, t.n)
        yield give(t, next(iter(self.d)) == t.sym)


@unknown
class LastItem(State):
    def process(self, t):
        self.d[t.sym] = t.n
        key, value = self.d.popitem()
        self.d[key] = value
        yield give(t, value)


@unknown
class CopyOfState(State):
    def process(self, t):
        self.d[t.sym] = t.n
        copy = {**self.d}
        yield give(t, len(copy))


@unknown
class SpreadKeys(State):
    def process(self, t):
        self.d[t.sym] = t.n
        yield give(t, len([*self.d]))


@unknown
class UnionOfState(State):
    def process(self, t):
        self.seen.add(t.sym)
        yield give(t, len(self.seen | t.marks))


@unknown
class EqualState(State):
    def process(self, t):
        self.seen.add(t.sym)
        yield give(t, self.seen == {"a"})


@unknown
class StateInText(State):
    def process(self, t):
        self.d[t.sym] = t.n
        yield give(t, len(f"{self.d}"))


@unknown
class StateGivenAway(State):
    def process(self, t):
        self.d[t.sym] = t.n
        yield give(t, helper_length(self.d))


def helper_length(d):
    return sum(1 for _ in d)


@unknown
class MethodReplaced(State):
    def __init__(self):
        super().__init__()
        self.helper = self.log.append

    def process(self, t):
        self.helper(t.n)
        yield give(t, len(self.log))


@unknown
class ClosureOfTheConstructor:
    def __init__(self):
        n = 0

        def tick():
            nonlocal n
            n += 1
            return n

        self.tick = tick

    def process(self, t):
        yield give(t, self.tick())


@unknown
class GeneratorInState(State):
    def process(self, t):
        self.d[t.sym] = (x for x in t.xs)
        yield give(t, sum(self.d[t.sym]))


@unknown
class AugmentedList(State):
    def process(self, t):
        self.log += [t.n]
        yield give(t, len(self.log))


@unknown
class ComparedState(State):
    def process(self, t):
        best = max(self.d.values(), default=0)
        self.d[t.sym] = t.n
        yield give(t, best)


@unknown
class ChangedThroughLocal(State):
    def process(self, t):
        log = self.log
        push = log.append
        push(t.n)
        yield give(t, len(self.log))


@unknown
class ChangedThroughTuple(State):
    def process(self, t):
        pair = (self.log, t.n)
        pair[0].append(pair[1])
        yield give(t, len(self.log))


@unknown
class ChangedThroughMatch(State):
    def process(self, t):
        match (self.log, t.n):
            case [log, n]:
                log.append(n)
        yield give(t, len(self.log))


@unknown
class ChangedThroughDefault(State):
    def process(self, t):
        def add(log=self.log):
            log.append(t.n)
            return len(log)

        yield give(t, add())


@unknown
class ChangedByComprehension(State):
    def process(self, t):
        [self.log.append(x) for x in t.xs]
        yield give(t, len(self.log))


@unknown
class CountsOfInstances:
    made = 0

    def __init__(self):
        type(self).made += 1

    def process(self, t):
        yield give(t, self.made)


# A default dict that is looked into by Python itself grows.


class Growing:
    def __init__(self):
        self.d = defaultdict(lambda: None)
        self.texts = defaultdict(str)


@unknown
class GrowsByTranslate(Growing):
    def process(self, t):
        t.sym.translate(self.d)
        yield give(t, len(self.d))


@unknown
class GrowsByPercent(Growing):
    def process(self, t):
        text = ("%(" + t.sym + ")s") % self.texts
        yield give(t, len(self.texts) + len(text))


@unknown
class GrowsByFormat(Growing):
    def process(self, t):
        text = ("{" + t.sym + "}").format_map(self.texts)
        yield give(t, len(self.texts) + len(text))


@unknown
class GrowsByFormatOfItems(Growing):
    def process(self, t):
        text = ("{0[" + t.sym + "]}").format(self.texts)
        yield give(t, len(self.texts) + len(text))


@unknown
class GrowsByUnboundTranslate(Growing):
    def process(self, t):
        str.translate(t.sym, self.d)
        yield give(t, len(self.d))


@unknown
class GrowsByItemGetter(Growing):
    def process(self, t):
        operator.itemgetter("x")(self.texts)
        yield give(t, len(self.texts))


@unknown
class GrowsInsideAList(Growing):
    def process(self, t):
        text = ("{0[0][" + t.sym + "]}").format([self.texts])
        yield give(t, len(self.texts) + len(text))
