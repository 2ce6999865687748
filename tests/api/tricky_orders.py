"""Functions whose result depends on the order of a set, on addresses, on the machine or on hidden channels."""

# ruff: noqa: C416, UP031, B035, RUF059

from __future__ import annotations

import heapq
import itertools
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import partial, reduce
from types import FunctionType

from judged import unknown, unknown_filter, unknown_flat_map

LOG: list[int] = []
fetch = getattr


def give(t, out):
    return t.sym, float(out)


# The order of a set.


@unknown
def least_of_equals(t):
    return give(t, len(repr(min(True if m == "a" else 1 for m in t.marks))))


@unknown
def sorted_equals(t):
    return give(t, len(repr(sorted(True if m == "a" else 1 for m in t.marks)[:1])))


@unknown
def sorted_numbers_of_words(t):
    return give(t, sorted(float(m or "nan") for m in t.marks)[0])


@unknown
def equal_lists_of_a_set(t):
    return give(t, list(t.marks) == ["a", "b"])


@unknown
def tuple_of_a_set_among_others(t):
    return give(t, tuple(t.marks) in [("a", "b"), ("b", "A")])


@unknown
def tuple_of_a_set_in_a_set(t):
    return give(t, ("a", "b") in {tuple(t.marks)})


@unknown
def smaller_list_of_a_set(t):
    return give(t, [m for m in t.marks] < ["b"])


@unknown
def sliced_list_of_a_set(t):
    return give(t, len(min(list(t.marks)[:1], default="")))


@unknown
def sliced_set(t):
    return give(t, len(min(itertools.islice(t.marks, 1), default="")))


@unknown
def sliced_into_a_set(t):
    return give(t, "a" in set(itertools.islice(t.marks, 2)))


@unknown
def short_deque_of_a_set(t):
    return give(t, len(min(deque(t.marks, maxlen=1), default="")))


@unknown
def short_deque_by_position(t):
    return give(t, "a" in deque(t.marks, 2))


@unknown
def colliding_keys(t):
    by_length = {len(m): m for m in t.marks}
    return give(t, by_length.get(1, "") == "a")


@unknown
def colliding_constant_keys(t):
    return give(t, len({"last": m for m in t.marks}.get("last", "")))


@unknown
def deleted_first_of_a_set(t):
    words = list(t.marks)
    if words:
        del words[0]
    return give(t, "a" in words)


@unknown
def stored_over_the_first_of_a_set(t):
    words = list(t.marks)
    if words:
        words[0] = "z"
    return give(t, "a" in words)


@unknown
def heap_pop_of_a_set(t):
    words = list(t.marks)
    return give(t, len(heapq.heappop(words)) if words else 0)


@unknown
def smallest_by_length(t):
    return give(t, "a" in heapq.nsmallest(1, t.marks, key=len))


@unknown
def popped_item_of_a_set(t):
    d = dict.fromkeys(t.marks, 1)
    return give(t, len(d.popitem()[0]) if d else 0)


@unknown
def first_of_a_set(t):
    return give(t, len(next(iter(t.marks), "")))


@unknown
def unpacked_set(t):
    first, *rest = t.marks or {"x"}
    return give(t, len(first))


@unknown
def starred_set(t):
    return give(t, len([*t.marks, "x"][0]))


@unknown
def joined_set(t):
    return give(t, "".join(t.marks) < "b")


@unknown
def reduced_set(t):
    return give(t, len(reduce(lambda a, b: a or b, t.marks, "")))


@unknown
def summed_set(t):
    return give(t, sum(len(m) / 3 + 0.1 for m in t.marks))


@unknown
def numbered_set(t):
    return give(t, max((i for i, m in enumerate(t.marks) if m == "a"), default=0))


@unknown
def shown_set(t):
    return give(t, f"{t.marks}" < "{'b")


@unknown
def percent_of_a_set(t):
    return give(t, "%s" % list(t.marks) < "['b")


@unknown
def most_common_of_a_set(t):
    return give(t, len(Counter(t.marks).most_common(1)[0][0]) if t.marks else 0)


@unknown
def zipped_set(t):
    return give(t, dict(zip(t.marks, t.xs, strict=False)).get("a", 0))


@unknown_flat_map
def given_in_the_order_of_a_set(t):
    for mark in t.marks:
        yield mark, 1.0


@unknown_flat_map
def listed_in_the_order_of_a_set(t):
    return [(mark, 1.0) for mark in t.marks]


@unknown_filter
def filter_by_the_first_of_a_set(t):
    return [m for m in t.marks][:1] == ["a"]


@unknown
def walrus_in_a_set(t):
    any((last := m) == "zz" for m in t.marks)
    return give(t, len(last) if t.marks else 0)


@unknown
def ordered_dicts_of_a_set(t):
    return give(t, OrderedDict.fromkeys(t.marks) == OrderedDict.fromkeys(["a", "b"]))


@unknown
def matched_list_of_a_set(t):
    match list(t.marks):
        case ["a", *_]:
            return give(t, 1)
    return give(t, 0)


# Addresses and the machine.


@unknown
def text_of_a_generator(t):
    return give(t, hash_of(str(x for x in t.xs)))


def hash_of(text):
    return sum(map(ord, text))


@unknown
def text_of_a_map(t):
    return give(t, hash_of(f"{map(str, t.xs)}"))


@unknown
def text_of_a_factory(t):
    d = defaultdict(lambda: 0)
    d[t.sym] += 1
    return give(t, hash_of(str(d)))


@unknown
def text_of_a_list_of_generators(t):
    return give(t, hash_of(repr([iter(t.xs)])))


@unknown
def format_of_an_iterator(t):
    return give(t, hash_of(f"{zip(t.xs, t.xs)}"))  # noqa: B905


@unknown
def error_of_an_iterator(t):
    try:
        raise ValueError(iter(t.xs))
    except ValueError as error:
        return give(t, hash_of(str(error)))


@unknown
def local_time(t):
    return give(t, datetime.fromtimestamp(t.n, None).hour)


@unknown
def local_time_by_name(t):
    return give(t, datetime.fromtimestamp(t.n, tz=None).hour)


@unknown
def identity(t):
    return give(t, id(t) % 7)


@unknown
def hash_of_text(t):
    return give(t, hash(t.sym) % 7)


# Builtins by other names, and what calls back.


@unknown
def attribute_by_another_name(t):
    fetch(attribute_by_another_name, "seen").append(t.n)
    return give(t, len(fetch(attribute_by_another_name, "seen")))


attribute_by_another_name.seen = []


@unknown
class FetchedState:
    def __init__(self):
        self.log = []

    def process(self, t):
        fetch(self, "log").append(t.n)
        yield give(t, len(self.log))


@unknown
class ReducedToState:
    def __init__(self):
        self.x = []

    def process(self, t):
        reduce(getattr, "x", self).append(t.n)
        yield give(t, len(self.x))


@unknown
class LocalNameOfGetattr:
    def __init__(self):
        self.log = []

    def process(self, t):
        hasattr = getattr
        hasattr(self, "log").append(t.n)
        yield give(t, len(self.log))


@unknown
class TruthByOperator:
    def __init__(self):
        self.d = {}

    def process(self, t):
        out = operator.truth(self.d)
        self.d[t.sym] = 1
        yield give(t, out)


@unknown
class NotByOperator:
    def __init__(self):
        self.d = set()

    def process(self, t):
        out = operator.not_(self.d)
        self.d.add(t.sym)
        yield give(t, out)


@unknown
class StateInAnError:
    def __init__(self):
        self.log = []

    def process(self, t):
        try:
            raise ValueError(self.log)
        except ValueError as error:
            error.args[0].append(t.n)
        yield give(t, len(self.log))


@unknown
class StateDeepInAnError:
    def __init__(self):
        self.log = []

    def process(self, t):
        try:
            raise KeyError("log", (1, self.log))
        except KeyError as error:
            error.args[1][1].append(t.n)
        yield give(t, len(self.log))


@unknown
class StateFromAGenerator:
    def __init__(self):
        self.log = []

    def inner(self, t):
        yield give(t, 0)
        return self.log

    def process(self, t):
        log = yield from self.inner(t)
        log.append(t.n)
        yield give(t, len(self.log))


@unknown
class ClassChangedByItself:
    def __init__(self):
        self.log = []
        self.__class__ = _Other

    def process(self, t):
        yield give(t, 1)


class _Other(ClassChangedByItself):
    def process(self, t):
        self.log.append(t.n)
        yield give(t, len(self.log))


@unknown
class EvaluatedTarget:
    def __init__(self):
        self.seen = set()

    def process(self, t):
        self.seen.add(t.alt).x: int
        yield give(t, t.sym in self.seen)


@unknown
class EvaluatedIndex:
    def __init__(self):
        self.seen = set()

    def process(self, t):
        t.xs[self.seen.add(t.alt) or 0]: int
        yield give(t, t.sym in self.seen)


class Loud(Enum):
    A = 1

    def __str__(self):
        LOG.append(1)
        return "x" * len(LOG)


@unknown
def enumeration_that_counts_its_texts(t):
    return give(t, len(str(Loud.A)))


@unknown
def enumeration_in_a_format(t):
    return give(t, len(f"{Loud.A}"))


class Hashed(Enum):
    A = 1

    def __hash__(self):
        LOG.append(1)
        return len(LOG)


@unknown
def enumeration_that_counts_its_hashes(t):
    return give(t, Hashed.A in {Hashed.A: 1})


@dataclass(frozen=True)
class Key:
    n: int

    def __hash__(self):
        LOG.append(1)
        return len(LOG)


KEY = Key(1)


@unknown
def key_that_counts_its_hashes(t):
    d = {KEY: 1}
    return give(t, d.get(KEY, 0))


@dataclass(frozen=True)
class Settings:
    threshold_of_change: int = 3


SETTINGS = Settings()


def change_settings(value):
    object.__setattr__(SETTINGS, "threshold_of_change", value)


@unknown
def frozen_but_changed(t):
    return give(t, t.n > SETTINGS.threshold_of_change)


def _limited(t):
    return give(t, t.n > limit_of_namespace)  # noqa: F821


NAMESPACE = {"limit_of_namespace": 3, "give": give, "float": float}
limited_by_a_namespace = unknown(FunctionType(_limited.__code__, NAMESPACE, "limited_by_a_namespace"))


def raise_limit():
    NAMESPACE["limit_of_namespace"] += 1


ticking = 0


def tick_by_globals_of_a_function():
    tick_by_globals_of_a_function.__globals__["ticking"] += 1


@unknown
def read_what_globals_of_a_function_change(t):
    return give(t, ticking)


class Factory:
    made_by_factory = 0

    def __new__(cls):
        cls.made_by_factory += 1
        return object.__new__(cls)


@unknown
def count_of_instances(t):
    return give(t, Factory.made_by_factory)


class Borrowed:
    borrowed_value = 1

    def reset(self):
        self = Borrowed
        self.borrowed_value = 5


@unknown
def borrowed_by_another_self(t):
    return give(t, Borrowed.borrowed_value)


@unknown
def partial_of_state(t):
    return give(t, PARTIAL(t.n))


def _add_to(holder, n):
    holder.append(n)
    return len(holder)


PARTIAL = partial(_add_to, [])
