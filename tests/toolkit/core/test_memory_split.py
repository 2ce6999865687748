"""The state of a partitioned operator by key: dealt out to channels, run there, and put together again."""

from __future__ import annotations

import math
import pickle
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import SECOND, WINDOW, Feed, program
from penstock.base.diagnostics import UserError
from penstock.expr.environment import Clock, Environment
from penstock.ir.graph import Operator
from penstock.ir.models import State
from penstock.toolkit.analysis.keyed_state import state_shapes
from penstock.toolkit.core.memory import join, split
from penstock.toolkit.core.runtime import Wait
from toolkit.harness import Harness
from toolkit.memory_cases import OTHERS, PARTITIONED, Case, random_items

CHANNELS = 3


def operator_of(case: Case) -> Operator:
    (operator,) = [o for o in case.program().application.operators if o.inputs]
    return operator


def fresh(operator: Operator, memory: Any = None, now_ns: int = 0) -> Harness:
    """A new instance that goes on where others stood."""
    harness = Harness(operator, Environment(clock=Clock(now_ns)))
    harness.runtime.restore(pickle.loads(pickle.dumps(memory)))
    return harness


def group_of(key: dict[str, Any]) -> int:
    return int(key["k"]) % CHANNELS


def channel_of(tuple_: tuple[Any, ...]) -> int:
    return group_of({"k": tuple_[0]})


def feed(harnesses: list[Harness], items: list[tuple[int, Any]]) -> None:
    """Let items come in, each on the channel of its key; pauses are for all of them, markers for none."""
    for port, item in items:
        if isinstance(item, Wait):
            for harness in harnesses:
                harness.advance(item.nanoseconds / SECOND)
        elif isinstance(item, tuple):
            harnesses[channel_of(item) if len(harnesses) > 1 else 0].feed(item, port=port)


Sent = dict[tuple[int, int], list[str]]
"""What each port sent for each key."""


def by_key(harnesses: list[Harness]) -> Sent:
    """What was sent for each key, which is the attribute `k` of every case's output."""
    found: Sent = {}
    for harness in harnesses:
        for port, sent in enumerate(harness.items):
            place = harness.runtime.operator.outputs[port].schema.position["k"]
            for item in sent:
                if item is not WINDOW:
                    found.setdefault((port, item[place]), []).append(str(item))
    return found


def merged(parts: list[Sent]) -> Sent:
    found: Sent = {}
    for part in parts:
        for key, items in part.items():
            found.setdefault(key, []).extend(items)
    return found


def both_ports(random: Random, ports: int) -> list[tuple[int, Any]]:
    items = [(port, item) for port in range(ports) for item in random_items(random, 40)]
    random.shuffle(items)
    return items


@pytest.mark.parametrize("case", PARTITIONED, ids=lambda case: case.name)
def test_keys_move_to_channels_and_back(case: Case):
    operator = operator_of(case)
    assert operator.model.state is State.PARTITIONED

    @settings(max_examples=10, deadline=None)
    @given(st.integers(0, 10**6))
    def check(seed: int) -> None:
        random = Random(seed)
        items = both_ports(random, len(operator.inputs))
        first, second = sorted(random.randrange(len(items)) for _ in range(2))
        whole = fresh(operator)
        feed([whole], items)
        alone = fresh(operator)
        feed([alone], items[:first])
        groups = split(alone.runtime.snapshot(), group_of)
        now_ns = alone.environment.clock.now_ns
        channels = [fresh(operator, groups.get(i), now_ns) for i in range(CHANNELS)]
        feed(channels, items[first:second])
        memories = [channel.runtime.snapshot() for channel in channels]
        random.shuffle(memories)
        again = fresh(operator, join(memories), channels[0].environment.clock.now_ns)
        feed([again], items[second:])
        assert merged([by_key([alone]), by_key(channels), by_key([again])]) == by_key([whole])

    check()


@pytest.mark.parametrize("case", PARTITIONED, ids=lambda case: case.name)
def test_splitting_and_joining_at_once_changes_nothing(case: Case):
    operator = operator_of(case)
    items = both_ports(Random(5), len(operator.inputs))
    whole, half = fresh(operator), fresh(operator)
    feed([whole], items)
    feed([half], items[:37])
    groups = split(half.runtime.snapshot(), group_of)
    assert groups
    again = fresh(operator, join(reversed(groups.values())), half.environment.clock.now_ns)
    feed([again], items[37:])
    assert [str([*a, *b]) for a, b in zip(half.items, again.items, strict=True)] == [str(i) for i in whole.items]


@pytest.mark.parametrize("name", ["Match", "DeDuplicate by count", "Delay", "logic with state of its own"])
def test_state_that_belongs_to_no_key_is_not_split(name: str):
    case = next(c for c in OTHERS if c.name == name)
    operator = next(o for o in case.program().application.operators if o.inputs)
    harness = fresh(operator).feed((0, 1, 1.5), (2, 2, 0.0))
    with pytest.raises(UserError, match="belongs to no key, so it cannot be split by key"):
        split(harness.runtime.snapshot(), group_of)


def test_states_with_the_same_key_are_not_joined():
    memory = ({}, {"counts": (("uid",), {(7,): 1})})
    with pytest.raises(UserError, match=r"the key \(7,\) has state in two places"):
        join([memory, memory])


def test_states_of_different_operators_are_not_joined():
    with pytest.raises(UserError, match="differ in what belongs to no key"):
        join([({"constants": {"step": 1}}, {}), ({"constants": {"step": 2}}, {})])


def test_nothing_is_made_of_nothing():
    assert split(None, group_of) == {}
    assert join([None, None]) is None


def test_a_partition_that_is_as_good_as_new_is_left_out():
    case = next(c for c in PARTITIONED if c.name == "Aggregate tumbling count by key")
    harness = fresh(operator_of(case)).feed(*[(1, x, 0.0) for x in range(3)], (2, 7, 0.0))
    _, parts = harness.runtime.snapshot()
    names, by_partition = parts["partitions"]
    assert names == ("k",)
    assert list(by_partition) == [(2,)]


def test_keys_with_nan_are_found_again():
    case = next(c for c in PARTITIONED if c.name == "Aggregate sliding count by key")
    operator = operator_of(case)
    tuples = [(1, x, float("nan")) for x in range(5)]
    whole, half = fresh(operator).feed(*tuples), fresh(operator).feed(*tuples[:3])
    again = fresh(operator, half.runtime.snapshot()).feed(*tuples[3:])
    assert math.isnan(whole.sent()[0][5])
    assert str(half.items[0] + again.items[0]) == str(whole.items[0])


def custom(keys: str) -> Operator:
    graph = f"""stream<int32 k, int32 x> C = Custom(A) {{
        logic state: {{ mutable map<tuple<int32 a, int32 b>, int32> seen = {{}}; }}
        onTuple A: {{ {keys} submit({{k = k, x = x}}, C); }} }}"""
    return program(graph, A=Feed("int32 k, int32 x", [])).application.operator["C"]


def test_keys_that_swap_their_attributes_are_not_a_partition():
    straight = custom("seen[{a = k, b = x}] = 1; seen[{a = k, b = x}] = 2;")
    assert straight.model.state is State.PARTITIONED
    assert state_shapes(straight, ())["seen"].names == ("k", "x")
    swapped = custom("seen[{a = k, b = x}] = 1; seen[{a = x, b = k}] = 2;")
    assert swapped.model.state is State.UNKNOWN
