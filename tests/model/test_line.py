"""PEs in one line: what is for others passes through."""

from __future__ import annotations

import pytest

from penstock.diagnostics import UserError
from penstock.model import (
    Cost,
    OperatorProfile,
    PlacedPE,
    Plan,
    Profile,
    StreamProfile,
    ThroughputModel,
    Transfer,
    equal_hosts,
)

FEED = Transfer(mips=1000.0, jvm_feed=Cost(seconds_per_tuple=1e-3))
SEND = Transfer(mips=1000.0, python_send=Cost(seconds_per_tuple=1e-3))


def fan(takers: int, costs: float = 0.0) -> Profile:
    names = [f"t{i}" for i in range(takers)]
    operators = [OperatorProfile(id="a", rate_tps=100.0, cpu_seconds=costs, selectivity=(1.0,))]
    operators += [OperatorProfile(id=n, rate_tps=100.0, cpu_seconds=costs) for n in names]
    stream = StreamProfile(id="s", producer="a", consumers=tuple(names), rate_tps=100.0, tuple_bytes=8.0)
    return Profile(mips=1000.0, operators=tuple(operators), streams=(stream,))


def line(*groups: tuple[str, ...], keyed: frozenset[int] = frozenset()) -> Plan:
    pes = [PlacedPE(operators=g, hosts=("h0",), keyed=i in keyed) for i, g in enumerate(groups)]
    return Plan(pes=tuple(pes), is_line=True)


def load_seconds(profile: Profile, plan: Plan, transfer: Transfer, cores: int = 64) -> float:
    model = ThroughputModel(profile, equal_hosts(1, cores=cores, core_mips=1000.0), transfer)
    return model.evaluate(plan).load_seconds


def test_a_stream_is_fed_to_every_pe_on_its_way():
    # To t0 it is fed once, to t1 twice, to t2 three times, all by the thread of one task.
    plan = line(("a",), ("t0",), ("t1",), ("t2",))
    assert load_seconds(fan(3), plan, FEED) == pytest.approx(6 * 0.1)


def test_a_stream_is_sent_once_for_each_pe_that_takes_it():
    assert load_seconds(fan(3), line(("a",), ("t0",), ("t1",), ("t2",)), SEND) == pytest.approx(3 * 0.1)
    assert load_seconds(fan(3), line(("a",), ("t0", "t1", "t2")), SEND) == pytest.approx(0.1)


def test_stages_of_a_line_come_one_after_the_other():
    profile = fan(2, costs=1e-3)
    together = load_seconds(profile, line(("a",), ("t0",), ("t1",)), Transfer(mips=1000.0))
    apart = load_seconds(profile, line(("a",), ("t0",), ("t1",), keyed=frozenset({1, 2})), Transfer(mips=1000.0))
    assert together == pytest.approx(0.1)
    assert apart == pytest.approx(0.3)


def test_moving_an_operator_in_a_line_is_like_planning_anew():
    profile, transfer = fan(3, costs=1e-3), Transfer(mips=1000.0, jvm_feed=Cost(seconds_per_byte=1e-5))
    model = ThroughputModel(profile, equal_hosts(1, cores=2, core_mips=1000.0), transfer)
    what_if = model.what_if(line(("a",), ("t0",), ("t1",), ("t2",)))
    what_if.change({"t1": 1})
    assert what_if.scale == pytest.approx(model.evaluate(line(("a",), ("t0", "t1"), ("t2",))).scale)


def test_a_line_against_the_streams_is_refused():
    model = ThroughputModel(fan(1), equal_hosts(1), FEED)
    with pytest.raises(UserError, match="cycle"):
        model.evaluate(line(("t0",), ("a",)))
