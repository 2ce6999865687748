"""Dicts, lists and sets that look like lookup tables, and change."""

# ruff: noqa: B006, RUF012, F841, RUF015

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from types import MappingProxyType

import tricky_rates
from judged import unknown, unknown_filter
from tricky_rates import IMPORTED_AND_CHANGED


def give(t, out):
    return t.sym, float(out)


STORED = {"a": 1.0}
APPENDED = [1.0]
ADDED = {"a"}
UPDATED = {"a": 1.0}
DELETED = {"a": 1.0}
POPPED = {"a": 1.0}
CLEARED = ["a"]
SORTED = [3.0, 1.0]
AUGMENTED = [1.0]
MERGED = {"a": 1.0}
PASSED = {"a": 1.0}
ALIASED = {"a": 1.0}
RETURNED = {"a": 1.0}
HELD = {"a": 1.0}
DEFAULTED = {"a": 1.0}
CAPTURED = {"a": 1.0}
BOUND = ["a"]
CHOSEN = {"a": 1.0}
STARRED = [["a"]]
LOOPED = [["a"]]
INNER = {"a": {"b": 1.0}}
INNER_LIST = {"a": [1.0]}
NAMED_IN_STRING = {"a": 1.0}
SHUFFLED = ["a", "b"]
YIELDED = {"a": 1.0}
WALRUSED = ["a"]
LARGEST = ["a"]
MATCHED = {"a": 1.0}
DEFAULT = defaultdict(float)
FIRST = SECOND = {"a": 1.0}
BASE = {"a": 1.0}
PROXY = MappingProxyType(BASE)
VALUES = {"a": 1.0}
COPY = VALUES
FUNCTIONS = {"a": lambda t: STATE.append(t.n) or len(STATE)}
STATE: list[int] = []
ITERATORS = {"a": iter(range(9))}
UNPACKED = [1.0]
SLICED = [["a"], ["b"]]


def change_all(x, keep=DEFAULTED):
    global_names = [HELD, CAPTURED]
    STORED["a"] = x
    APPENDED.append(x)
    ADDED.add("b")
    UPDATED.update(a=x)
    del DELETED["a"]
    POPPED.pop("a")
    CLEARED.clear()
    SORTED.sort()
    keep["a"] = x
    grow = BOUND.append
    grow("b")
    (CHOSEN or {})["b"] = x
    for inner in LOOPED:
        inner.append("b")
    [*STARRED][0].append("b")
    INNER["a"]["b"] = x
    INNER_LIST.get("a").append(x)
    random.shuffle(SHUFFLED)
    (again := WALRUSED).append("b")
    max(LARGEST, ["a", "b"]).append("c")
    BASE["b"] = x
    COPY["b"] = x
    SECOND["a"] = x
    SLICED[0:1][0].append("c")
    match MATCHED:
        case found:
            found["a"] = x


def augment():
    other = AUGMENTED
    other += [2.0]
    merged = MERGED
    merged |= {"b": 1.0}


def mutate(table):
    table["b"] = 2.0


def pass_it():
    mutate(PASSED)
    alias = ALIASED
    alias["b"] = 3.0


def table():
    return RETURNED


def tables():
    yield YIELDED


def unpack():
    first, second = UNPACKED, 1
    first.append(2.0)


def by_string():
    return globals_of("NAMED_IN_STRING")


def globals_of(name):
    return name


@unknown
def stored(t):
    return give(t, STORED.get(t.sym, 0.0))


@unknown
def appended(t):
    return give(t, sum(APPENDED))


@unknown_filter
def added(t):
    return t.sym in ADDED


@unknown
def updated(t):
    return give(t, UPDATED.get(t.sym, 0.0))


@unknown_filter
def deleted(t):
    return t.sym in DELETED


@unknown_filter
def popped(t):
    return t.sym in POPPED


@unknown
def cleared(t):
    return give(t, len(CLEARED))


@unknown
def sorted_in_place(t):
    return give(t, SORTED[0])


@unknown
def augmented(t):
    return give(t, sum(AUGMENTED))


@unknown
def merged(t):
    return give(t, len(MERGED))


@unknown
def passed(t):
    return give(t, PASSED.get(t.sym, 0.0))


@unknown
def aliased(t):
    return give(t, ALIASED.get(t.sym, 0.0))


@unknown
def returned(t):
    return give(t, RETURNED.get(t.sym, 0.0))


@unknown
def held(t):
    return give(t, HELD.get(t.sym, 0.0))


@unknown
def defaulted(t):
    return give(t, DEFAULTED.get(t.sym, 0.0))


@unknown
def captured(t):
    return give(t, CAPTURED.get(t.sym, 0.0))


@unknown
def bound(t):
    return give(t, len(BOUND))


@unknown
def chosen(t):
    return give(t, CHOSEN.get(t.sym, 0.0))


@unknown
def starred(t):
    return give(t, len(STARRED[0]))


@unknown
def looped(t):
    return give(t, len(LOOPED[0]))


@unknown
def inner(t):
    return give(t, INNER["a"]["b"])


@unknown
def inner_list(t):
    return give(t, len(INNER_LIST["a"]))


@unknown
def named_in_a_string(t):
    return give(t, NAMED_IN_STRING.get(t.sym, 0.0))


@unknown
def shuffled(t):
    return give(t, SHUFFLED[0] == "a")


@unknown
def yielded(t):
    return give(t, YIELDED.get(t.sym, 0.0))


@unknown
def walrused(t):
    return give(t, len(WALRUSED))


@unknown
def largest(t):
    return give(t, len(LARGEST))


@unknown
def matched(t):
    return give(t, MATCHED.get(t.sym, 0.0))


@unknown
def default_of_a_default_dict(t):
    return give(t, DEFAULT[t.sym])


@unknown
def two_names(t):
    return give(t, FIRST["a"])


@unknown
def proxy_of_another(t):
    return give(t, len(PROXY))


@unknown
def copied_name(t):
    return give(t, len(VALUES))


@unknown
def functions_with_memory(t):
    return give(t, FUNCTIONS["a"](t))


@unknown
def iterators_inside(t):
    return give(t, next(ITERATORS["a"]))


@unknown
def unpacked(t):
    return give(t, UNPACKED[0])


@unknown
def sliced(t):
    return give(t, len(SLICED[0]))


@unknown
def changed_by_another_module(t):
    return give(t, tricky_rates.CHANGED_THERE.get(t.sym, 0.0))


@unknown
def imported_and_changed(t):
    return give(t, IMPORTED_AND_CHANGED.get(t.sym, 0.0))


@unknown
def changed_here_read_there(t):
    return give(t, tricky_rates.CHANGED_FROM_AFAR.get(t.sym, 0.0))


def change_afar():
    from tricky_rates import CHANGED_FROM_AFAR as there

    there["x"] = 1.0


@unknown
def module_handed_on(t):
    return give(t, tricky_rates.READ_ONLY.get(t.sym, 0.0))


def hand_on():
    tricky_rates.reset(tricky_rates)


@unknown
class ChangedInClass:
    CLASS_TABLE = {"a": 1.0}

    def process(self, t):
        yield give(t, self.CLASS_TABLE.get(t.sym, 0.0))

    def tick(self):
        self.CLASS_TABLE["b"] = 1.0


@unknown
class ChangedThroughAlias:
    ALIASED_TABLE = {"a": 1.0}

    def process(self, t):
        yield give(t, self.ALIASED_TABLE.get(t.sym, 0.0))


def change_class(cls=ChangedThroughAlias):
    cls.ALIASED_TABLE.clear()


@unknown
class NamedTable:
    NAMED_TABLE = {"a": 1.0}

    def process(self, t):
        yield give(t, self.NAMED_TABLE.get(t.sym, 0.0))


class ReplacedTable(NamedTable):
    NAMED_TABLE = None

    def replace(self):
        NamedTable.NAMED_TABLE = {}


@unknown
def changed_default(t, table={"a": 1}):
    table[t.sym] = table.get(t.sym, 0) + 1
    return give(t, table[t.sym])


@unknown
def returned_default(t):
    lookup()["a"] = t.n
    return give(t, lookup()["a"])


def lookup(table={"a": 1}):
    return table


def _closed():
    table = {"a": 1.0}

    def look(t):
        return give(t, table.get(t.sym, 0.0))

    def change(t):
        table[t.sym] = 1.0

    return look, change


look_closed, change_closed = _closed()
unknown(look_closed)


def _given(table):
    def look_given(t):
        return give(t, table.get(t.sym, 0.0))

    return look_given


GIVEN = {"a": 1.0}
unknown(_given(GIVEN))


def change_given():
    GIVEN["b"] = 2.0


@dataclass
class Holder:
    values: list[int] = field(default_factory=list)


HOLDERS = {"a": Holder()}


@unknown
def holders(t):
    return give(t, len(HOLDERS["a"].values))


@unknown
class PrivateCount:
    __count = 0

    def process(self, t):
        yield give(t, self.__count)

    def tick(self):
        PrivateCount.__count += 1


@unknown
class PrivateTotal:
    def __init__(self):
        self.__total = 0

    def process(self, t):
        self.__total += t.n
        yield give(t, self.__total)


@unknown
class SpreadState:
    def __init__(self):
        self.log = []

    def process(self, t):
        yield give(t, _grow(log=self.log, n=t.n))


def _grow(log, n):
    log.append(n)
    return len(log)


@unknown
def spread_into_a_counter(t):
    options = {"n": t.n}
    return give(t, _count_up(**options))


def _count_up(n, seen=[]):
    seen.append(n)
    return len(seen)
