"""EventJoin: what it holds, and what is refused; which pairs it finds is asked in `equivalence`."""

from __future__ import annotations

import pickle
from random import Random

import pytest

from feeding import feed, run_graph
from penstock.base.diagnostics import UserError
from penstock.toolkit.core.memory import join as join_memories
from penstock.toolkit.core.memory import split
from toolkit.harness import attribute, build, errors, start, word

SCHEMA = "int64 t, rstring k, int32 x"
PARAMS = {
    "timeLHS": attribute("t", SCHEMA),
    "timeRHS": attribute("t", SCHEMA, 1),
    "resolution": word("Seconds"),
    "equalityLHS": attribute("k", SCHEMA),
    "equalityRHS": attribute("k", SCHEMA, 1),
}
OUT = "int32 a, int32 b"
ASSIGN = {"a": attribute("x", SCHEMA), "b": attribute("x", SCHEMA, 1)}


def join(lower, upper, **params):
    given = {**PARAMS, "lower": lower, "upper": upper, **params}
    return build("EventJoin", [SCHEMA, SCHEMA], [OUT], given, assign=ASSIGN)


def held(harness):
    return [sum(map(len, side.values())) for side in harness.runtime.held.sides]


def test_bounds_belong_to_the_time_between():
    harness = start(join(-2.0, 3.0)).feed((10, "a", 1))
    harness.feed(*((t, "a", t) for t in (7, 8, 9, 13, 14)), port=1)
    assert harness.sent() == [(1, 8), (1, 9), (1, 13)]


def test_what_can_match_nothing_any_more_is_let_go_whatever_its_key():
    harness = start(join(0.0, 5.0)).feed((1, "a", 1), (2, "b", 2), (50, "c", 3))
    assert held(harness) == [3, 0]
    harness.feed((40, "z", 9), port=1)
    assert held(harness) == [1, 0], "a right tuple from before the last left one meets nobody, so it is not held"


def continued(operators, memories, fed, channel_of):
    """What instances that go on with some memories send for what is fed, each tuple to the channel of its key."""
    harnesses = [start(operator) for operator in operators]
    for harness, memory in zip(harnesses, memories, strict=True):
        harness.runtime.restore(pickle.loads(pickle.dumps(memory)))
    for port, tuple_ in fed:
        harnesses[channel_of(tuple_[1])].feed(tuple_, port=port)
    return sorted(pair for harness in harnesses for pair in harness.sent()), [h.runtime.snapshot() for h in harnesses]


@pytest.mark.parametrize("seed", range(20))
def test_keys_move_to_channels_and_back(seed):
    rng = Random(seed)
    fed = [(rng.randrange(2), (t // 2, rng.choice("abcdef"), t)) for t in range(60)]
    cuts = sorted(rng.sample(range(60), 2))
    one, several = [join(-3.0, 5.0)], [join(-3.0, 5.0) for _ in range(3)]
    whole, _ = continued(one, [None], fed, lambda key: 0)
    first, (memory,) = continued(one, [None], fed[: cuts[0]], lambda key: 0)
    parts = memory_parts(memory, lambda key: ord(key["k"]) % 3)
    second, memories = continued(several, parts, fed[cuts[0] : cuts[1]], lambda key: ord(key) % 3)
    third, _ = continued(one, [join_memories(memories)], fed[cuts[1] :], lambda key: 0)
    assert sorted(first + second + third) == whole
    assert len(whole) > 20


def memory_parts(memory, group_of):
    found = split(memory, group_of)
    return [found.get(channel) for channel in range(3)]


def test_a_stream_that_is_not_in_order_is_refused():
    graph = (
        f"stream<{OUT}> J = EventJoin(A; B) {{ param timeLHS: A.t; timeRHS: B.t; resolution: Seconds;"
        " lower: 0.0; upper: 1.0; output J: a = A.x, b = B.x; }"
    )
    with pytest.raises(UserError, match="comes behind one of"):
        run_graph(graph, A=feed(SCHEMA, [(5, "a", 1), (4, "a", 1)]), B=feed(SCHEMA, []))


def test_bounds_the_wrong_way_round_are_refused():
    given = {**PARAMS, "lower": 5.0, "upper": 1.0}
    found = errors("EventJoin", [SCHEMA, SCHEMA], [OUT], given, assign=ASSIGN)
    assert found == [
        "`lower` is 5.0 and `upper` is 1.0: no time lies between them; give seconds, the smaller one first"
    ]
