"""macroQ on problems whose answer can be told by hand, and its parts."""

from __future__ import annotations

import time

import numpy as np
import pytest
from admission_instances import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.deadline import Deadline, OutOfTime
from penstock.base.diagnostics import Infeasible
from penstock.bench.workloads.admission_shapes import SHAPES, connected_jobs
from penstock.bench.workloads.soda_jobs import synthetic_problem
from penstock.scheduler.macroq.component import Grid, balanced_allocations, prepare, rough_plan
from penstock.scheduler.macroq.concave import concave_plan, find_corners, is_concave_component
from penstock.scheduler.macroq.lists import job_lists
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.macroq.nsdp import plan_component
from penstock.scheduler.macroq.resolution import common_measure
from penstock.scheduler.problem.admission_problem import (
    PRIMAL,
    Flow,
    Job,
    Limits,
    Linear,
    Output,
    Pe,
    Problem,
    Table,
    Template,
)
from penstock.scheduler.problem.components import weak_components
from penstock.scheduler.problem.composition import compose, propagate

WITHOUT_END = 2**40


def pe(
    name: str,
    *inputs: str,
    low: float = 0.0,
    high: float = 100.0,
    offered: float = 0.0,
    worth: float | None = None,
    cost: float = 1.0,
) -> Pe:
    value = None if worth is None else Linear(slope=worth)
    output = Output(stream=name.lower(), rate=Flow(mips_per_tps=cost, selectivity=1.0), value=value)
    return Pe(id=name, min_mips=low, max_mips=high, inputs=inputs, offered_tps=offered, outputs=(output,))


def job(name: str, *pes: Pe, rank: int = 1, required: bool = False) -> Job:
    return Job(id=name, rank=rank, required=required, templates=(Template(id="only", pes=pes),))


def problem(mips: float, *jobs: Job) -> Problem:
    return Problem(mips=mips, jobs=jobs)


def mips_of(answer_jobs: object) -> dict[str, float]:
    return {name: round(verdict.mips, 6) for name, verdict in answer_jobs.items()}  # type: ignore[attr-defined]


def test_rank_comes_before_importance() -> None:
    poor = job("poor", pe("P", low=60.0, offered=90.0, worth=1.0), rank=1)
    rich = job("rich", pe("R", low=60.0, offered=90.0, worth=9.0), rank=2)
    answer = solve(problem(100.0, poor, rich))
    assert [name for name, verdict in answer.jobs.items() if verdict.admitted] == ["poor"]
    assert (answer.waterline, round(answer.importance, 6)) == (1, 90.0)


def test_within_a_rank_importance_decides() -> None:
    poor = job("poor", pe("P", low=60.0, offered=90.0, worth=1.0))
    rich = job("rich", pe("R", low=60.0, offered=90.0, worth=9.0))
    answer = solve(problem(100.0, poor, rich))
    assert [name for name, verdict in answer.jobs.items() if verdict.admitted] == ["rich"]


def test_a_required_job_is_in_whatever_it_earns() -> None:
    dull = job("dull", pe("D", low=60.0, offered=90.0), rank=3, required=True)
    rich = job("rich", pe("R", low=60.0, offered=90.0, worth=9.0))
    answer = solve(problem(100.0, dull, rich))
    assert [name for name, verdict in answer.jobs.items() if verdict.admitted] == ["dull"]
    assert answer.jobs["dull"].mips == 60.0


def test_required_jobs_that_do_not_fit_are_named() -> None:
    jobs = [job(name, pe(name.upper(), low=low), required=True) for name, low in (("a", 50.0), ("b", 40.0), ("c", 5.0))]
    with pytest.raises(Infeasible, match="need 95 mips at their minimum, and the cluster has 80") as caught:
        solve(problem(80.0, *jobs))
    assert caught.value.conflicts == ("a", "b")


def test_required_jobs_that_fit_exactly_are_feasible() -> None:
    jobs = [job(name, pe(name.upper(), low=0.1), required=True) for name in "abcdefghij"]
    answer = solve(problem(1.0, *jobs))
    assert all(verdict.admitted for verdict in answer.jobs.values())
    assert answer.mips_used <= 1.0


def test_a_cluster_without_mips_admits_nobody_who_could_use_some() -> None:
    idle = job("idle", pe("I1", high=0.0), rank=1)
    answer = solve(problem(0.0, idle, job("A", pe("A1", offered=5.0, worth=1.0)), job("B", pe("B1", low=1.0), rank=2)))
    assert {name: verdict.admitted for name, verdict in answer.jobs.items()} == {"idle": True, "A": False, "B": False}
    assert answer.importance == 0.0


def test_admission_means_a_positive_amount() -> None:
    humble = job("humble", pe("H", offered=90.0, worth=0.001), rank=1)
    rich = job("rich", pe("R", high=200.0, offered=200.0, worth=9.0), rank=3)
    answer = solve(problem(100.0, humble, rich))
    assert answer.jobs["rich"].admitted
    assert answer.exact
    assert answer.jobs["humble"].mips == pytest.approx(1.0)  # A hundredth of what it may take.
    alone = solve(problem(100.0, job("humble", pe("H", low=0.0, high=0.0)), rich))
    assert alone.jobs["rich"].admitted


def test_required_jobs_without_a_minimum_do_not_make_a_full_cluster_infeasible() -> None:
    full = job("full", pe("F", low=100.0, offered=90.0), required=True)
    answer = solve(problem(100.0, full, job("bare", pe("B", offered=5.0), required=True)))
    assert all(verdict.admitted for verdict in answer.jobs.values())


def test_no_jobs_are_answered_with_nothing() -> None:
    answer = solve(problem(10.0))
    assert (answer.importance, answer.waterline, answer.mips_used, dict(answer.jobs)) == (0.0, 0, 0.0, {})


def test_a_chain_is_balanced() -> None:
    chain = job("A", pe("A1", offered=90.0), pe("A2", "a1", cost=2.0, worth=1.0, high=200.0))
    answer = solve(problem(120.0, chain))
    assert answer.importance == pytest.approx(40.0)
    assert answer.jobs["A"].pes == pytest.approx({"A1": 40.0, "A2": 80.0})


def test_a_job_that_feeds_a_better_rank_comes_in_with_it() -> None:
    feeder = job("feeder", pe("F", low=10.0, offered=30.0), rank=3)
    reader = job("reader", pe("R", "f", low=10.0, worth=5.0), rank=1)
    rival = job("rival", pe("X", low=50.0, offered=50.0, worth=1.0), rank=2)
    answer = solve(problem(60.0, feeder, reader, rival))
    assert {name: verdict.admitted for name, verdict in answer.jobs.items()} == {
        "feeder": True,
        "reader": True,
        "rival": False,
    }
    assert answer.waterline == 1
    assert answer.importance == pytest.approx(150.0)


def templates(running: str | None = None) -> Job:
    lean = Template(id="lean", pes=(pe("L", low=10.0, offered=20.0, worth=1.0),))
    rich = Template(id="rich", pes=(pe("H", low=50.0, high=80.0, offered=80.0, worth=2.0),))
    return Job(id="A", templates=(lean, rich), running=running)


def test_a_new_job_gets_the_template_that_suits_what_there_is() -> None:
    assert solve(problem(30.0, templates())).jobs["A"].template == "lean"
    assert solve(problem(90.0, templates())).jobs["A"].template == "rich"


def test_a_running_job_keeps_its_template() -> None:
    assert solve(problem(90.0, templates(running="lean"))).jobs["A"].template == "lean"


def test_a_job_that_earns_nothing_is_admitted_where_there_is_room() -> None:
    answer = solve(problem(30.0, job("A", pe("A1", low=10.0)), job("B", pe("B1", low=25.0), rank=2)))
    assert {name: verdict.admitted for name, verdict in answer.jobs.items()} == {"A": True, "B": False}


def test_cycles_are_allocated_too() -> None:
    loop = job("A", pe("A1", "a2", offered=10.0, worth=1.0), pe("A2", "a1", high=5.0))
    answer = solve(problem(40.0, loop))
    assert answer.importance == pytest.approx(15.0, rel=0.05)
    assert answer.jobs["A"].mips <= 40.0


@given(st.integers(0, 10**9))
@settings(max_examples=25, deadline=None)
def test_loops_get_the_importance_that_trying_every_allocation_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def member(name: str, *inputs: str, offered: float = 0.0, worth: float | None = None) -> Pe:
        flow = Flow(mips_per_tps=float(rng.choice([0.5, 1.0, 2.0])), selectivity=float(rng.choice([0.4, 0.8])))
        output = Output(stream=name.lower(), rate=flow, value=None if worth is None else Linear(slope=worth))
        return Pe(id=name, max_mips=float(rng.integers(1, 5)), inputs=inputs, offered_tps=offered, outputs=(output,))

    graph = (member("A", offered=3.0), member("B", "a", "c", worth=1.0), member("C", "b"), member("D", "c", worth=4.0))
    grids = np.meshgrid(*(np.arange(p.max_mips + 1) for p in graph), indexing="ij")
    mips = {p.id: grid.ravel() for p, grid in zip(graph, grids, strict=True)}
    earned = sum(compose(graph, mips).importance.values(), np.zeros(1))
    for budget in (3, 6, 9):
        fits = sum(mips.values(), np.zeros(1)) <= budget
        answer = solve(problem(float(budget), job("J", *graph)), granularity=budget)
        assert answer.importance == pytest.approx(float(earned[fits].max()))


def test_many_lists_come_in_by_importance_for_each_mips() -> None:
    jobs = [job(f"J{i}", pe(f"P{i}", *(["p0"] if i else []), offered=9.0, worth=float(i)), rank=1) for i in range(12)]
    lists = job_lists(jobs, 1, 30)
    assert not lists.complete
    assert lists.choices[0] == {}
    by_size = {len(choice): sorted(choice) for choice in lists.choices}
    # The best job, and the one that it reads from.
    assert by_size[2] == ["J0", "J11"]
    assert len(by_size[12]) == 12


def test_a_large_group_of_connected_jobs_still_gets_a_sound_answer() -> None:
    feeds = [()] + [("p0",)] * 39
    jobs = [
        job(f"J{i}", pe(f"P{i}", *feeds[i], low=2.0, offered=3.0, worth=1.0 + i % 3), rank=1 + i % 2) for i in range(40)
    ]
    answer = solve(problem(60.0, *jobs), deadline=Deadline.after(20.0))
    assert answer.mips_used <= 60.0
    assert answer.importance == pytest.approx(159.0)
    assert answer.exact


@given(st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_corners_are_never_below_the_dynamic_program_and_meet_it_where_the_grid_is_fine(seed: int) -> None:
    pes = [p for j in random_problem(seed).jobs for p in j.choices[0].pes]
    for part in weak_components(pes).weak:
        component = prepare(part)
        if not is_concave_component(component) or len(part) > 4:
            continue
        grid = Grid(step_mips=0.5, units=60)
        by_labels = plan_component(component, grid, WITHOUT_END, Deadline.after(None))
        by_corners = concave_plan(component, find_corners(component, 100), grid)
        size = min(len(by_labels.curve), len(by_corners.curve))
        assert (by_corners.curve[:size] >= by_labels.curve[:size] - 1e-6).all()
        assert by_corners.curve[-1] == pytest.approx(by_labels.curve[-1], rel=1e-6, abs=1e-6)


@given(st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_plans_earn_what_they_say_and_cost_no_more(seed: int) -> None:
    pes = [p for j in random_problem(seed).jobs for p in j.choices[0].pes]
    grid = Grid(step_mips=1.0, units=20)
    for part in weak_components(pes).weak:
        component = prepare(part)
        plans = [
            plan_component(component, grid, WITHOUT_END, Deadline.after(None)),
            plan_component(component, grid, 4, Deadline.after(None)),
            rough_plan(component, grid, balanced_allocations(component, 8)),
        ]
        for plan in plans:
            for units in range(len(plan.curve)):
                mips = plan.allocation(units)
                assert sum(mips.values()) <= plan.min_mips + units * grid.step_mips + 1e-9
                earned = sum(float(np.max(e)) for e in compose(part, mips).importance.values())
                assert earned == pytest.approx(float(plan.curve[units]))
            assert (plan.curve <= plans[0].curve[-1] + 1e-9).all()


def test_the_measure_of_a_problem_is_found_in_any_unit() -> None:
    assert common_measure([0.0]) is None
    assert common_measure([1 / 3, 1.0]) is None
    assert common_measure([7.86e-9, 6.96e-9]) == 6e-11
    assert common_measure([78600.0, 69600.0, 33600.0]) == 600.0
    assert common_measure([0.001, 5.0]) == 0.001


def test_a_table_that_pays_late_is_no_concave_component() -> None:
    late = Table(points=((0.0, 0.0), (10.0, 1.0), (20.0, 9.0)))
    output = Output(stream="s", rate=Flow(mips_per_tps=1.0, selectivity=1.0), value=late)
    assert not is_concave_component(prepare([Pe(id="P", max_mips=30.0, offered_tps=20.0, outputs=(output,))]))


def test_progress_tells_the_rounds_and_what_the_best_answer_earns() -> None:
    lines: list[str] = []
    answer = solve(synthetic_problem(4, 3, seed=2), progress=lines.append)
    assert lines[0].startswith("importance ")
    assert "round 1: " in lines[0]
    assert "the whole problem as one integer program" in lines[-1]
    assert answer.exact


def test_a_deadline_of_no_time_still_gives_a_feasible_answer() -> None:
    large = synthetic_problem(60, 10, seed=2)
    answer = solve(large, deadline=Deadline.after(0.0))
    assert answer.mips_used <= large.mips
    assert all(answer.jobs[j.id].admitted for j in large.jobs if j.required)
    assert not answer.exact


def test_connected_jobs_with_loops_share_what_there_is_before_any_search() -> None:
    jobs = []
    for i in range(60):
        back = Output(stream=f"b{i}", rate=Flow(mips_per_tps=1.0, selectivity=0.5))
        out = Output(stream=f"o{i}", rate=Flow(mips_per_tps=1.0, selectivity=1.0), value=Linear(slope=1.0))
        reads = (f"b{i}", f"o{i - 1}") if i else (f"b{i}",)
        loop = Pe(id=f"P{i}", max_mips=50.0, inputs=reads, offered_tps=0.0 if i else 10.0, outputs=(back, out))
        jobs.append(job(f"J{i}", loop))
    answer = solve(problem(600.0, *jobs), deadline=Deadline.after(0.0))
    assert answer.mips_used <= 600.0
    assert answer.importance > 100.0


def test_loops_that_fill_slowly_are_left_when_time_is_up() -> None:
    table = Table(points=((0.0, 0.0), (1000.0, 1e5)))
    rates = (Limits(allowed=table, offered=((PRIMAL, 1.0), ("s", 0.9999))), Flow(mips_per_tps=1.0, selectivity=1.0))
    for rate in rates:
        loop = Pe(id="P", max_mips=9.0, inputs=("s",), offered_tps=2.0, outputs=(Output(stream="s", rate=rate),))
        given = {"P": np.full(9, 900.0)}, {"P": 2.0}
        with pytest.raises(OutOfTime):
            propagate([loop], *given, {"s": np.zeros(9)}, Deadline.after(0.0))
        assert propagate([loop], *given, {"s": np.zeros(9)}, Deadline.after(60.0))["P"].min() > 2.0


@pytest.mark.parametrize("gain", [0.5, 1.0])
def test_many_connected_jobs_with_loops_earn_most_of_what_they_could(gain: float) -> None:
    many = connected_jobs(100, gain=gain)
    answer = solve(many, deadline=Deadline.after(3.0))
    assert answer.mips_used <= many.mips * (1 + 1e-12)
    assert answer.importance >= 0.6 * answer.bound


def test_many_connected_jobs_with_thresholds_earn_most_of_what_they_could() -> None:
    many = connected_jobs(150, least_mips=2.0)
    answer = solve(many, deadline=Deadline.after(3.0))
    assert answer.mips_used <= many.mips * (1 + 1e-12)
    assert answer.importance >= 0.8 * answer.bound


@pytest.mark.parametrize(
    "shape", ["14 connected jobs", "14 connected jobs with minima", "8 connected jobs, two templates"]
)
def test_a_dozen_connected_jobs_get_an_answer_that_is_proven(shape: str) -> None:
    answer = solve(SHAPES[shape](), deadline=Deadline.after(20.0))
    assert answer.exact
    assert answer.importance == pytest.approx(answer.bound, rel=1e-6)


def test_a_job_of_ten_thousand_pes_is_answered_in_time() -> None:
    # By the time of this thread, so that it does not matter who else is at work.
    deadline = Deadline.after(3.0, clock=time.thread_time)
    hurried = solve(SHAPES["one job of 10,000 PEs"](), deadline=deadline)
    assert deadline.elapsed() < 4.0
    answer = hurried if hurried.exact else solve(SHAPES["one job of 10,000 PEs"](), deadline=Deadline.after(60.0))
    assert hurried.importance >= 0.99 * answer.bound


def test_a_loop_that_would_run_on_by_itself_is_started_first() -> None:
    """Of a loop of gain 1 the program sees no more than that it could run; the feeder earns nothing by itself."""
    feeder = pe("A1", offered=10.0, cost=5.0)
    loop = pe("B1", "a1", "b2", worth=3.0), pe("B2", "b1")
    answer = solve(problem(60.0, job("A", feeder), job("B", *loop)), deadline=Deadline.after(3.0))
    assert answer.importance == pytest.approx(3.0 * 30.0, rel=0.01)
    assert answer.importance <= answer.bound
