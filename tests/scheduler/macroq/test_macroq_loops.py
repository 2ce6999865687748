"""macroQ on loops: those that fill slowly, large ones, and loops of joins."""

from __future__ import annotations

import time

import pytest

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.component import Grid, prepare
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.macroq.nsdp import plan_component
from penstock.scheduler.problem.admission_problem import (
    PRIMAL,
    Flow,
    Job,
    Limits,
    Linear,
    Output,
    Pe,
    Problem,
    RateFunction,
    Table,
    Template,
)
from penstock.scheduler.problem.composition import compose, ready_order


def ring(name: str, size: int, *, gain: float = 1.0, flow: bool = False, join: float = 0.0) -> tuple[Pe, ...]:
    """PEs of which each reads the one before; the first is offered a tuple a second, the last is worth something."""
    pes = []
    for i in range(size):
        before = f"{name}.{(i - 1) % size}"
        rate: RateFunction = Flow(mips_per_tps=1.0, selectivity=1.0 if i else gain)
        if not flow:
            offered = ((before, 1.0),) if i else ((before, gain), (PRIMAL, 1.0))
            pairs = ((before, before, join),) if join else ()
            rate = Limits(allowed=Table(points=((0.0, 0.0), (1.0, 1e7))), offered=offered, pairs=pairs)
        value = Linear(slope=1.0) if i == size - 1 else None
        out = Output(stream=f"{name}.{i}", rate=rate, value=value)
        pes.append(Pe(id=f"{name}{i}", max_mips=100.0, inputs=(before,), offered_tps=0.0 if i else 1.0, outputs=(out,)))
    return tuple(pes)


def jobs_of(*rings: tuple[Pe, ...]) -> tuple[Job, ...]:
    return tuple(Job(id=f"J{i}", templates=(Template(id="t", pes=pes),)) for i, pes in enumerate(rings))


def test_a_loop_that_is_not_full_when_time_is_up_is_understated() -> None:
    pes = ring("r", 3, gain=0.99)
    mips = {pe.id: 50.0 for pe in pes}
    full, cut = compose(pes, mips).importance["r2"], compose(pes, mips, deadline=Deadline.after(0.0)).importance["r2"]
    assert full == pytest.approx(100.0)
    assert 0.0 < cut < full


def test_many_loops_that_fill_slowly_are_answered_in_time() -> None:
    slow = jobs_of(*(ring(f"r{i}", 3, gain=0.9999) for i in range(150)))
    # Time as it passes on a machine of a third of the speed, whatever else runs on this one.
    deadline = Deadline.after(1.0, clock=lambda: 3 * time.process_time())
    answer = solve(Problem(mips=9_000.0, jobs=slow), deadline=deadline)
    assert deadline.elapsed() < 2.0
    assert answer.importance > 0.0


@pytest.mark.parametrize("flow", [True, False])
def test_a_job_that_is_one_large_loop_is_answered_in_time(flow: bool) -> None:
    large = Problem(mips=10_000.0, jobs=jobs_of(ring("r", 3_000, flow=flow, gain=0.5)))
    deadline = Deadline.after(1.0, clock=time.process_time)
    answer = solve(large, deadline=deadline)
    assert deadline.elapsed() < 2.0
    assert 0.0 < answer.importance <= 2.0


@pytest.mark.parametrize("gain", [0.9, 0.9999])
def test_no_bound_is_below_what_a_long_loop_earns(gain: float) -> None:
    """Its streams could carry a thousand million times as much as they do, as far as mips go."""
    answer = solve(Problem(mips=4_000.0, jobs=jobs_of(ring("r", 40, gain=gain))), deadline=Deadline.after(3.0))
    assert answer.importance <= answer.bound
    assert not answer.exact or answer.importance == pytest.approx(1 / (1 - gain), rel=1e-5)


def test_a_loop_with_more_joins_than_can_be_combined_gets_equal_shares() -> None:
    component = prepare(ring("r", 70, gain=0.5, join=0.01))
    plan = plan_component(component, Grid(step_mips=1e-7, units=200), 100, Deadline.after(60.0))
    assert not plan.exact
    assert plan.curve[-1] > 0.0


def test_a_loop_of_more_pes_than_numpy_has_axes_is_combined() -> None:
    component = prepare(ring("r", 40, gain=0.5))
    plan = plan_component(component, Grid(step_mips=1e6, units=1), 100, Deadline.after(60.0))
    assert len(plan.curve) >= 1


def test_many_loops_one_behind_the_other_are_put_in_order_once() -> None:
    pes = []
    for i in range(2_000):
        back, out = (Output(stream=f"{s}{i}", rate=Flow(mips_per_tps=1.0, selectivity=0.5)) for s in "bo")
        pes.append(Pe(id=f"P{i}", max_mips=1.0, inputs=(f"b{i}", f"o{i - 1}"), outputs=(out,)))
        pes.append(Pe(id=f"Q{i}", max_mips=1.0, inputs=(f"o{i}",), outputs=(back,)))
    began = time.process_time()
    order = ready_order(pes[::-1])
    assert [len(batch) for batch in order] == [2] * 2_000
    assert order[0][0].id in ("P0", "Q0")
    assert time.process_time() - began < 1.0
