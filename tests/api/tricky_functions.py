"""Functions that hide a memory, a clock, an effect or an order."""

# ruff: noqa: B006, B008, B023, B905, C416, C420, E731, PIE804, RUF012, RUF015

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib
import itertools
import json
import math
import operator
import os
import random
import re
import secrets
import sys
import tempfile
import time
import uuid
import weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque
from datetime import datetime
from datetime import datetime as Moment
from decimal import getcontext
from enum import Enum
from functools import cache, lru_cache, partial, singledispatch
from types import SimpleNamespace
from typing import Any, NamedTuple

import tricky_state
from judged import at_best_stateless, unknown, unknown_filter, unknown_flat_map
from tricky_state import SEEN_ELSEWHERE, singleton

SEEN: list[Any] = []
TABLE = {"a": 1}
TICKS = itertools.count()
NUMBERS = iter(range(1000))
BOX = SimpleNamespace(n=0)
MISSES = defaultdict(lambda: next(TICKS))
ORDER = OrderedDict(a=1)
HELD = ([],)
NESTED = ("a", ("b", {"c": 1}))
stamp = datetime.now
roll = random.Random(1).random
push = SEEN.append
put = functools.partial(operator.setitem, TABLE)
first = functools.partial(next, TICKS)
TOTAL = 0
limit = 1
limit = len(SEEN) + 2


class Holder:
    count = 0
    items: list[int] = []

    @classmethod
    def bump(cls):
        cls.count += 1
        return cls.count

    @staticmethod
    def tick():
        return next(TICKS)


class Meta(type):
    @property
    def now(cls):
        return next(TICKS)


class WithMeta(metaclass=Meta):
    pass


class Colour(Enum):
    RED = 1

    @property
    def next_one(self):
        return next(TICKS)


class Evil:
    def get(self, key, default=None):
        SEEN.append(key)
        return len(SEEN)

    def count(self, x):
        return next(TICKS)

    def __add__(self, other):
        return next(TICKS)

    def __contains__(self, other):
        return next(TICKS) % 2 == 0

    def __bool__(self):
        return next(TICKS) % 2 == 0

    def __len__(self):
        return next(TICKS)

    def __call__(self):
        return next(TICKS)

    def __format__(self, spec):
        return str(next(TICKS))

    def __float__(self):
        return float(next(TICKS))

    def __enter__(self):
        return next(TICKS)

    def __exit__(self, *error):
        return None


EVIL = Evil()


class Text(str):
    def upper(self):
        return str(next(TICKS))


SHOUT = Text("x")


class Lower(dict):
    def __missing__(self, key):
        return len(SEEN)


LOWER = Lower()


class Doubling(NamedTuple("Doubling", [("sym", str), ("out", float)])):
    def __new__(cls, sym, out):
        return super().__new__(cls, sym.upper(), float(next(TICKS)))


class Lying(NamedTuple):
    sym: str
    out: float

    def __getattribute__(self, name):
        return next(TICKS) if name == "out" else tuple.__getattribute__(self, name)


@dataclasses.dataclass
class Counted:
    sym: str
    out: float = dataclasses.field(default_factory=lambda: float(next(TICKS)))


@dataclasses.dataclass
class PostCounted:
    sym: str
    out: float = 0.0

    def __post_init__(self):
        self.out = float(next(TICKS))


@dataclasses.dataclass
class Telling:
    sym: str

    def out(self):
        SEEN.append(self.sym)
        return float(len(SEEN))


class Ticking:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        return float(next(TICKS))


class Described:
    out = Ticking()

    def __init__(self, sym):
        self.sym = sym


class Dying:
    def __del__(self):
        SEEN.append(1)


def remembers(function):
    seen = {}

    def inner(t):
        seen[t.sym] = seen.get(t.sym, 0) + 1
        return {"sym": t.sym, "out": float(seen[t.sym])}

    return inner


def shared_cell():
    n = 0

    def bump(t):
        nonlocal n
        n += 1
        return {"sym": t.sym, "out": 0.0}

    def read(t):
        return {"sym": t.sym, "out": float(n)}

    return bump, read


def makes(value):
    return lambda t: {"sym": t.sym, "out": float(next(value))}


def tick(*_):
    global TOTAL
    TOTAL += 1
    return TOTAL


def gen():
    while True:
        yield len(SEEN)


RUNNING = gen()


@cache
def cached(x):
    return next(TICKS)


@lru_cache(maxsize=2)
def cached_little(x):
    return repr(x)


@singledispatch
def dispatched(x):
    return 0.0


@dispatched.register
def _(x: int):
    return float(next(TICKS))


def attributed(t):
    attributed.n = getattr(attributed, "n", 0) + 1
    return {"sym": t.sym, "out": float(attributed.n)}


unknown(attributed)
bump_cell, read_cell = (unknown(f) for f in shared_cell())
unknown(makes(TICKS))
unknown(makes(iter([1.0, 2.0])))


@unknown
def default_factory_that_counts(t):
    return {"sym": t.sym, "out": float(MISSES[t.sym])}


@unknown
def length_of_default_dict(t):
    return {"sym": t.sym, "out": float(len(MISSES))}


@unknown
def harmless_name_get(t):
    return {"sym": t.sym, "out": float(EVIL.get(t.sym))}


@unknown
def harmless_name_count(t):
    return {"sym": t.sym, "out": float(EVIL.count(t.sym))}


@unknown
def adds_an_evil(t):
    return {"sym": t.sym, "out": float(EVIL + t.n)}


@unknown
def looks_in_an_evil(t):
    return {"sym": t.sym, "out": float(t.n in EVIL)}


@unknown_filter
def is_an_evil_true(t):
    return EVIL


@unknown
def length_of_an_evil(t):
    return {"sym": t.sym, "out": float(len(EVIL))}


@unknown
def calls_an_evil(t):
    return {"sym": t.sym, "out": float(EVIL())}


@unknown
def formats_an_evil(t):
    return {"sym": f"{EVIL}", "out": t.price}


@unknown
def floats_an_evil(t):
    return {"sym": t.sym, "out": float(EVIL)}


@unknown
def with_an_evil(t):
    with EVIL as n:
        return {"sym": t.sym, "out": float(n)}


@unknown
def local_evil(t):
    evil = Evil()
    return {"sym": t.sym, "out": float(evil.get(t.sym))}


@unknown
def upper_of_a_str_subclass(t):
    return {"sym": SHOUT.upper(), "out": t.price}


@unknown
def dict_subclass(t):
    return {"sym": t.sym, "out": float(LOWER[t.sym])}


@unknown
def class_attribute(t):
    Holder.count += 1
    return {"sym": t.sym, "out": 0.0}


@unknown
def reads_class_attribute(t):
    return {"sym": t.sym, "out": float(Holder.count)}


@unknown
def class_attribute_by_alias(t):
    h = Holder
    h.count = h.count + 1
    return {"sym": t.sym, "out": float(h.count)}


@unknown
def class_method(t):
    return {"sym": t.sym, "out": float(Holder.bump())}


@unknown
def static_method(t):
    return {"sym": t.sym, "out": float(Holder.tick())}


@unknown
def class_list(t):
    Holder.items.append(t.n)
    return {"sym": t.sym, "out": float(len(Holder.items))}


@unknown
def class_of_instance(t):
    h = Holder()
    type(h).count += 1
    return {"sym": t.sym, "out": float(type(h).count)}


@unknown
def metaclass_property(t):
    return {"sym": t.sym, "out": float(WithMeta.now)}


@unknown
def enum_property(t):
    return {"sym": t.sym, "out": float(Colour.RED.next_one)}


@unknown
def other_module(t):
    tricky_state.seen_there += 1
    return {"sym": t.sym, "out": float(tricky_state.seen_there)}


@unknown
def reads_other_module(t):
    return {"sym": t.sym, "out": float(tricky_state.seen_there)}


@unknown
def list_of_other_module(t):
    SEEN_ELSEWHERE.append(1)
    return {"sym": t.sym, "out": float(len(SEEN_ELSEWHERE))}


@unknown
def function_of_other_module(t):
    return {"sym": t.sym, "out": float(tricky_state.count_up())}


@unknown
def singleton_of_other_module(t):
    return {"sym": t.sym, "out": float(singleton().next())}


@unknown
def iterator_in_default(t, numbers=iter([1, 2, 3])):
    return {"sym": t.sym, "out": float(next(numbers, 0))}


@unknown
def list_in_default(t, seen=[]):
    seen.append(t.n)
    return {"sym": t.sym, "out": float(len(seen))}


@unknown
def dict_in_keyword_default(t, *, seen={}):
    return {"sym": t.sym, "out": float(len(seen))}


@unknown
def iterator_in_a_tuple_default(t, held=(iter([1, 2, 3]),)):
    return {"sym": t.sym, "out": float(next(held[0], 0))}


@unknown
def list_in_a_tuple(t):
    HELD[0].append(t.n)
    return {"sym": t.sym, "out": float(len(HELD[0]))}


@unknown
def dict_deep_in_a_tuple(t):
    return {"sym": t.sym, "out": float(NESTED[1][1]["c"])}


@unknown
def generator_kept_alive(t):
    return {"sym": t.sym, "out": float(next(RUNNING))}


@unknown
def captured_count(t):
    return {"sym": t.sym, "out": float(next(TICKS))}


@unknown
def captured_count_in_a_loop(t):
    for n in TICKS:
        return {"sym": t.sym, "out": float(n)}
    return None


@unknown
def captured_count_in_zip(t):
    return {"sym": t.sym, "out": float(next(zip(NUMBERS, [1]))[0])}


@unknown
def captured_count_in_a_star(t):
    first_, *_ = NUMBERS
    return {"sym": t.sym, "out": float(first_)}


@unknown
def captured_count_in_contains(t):
    return {"sym": t.sym, "out": float(t.n in NUMBERS)}


@unknown
def counting_dataclass(t):
    return Counted(t.sym)


@unknown
def counting_dataclass_after(t):
    return PostCounted(t.sym)


@unknown
def telling_dataclass(t):
    return {"sym": t.sym, "out": Telling(t.sym).out()}


@unknown
def descriptor(t):
    return {"sym": t.sym, "out": Described(t.sym).out}


@unknown
def descriptor_in_the_result(t):
    return Described(t.sym)


@unknown
def named_tuple_that_changes(t):
    return Doubling(t.sym, t.price)


@unknown
def named_tuple_that_lies(t):
    return Lying(t.sym, t.price)


@unknown
def setitem_function(t):
    operator.setitem(TABLE, t.sym, 1)
    return {"sym": t.sym, "out": 0.0}


@unknown
def setitem_partial(t):
    put(t.sym, 1)
    return {"sym": t.sym, "out": 0.0}


@unknown
def next_partial(t):
    return {"sym": t.sym, "out": float(first())}


@unknown
def setitem_in_map(t):
    list(map(TABLE.__setitem__, [t.sym], [1]))
    return {"sym": t.sym, "out": 0.0}


@unknown
def append_by_alias(t):
    push(t.n)
    return {"sym": t.sym, "out": 0.0}


@unknown
def iadd_function(t):
    operator.iadd(SEEN, [t.n])
    return {"sym": t.sym, "out": 0.0}


@unknown
def now_by_alias(t):
    return {"sym": t.sym, "out": stamp().timestamp()}


@unknown
def now_by_another_name(t):
    return {"sym": t.sym, "out": Moment.now().timestamp()}


@unknown
def now_by_module_alias(t):
    return {"sym": t.sym, "out": dt.datetime.utcnow().timestamp()}


@unknown
def today(t):
    return {"sym": str(dt.date.today()), "out": t.price}


@unknown
def now_by_getattr(t):
    return {"sym": t.sym, "out": datetime.now.__call__().timestamp()}


@unknown
def local_time_zone(t):
    return {"sym": str(datetime.fromtimestamp(t.n)), "out": t.price}


@unknown
def clock(t):
    return {"sym": t.sym, "out": time.perf_counter()}


@unknown
def local_import_of_clock(t):
    from time import time as when

    return {"sym": t.sym, "out": when()}


@unknown
def random_by_alias(t):
    return {"sym": t.sym, "out": roll()}


@unknown
def seeded_random(t):
    return {"sym": t.sym, "out": random.Random(t.n).random()}


@unknown
def shuffles(t):
    xs = list(t.xs)
    random.shuffle(xs)
    return {"sym": t.sym, "out": float(xs[0])}


@unknown
def secret(t):
    return {"sym": secrets.token_hex(2), "out": t.price}


@unknown
def unique(t):
    return {"sym": str(uuid.uuid4()), "out": t.price}


@unknown
def environment_variable(t):
    return {"sym": os.environ.get("HOME", ""), "out": t.price}


@unknown
def process_number(t):
    return {"sym": t.sym, "out": float(os.getpid())}


@unknown
def writes_a_file(t):
    with open(tempfile.gettempdir() + "/x", "a") as file:
        file.write(t.sym)
    return {"sym": t.sym, "out": t.price}


@unknown
def reads_a_file(t):
    return {"sym": open(t.sym).read(), "out": t.price}


@unknown
def prints(t):
    print(t.sym)
    return {"sym": t.sym, "out": t.price}


@unknown
def prints_by_alias(t, show=print):
    show(t.sym)
    return {"sym": t.sym, "out": t.price}


@unknown
def writes_to_stdout(t):
    sys.stdout.write(t.sym)
    return {"sym": t.sym, "out": t.price}


@unknown
def identity(t):
    return {"sym": t.sym, "out": float(id(t.sym))}


@unknown
def hash_of_text(t):
    return {"sym": t.sym, "out": float(hash(t.sym))}


@unknown
def hash_in_map(t):
    return {"sym": t.sym, "out": float(sum(map(hash, t.sym)))}


@unknown
def hash_method(t):
    return {"sym": t.sym, "out": float(t.sym.__hash__())}


@unknown
def address_in_text(t):
    return {"sym": repr(object()), "out": t.price}


@unknown
def address_of_a_function(t):
    return {"sym": str(lambda: 1), "out": t.price}


@unknown
def first_of_a_set(t):
    return {"sym": next(iter(t.marks), ""), "out": t.price}


@unknown
def list_of_a_set(t):
    return {"sym": list(t.marks)[0] if t.marks else "", "out": t.price}


@unknown
def joined_set(t):
    return {"sym": ",".join(set(t.sym)), "out": t.price}


@unknown
def loop_over_a_set(t):
    found = ""
    for mark in t.marks:
        found += mark
    return {"sym": found, "out": t.price}


@unknown
def set_display_in_text(t):
    return {"sym": str({t.sym, t.alt}), "out": t.price}


@unknown
def floats_added_in_the_order_of_a_set(t):
    return {"sym": t.sym, "out": sum({t.price, t.price / 3, 1e100, float(len(t.sym))})}


@unknown
def comprehension_over_a_set(t):
    return {"sym": "".join([m for m in t.marks]), "out": t.price}


@unknown
def sorted_by_key_over_a_set(t):
    return {"sym": "".join(sorted(t.marks, key=len)), "out": t.price}


@unknown
def pops_from_a_set(t):
    return {"sym": set(t.sym + "a").pop(), "out": t.price}


@unknown
def unpacks_a_set(t):
    a, *_ = {t.sym, t.alt, "x"}
    return {"sym": a, "out": t.price}


@unknown
def dict_over_a_set(t):
    return {"sym": "".join({m: 1 for m in t.marks}), "out": t.price}


@unknown
def last_of_a_set_by_walrus(t):
    any((last := m) == "" for m in {"x", *t.marks})
    return {"sym": last, "out": t.price}


@unknown
def frozenset_in_order(t):
    return {"sym": "".join(frozenset(t.sym)), "out": t.price}


@unknown
def min_by_key_of_a_set(t):
    return {"sym": min(t.marks | {"x"}, key=len), "out": t.price}


@unknown
def writes_global(t):
    global TOTAL
    TOTAL += 1
    return {"sym": t.sym, "out": t.price}


@unknown
def reads_written_global(t):
    return {"sym": t.sym, "out": float(TOTAL)}


@unknown
def reads_a_name_bound_twice(t):
    return {"sym": t.sym, "out": float(limit)}


@unknown
def reads_a_global_list(t):
    return {"sym": t.sym, "out": float(len(SEEN))}


@unknown
def simple_namespace(t):
    BOX.n += 1
    return {"sym": t.sym, "out": float(BOX.n)}


@unknown
def callback_writes_global(t):
    return {"sym": t.sym, "out": float(sum(map(tick, t.xs)))}


@unknown
def key_function_writes_global(t):
    return {"sym": t.sym, "out": float(sorted([3, 1], key=tick)[0])}


@unknown
def reduce_writes_global(t):
    return {"sym": t.sym, "out": float(functools.reduce(tick, [1, 2, 3]))}


@unknown
def re_sub_writes_global(t):
    return {"sym": re.sub("a", lambda m: str(tick()), t.sym), "out": t.price}


@unknown
def json_hook_writes_global(t):
    return {"sym": t.sym, "out": float(len(json.loads('{"a": 1}', object_hook=tick) or ()) if False else tick())}


@unknown
def json_default_writes_global(t):
    return {"sym": json.dumps({"a": 1j}, default=tick), "out": t.price}


@unknown
def uses_cache(t):
    return {"sym": t.sym, "out": float(cached(t.sym))}


@unknown
def uses_little_cache(t):
    return {"sym": cached_little(t.n) + cached_little(t.price), "out": t.price}


@unknown
def uses_dispatch(t):
    return {"sym": t.sym, "out": dispatched(t.n)}


@unknown
def weak_reference(t):
    ref = weakref.ref(BOX)
    return {"sym": t.sym, "out": float(ref().n)}


@unknown
def dying_object(t):
    Dying()
    return {"sym": t.sym, "out": t.price}


@unknown
def decimal_context(t):
    getcontext().prec += 1
    return {"sym": t.sym, "out": float(getcontext().prec)}


@unknown
def recursion_depth(t):
    try:
        return {"sym": t.sym, "out": float(len(repr(recursion_depth(t))))}
    except RecursionError:
        return {"sym": t.sym, "out": 0.0}


@unknown
def traceback_line(t):
    try:
        raise ValueError(t.sym)
    except ValueError as error:
        return {"sym": t.sym, "out": float(error.__traceback__.tb_lineno)}


@unknown
def frame(t):
    return {"sym": sys._getframe().f_code.co_name, "out": t.price}


@unknown
def changes_the_tuple(t):
    t.xs.append(1)
    return {"sym": t.sym, "out": t.price}


@unknown
def changes_the_tuple_by_alias(t):
    (xs,) = (t.xs,)
    xs += [1]
    return {"sym": t.sym, "out": float(len(t.xs))}


@unknown
def changes_the_tuple_in_a_helper(t):
    def grow(*parts):
        for part in parts:
            part.append(1)

    grow(*[t.xs])
    return {"sym": t.sym, "out": t.price}


@unknown
def changes_the_tuple_by_match(t):
    match t.xs:
        case list() as xs:
            xs.clear()
    return {"sym": t.sym, "out": t.price}


@unknown
def global_by_match(t):
    match SEEN:
        case list() as found:
            found.append(t.n)
    return {"sym": t.sym, "out": t.price}


@unknown
def lambda_parameter_hides_the_tuple(t):
    f = lambda t: SEEN.append(t)
    f(1)
    return {"sym": t.sym, "out": t.price}


@unknown
def comprehension_hides_a_global(t):
    found = [SEEN for SEEN in t.xs]
    SEEN.append(len(found))
    return {"sym": t.sym, "out": float(len(SEEN))}


@unknown
def walrus_in_a_comprehension(t):
    return {"sym": t.sym, "out": float(sum((n := TABLE.get(t.sym, 0)) + n for _ in t.xs))}


@unknown
def chain_map(t):
    return {"sym": t.sym, "out": float(ChainMap(TABLE)["a"])}


@unknown
def user_dict(t):
    return {"sym": t.sym, "out": float(len(UserDict(TABLE)))}


@unknown
def new_class_each_time(t):
    class Mine:
        n = len(SEEN)

    return {"sym": t.sym, "out": float(Mine.n)}


@unknown
def dict_order(t):
    ORDER.move_to_end("a")
    return {"sym": t.sym, "out": float(len(ORDER))}


@unknown_flat_map
def yields_from_a_global(t):
    yield from ({"sym": t.sym, "out": float(x)} for x in SEEN)


@unknown_flat_map
def sends(t):
    got = yield {"sym": t.sym, "out": t.price}
    SEEN.append(got)


@unknown
def identity_of_text(t):
    return {"sym": t.sym, "out": float(t.sym is t.alt)}


@unknown
def identity_of_numbers(t):
    return {"sym": t.sym, "out": float((t.n + 0) is t.n)}


async def waits(t):
    return {"sym": t.sym, "out": t.price}


unknown(waits)
unknown(remembers(waits))
unknown(partial(attributed))
unknown(EVIL.get)
unknown(len)


@unknown
def star_arguments_of_a_global(t):
    return {"sym": t.sym, "out": float(max(*SEEN, 1))}


@unknown
def keyword_arguments_of_a_global(t):
    return dict(sym=t.sym, **{"out": float(len(TABLE))})


@unknown
def spreads_a_global(t):
    return {"sym": t.sym, "out": 1.0, **TABLE}


@unknown
def counter_of_a_global(t):
    return {"sym": t.sym, "out": float(Counter(SEEN).total())}


@unknown
def deque_of_a_global(t):
    return {"sym": t.sym, "out": float(len(deque(SEEN)))}


@unknown
def digest_kept(t, digest=hashlib.sha256()):
    digest.update(t.sym.encode())
    return {"sym": digest.hexdigest(), "out": t.price}


@unknown
def getattr_by_name(t):
    return {"sym": t.sym, "out": float(getattr(math, t.alt, len)(t.sym))}


@unknown
def late_binding(t):
    return NOT_YET(t)  # noqa: F821


@unknown
def same_iterator_twice_outside(t, pair=(NUMBERS, NUMBERS)):
    return {"sym": t.sym, "out": float(sum(next(p) for p in pair))}


@at_best_stateless
def own_count(t):
    ticks = itertools.count()
    next(ticks)
    return {"sym": t.sym, "out": float(next(ticks))}


@at_best_stateless
def own_nonlocal(t):
    n = 0

    def bump():
        nonlocal n
        n += 1

    for _ in t.xs:
        bump()
    return {"sym": t.sym, "out": float(n)}


@at_best_stateless
def own_default_dict(t):
    found = defaultdict(list)
    for x in t.xs:
        found[x % 2].append(x)
    return {"sym": t.sym, "out": float(len(found))}


@at_best_stateless
def sorted_set(t):
    return {"sym": "".join(sorted(t.marks)), "out": float(sum({1, 2, t.n}))}


@at_best_stateless
def comprehension_variable_hides_a_global(t):
    return {"sym": t.sym, "out": float(sum(SEEN for SEEN in t.xs))}


def in_a_loop():
    made = []
    for factor in (1, EVIL):
        made.append(lambda t: {"sym": t.sym, "out": float(factor + t.n)})
    return made


for looped in in_a_loop():
    unknown(looped)
