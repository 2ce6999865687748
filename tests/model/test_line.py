"""PEs in one line: what is for others passes through."""

from __future__ import annotations

import pytest

from penstock.base.diagnostics import UserError
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


def test_a_pe_that_gathers_its_input_overlaps_with_nothing():
    profile, transfer = fan(2, costs=1e-3), Transfer(mips=1000.0)
    pes = [PlacedPE(operators=(o,), hosts=("h0",), gathers=o == "t0") for o in ("a", "t0", "t1")]
    assert load_seconds(profile, line(("a",), ("t0",), ("t1",)), transfer) == pytest.approx(0.1)
    assert load_seconds(profile, Plan(pes=tuple(pes), is_line=True), transfer) == pytest.approx(0.3)


@pytest.mark.parametrize(("batch_tuples", "seconds"), [(10, 0.3), (20, 0.2), (40, 0.15)])
def test_pes_overlap_by_pieces_so_that_small_batches_pass_one_by_one(batch_tuples, seconds):
    hosts = equal_hosts(1, cores=8, core_mips=1000.0)
    model = ThroughputModel(
        fan(2, costs=1e-3), hosts, Transfer(mips=1000.0), batch_tuples=batch_tuples, piece_tuples=10.0
    )
    assert model.evaluate(line(("a",), ("t0",), ("t1",))).load_seconds == pytest.approx(seconds)


def test_what_passes_a_pe_costs_its_process_too():
    passing = Transfer(mips=1000.0, python_pass=Cost(seconds_per_tuple=1e-3))
    # The stream to t1 enters t0 and leaves it again, and t0 takes its own.
    assert load_seconds(fan(2), line(("a",), ("t0",), ("t1",)), passing) == pytest.approx(3 * 0.1)


def test_state_and_tasks_cost_a_micro_batch_time_however_small_it_is():
    transfer = Transfer(
        mips=1000.0, batch_seconds=1.0, stage_seconds=0.1, state_seconds=0.01, task_seconds=0.001, pe_seconds=1e-4
    )
    model = ThroughputModel(fan(2), equal_hosts(1, cores=2, core_mips=1000.0), transfer)
    pes = [
        PlacedPE(operators=("a",), hosts=("h0",)),
        PlacedPE(operators=("t0",), hosts=("h0",), channels=2, keyed=True, gathers=True, stateful=True),
        PlacedPE(operators=("t1",), hosts=("h0",), keyed=True, gathers=True, in_driver=True),
    ]
    found = model.evaluate(Plan(pes=tuple(pes), is_line=True))
    assert found.fixed_seconds == pytest.approx(1.0 + 0.1 + 0.01 + 0.001 + 1e-4)
