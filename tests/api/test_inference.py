"""What can and cannot be proven of Python operators from their source."""

from __future__ import annotations

import ast
import math
import random
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from penstock.api.inference import Role, infer_model
from penstock.ir.models import OperatorModel, Selectivity, State
from penstock.ir.types import parse_schema

TRADE = parse_schema("rstring sym, float64 price, int32 volume, list<rstring> tags")
FLAT = parse_schema("rstring sym, float64 price, int32 volume")
LIMIT = 100
WORD = re.compile(r"\w+")
TABLE = {"IBM": 1}
counter = 0


class Trade(NamedTuple):
    sym: str
    price: float
    volume: int


def model(function: Any, role: Role = Role.MAP, schema: Any = FLAT) -> OperatorModel:
    return infer_model(function, role, inputs=schema, outputs=(schema,))


def process_model(owner: type, schema: Any = FLAT) -> OperatorModel:
    return infer_model(owner.process, Role.PROCESS, inputs=schema, outputs=(schema,), owner=owner)  # type: ignore[attr-defined]


def scaled(t):
    return {"sym": t.sym, "price": math.sqrt(t.price) * LIMIT, "volume": t.volume}


def helper(x):
    return max(x, LIMIT)


def calls_helper(t):
    return Trade(t.sym, helper(t.price), volume=t.volume)


def local_list(t):
    words = WORD.findall(t.sym)
    words.append("x")
    return (words[0], t.price, t.volume)


def reads_table(t):
    return TABLE[t.sym]


def writes_global(t):
    global counter
    counter += 1
    return t


def reads_written_global(t):
    return t._replace(volume=counter)


def uses_random(t):
    return t._replace(price=random.random())


def uses_clock(t):
    return t._replace(price=time.time())


def prints(t):
    print(t)
    return t


def changes_input(t):
    t.tags.append("seen")
    return t


def changes_alias_of_input(t):
    tags = t.tags
    tags.append("seen")
    return t


def changes_global(t):
    TABLE[t.sym] = 2
    return t


def recursive(t):
    return t if t.volume == 0 else recursive(t)


def adds_up(t):
    total = t.price
    total += t.volume
    return t._replace(price=total)


@pytest.mark.parametrize("function", [scaled, calls_helper, local_list, recursive, adds_up, lambda t: t])
def test_a_function_of_its_tuple_alone_is_stateless(function):
    found = model(function)
    assert (found.state, found.why) == (State.STATELESS, ())


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (reads_table, "it reads `TABLE`, a dict that can change"),
        (writes_global, "it writes `counter`, which outlives the call"),
        (reads_written_global, "it reads `counter`, which other code writes"),
        (uses_random, "it calls `Random.random`, which is not known to be without effect and memory (line 77)"),
        (uses_clock, "it calls `time.time`, which is not known to be without effect and memory (line 81)"),
        (prints, "it calls `print`, which is not known to be without effect and memory (line 85)"),
        (changes_input, "it changes a part of the input tuple, which others receive too"),
        (changes_alias_of_input, "it changes a part of the input tuple, which others receive too"),
        (changes_global, "it reads `TABLE`, a dict that can change"),
    ],
)
def test_what_outlives_the_call_makes_the_state_unknown_and_says_why(function, reason):
    found = model(function, schema=TRADE)
    assert found.state is State.UNKNOWN
    assert any(str(why).startswith(f"state: {reason}") for why in found.why), found.why


def test_a_closure_over_a_list_is_unknown_and_over_a_number_is_stateless():
    seen: list[str] = []
    factor = 3
    assert model(lambda t: seen.append(t.sym) or t).state is State.UNKNOWN
    assert model(lambda t: t._replace(volume=t.volume * factor)).state is State.STATELESS


def test_two_lambdas_on_one_line_are_told_apart():
    stateless, clocked = (lambda t: t._replace(volume=1)), (lambda t: t._replace(price=time.time()))
    assert model(stateless).state is State.STATELESS
    assert model(clocked).state is State.UNKNOWN


def test_a_builtin_without_source_is_unknown():
    assert model(len).state is State.UNKNOWN


class CountByKey:
    def __init__(self):
        self.counts = {}
        self.limit = 3

    def process(self, t):
        key = t.sym
        self.counts[key] = self.counts.get(key, 0) + 1
        if self.counts[key] > self.limit:
            yield t


class AliasOfKeyedState:
    def __init__(self):
        self.seen = defaultdict(list)

    def process(self, t):
        window = self.seen[(t.sym, t.volume)]
        window.append(t.price)
        yield t


class TwoKeys:
    def __init__(self):
        self.by_symbol = {}
        self.by_both = {}

    def process(self, t):
        self.by_symbol[t.sym] = t.price
        self.by_both[t.sym, t.volume] = t.price
        yield t


class Total:
    def __init__(self):
        self.total = 0.0

    def process(self, t):
        self.total += t.price
        yield t


class DerivedKey:
    def __init__(self):
        self.counts = {}

    def process(self, t):
        self.counts[t.sym.lower()] = 1
        yield t


class WholeMap:
    def __init__(self):
        self.counts = {}

    def process(self, t):
        self.counts[t.sym] = len(self.counts)
        yield t


class AliasOfTheMap:
    def __init__(self):
        self.counts = {}

    def process(self, t):
        counts = self.counts
        counts[t.sym] = 1
        yield t


class RebindsTuple:
    def __init__(self):
        self.counts = {}

    def process(self, t):
        t = t._replace(sym="x")
        self.counts[t.sym] = 1
        yield t


class CallsOwnMethod:
    def __init__(self):
        self.total = 0

    def process(self, t):
        self.bump()
        yield t

    def bump(self):
        self.total += 1


class ReadsOnly:
    def __init__(self, limit):
        self.limit = limit

    def process(self, t):
        if t.price > self.limit:
            yield t


@pytest.mark.parametrize(
    ("owner", "key"),
    [(CountByKey, {"sym"}), (AliasOfKeyedState, {"sym", "volume"}), (TwoKeys, {"sym"}), (AliasOfTheMap, {"sym"})],
)
def test_state_in_maps_keyed_by_attributes_is_partitioned(owner, key):
    found = process_model(owner)
    assert (found.state, found.partition_by) == (State.PARTITIONED, (frozenset(key),)), found.why


@pytest.mark.parametrize("owner", [Total, DerivedKey, WholeMap, RebindsTuple, CallsOwnMethod])
def test_state_that_no_attribute_partitions_is_unknown(owner):
    found = process_model(owner)
    assert found.state is State.UNKNOWN
    assert found.why


def test_an_operator_that_only_reads_what_its_constructor_set_is_stateless():
    assert process_model(ReadsOnly).state is State.STATELESS


def one(t):
    yield t


def at_most_one(t):
    if t.volume:
        yield t
    elif t.price:
        return
    else:
        raise ValueError(t)


def two(t):
    yield t
    yield t


def loop(t):
    for _ in range(t.volume):
        yield t


def either(t):
    try:
        value = 1 / t.price
    except ZeroDivisionError:
        yield t
        return
    yield t._replace(price=value)


def listed(t):
    return [t] if t.volume else []


def list_of_unknown_length(t):
    return [t] * t.volume


def yields_in_both_branches(t):
    if t.volume:
        yield t
    else:
        yield t._replace(volume=1)


def unless_left_by_break(t):
    for x in range(t.volume):
        if x > t.price:
            break
    else:
        yield t


def more_after_a_break(t):
    for x in range(t.volume):
        if x > t.price:
            break
    else:
        return
    yield t
    yield t


def behind_a_comparison(t):
    if 0 < t.volume < ((yield t) or 3):
        return


def in_a_guard_and_a_case(t):
    match t.volume:
        case 1 if (yield t):
            pass
        case _:
            yield t


def in_a_group_of_errors(t):
    try:
        yield t
        yield t
    except* ValueError:
        pass


def in_a_default(t):
    def inner(x=(yield t)):
        return x

    yield t


@pytest.mark.parametrize(
    ("function", "selectivity"),
    [
        (one, Selectivity.EXACTLY_ONE),
        (unless_left_by_break, Selectivity.AT_MOST_ONE),
        (more_after_a_break, Selectivity.UNKNOWN),
        (behind_a_comparison, Selectivity.AT_MOST_ONE),
        (in_a_guard_and_a_case, Selectivity.UNKNOWN),
        (in_a_group_of_errors, Selectivity.UNKNOWN),
        (in_a_default, Selectivity.UNKNOWN),
        (yields_in_both_branches, Selectivity.EXACTLY_ONE),
        (at_most_one, Selectivity.AT_MOST_ONE),
        (listed, Selectivity.AT_MOST_ONE),
        (two, Selectivity.UNKNOWN),
        (loop, Selectivity.UNKNOWN),
        (list_of_unknown_length, Selectivity.UNKNOWN),
        (either, Selectivity.EXACTLY_ONE),
    ],
)
def test_selectivity_counts_the_tuples_on_every_path(function, selectivity):
    assert model(function, Role.FLAT_MAP).selectivity is selectivity


def test_a_map_gives_exactly_one_and_a_filter_at_most_one():
    assert model(scaled, Role.MAP).selectivity is Selectivity.EXACTLY_ONE
    assert model(lambda t: t.price > 1, Role.FILTER).selectivity is Selectivity.AT_MOST_ONE


@pytest.mark.parametrize(
    ("function", "forwards"),
    [
        (scaled, {"sym", "volume"}),
        (calls_helper, {"sym", "volume"}),
        (local_list, {"price", "volume"}),
        (adds_up, {"sym", "volume"}),
        (either, {"sym", "volume"}),
        (lambda t: t, {"sym", "price", "volume"}),
        (lambda t: {"sym": t.price, "price": t.price, "volume": 0}, {"price"}),
    ],
)
def test_forwarded_attributes_are_those_copied_under_their_own_name(function, forwards):
    role = Role.FLAT_MAP if function is either else Role.MAP
    assert model(function, role).forwards == forwards


def test_a_filter_forwards_everything():
    assert model(lambda t: t.price > 1, Role.FILTER).forwards == set(FLAT.names)


def rebinds(t):
    t = t._replace(sym="x")
    return t


def test_a_parameter_that_is_rebound_forwards_only_what_both_have():
    assert model(rebinds).forwards == {"price", "volume"}


def test_the_modules_of_a_large_program_are_parsed_once(tmp_path, monkeypatch):
    for number in range(300):
        module = ModuleType(f"part{number}")
        module.__file__ = str(tmp_path / f"part{number}.py")
        Path(module.__file__).write_text(f"print(other.LIMIT, {number})\n")
        monkeypatch.setitem(sys.modules, module.__name__, module)
    parsed: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *given: parsed.append(text) or parse(text, *given))
    assert model(lambda t: t.volume < LIMIT, Role.FILTER).state is State.STATELESS
    assert len(parsed) >= 300
    parsed.clear()
    assert model(lambda t: t.volume > LIMIT, Role.FILTER).state is State.STATELESS
    assert len(parsed) <= 1, "its own file at most"


@pytest.mark.parametrize("text", ["other.LIMIT = 5", "(other\n .\n LIMIT) = 5", "setattr(other, 'LIMIT', 5)"])
def test_a_store_is_seen_in_whatever_module_it_is(tmp_path, monkeypatch, text):
    module = ModuleType("storing")
    module.__file__ = str(tmp_path / "storing.py")
    Path(module.__file__).write_text(text)
    monkeypatch.setitem(sys.modules, "storing", module)
    assert model(lambda t: t.volume < LIMIT, Role.FILTER).state is not State.STATELESS
