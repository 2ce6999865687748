"""Resource functions composed along graphs, with and without cycles; components; ranks."""

from __future__ import annotations

import numpy as np
import pytest
from admission_instances import importance, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.scheduler.problem import cycles
from penstock.scheduler.problem.admission_problem import Flow, Job, Linear, Output, Pe, Table, Template
from penstock.scheduler.problem.components import job_groups, weak_components
from penstock.scheduler.problem.composition import compose, ready_order
from penstock.scheduler.problem.cycles import cycle_rates
from penstock.scheduler.problem.ranks import is_rank_legal, revised_ranks, waterline
from penstock.scheduler.problem.resource_functions import importance_of, rate_of, useful_mips


def pe(name: str, *inputs: str, offered: float = 0.0, selectivity: float = 1.0, worth: float | None = None) -> Pe:
    """A PE with one stream named like it, in lower case."""
    flow = Flow(mips_per_tps=1.0, selectivity=selectivity)
    value = None if worth is None else Linear(slope=worth)
    output = Output(stream=name.lower(), rate=flow, value=value)
    return Pe(id=name, max_mips=100.0, inputs=inputs, offered_tps=offered, outputs=(output,))


def job(name: str, *pes: Pe, rank: int = 1, required: bool = False) -> Job:
    return Job(id=name, rank=rank, required=required, templates=(Template(id="only", pes=pes),))


@given(st.integers(0, 10**9), st.integers(0, 10**9))
@settings(max_examples=60, deadline=None)
def test_composition_is_what_rounds_over_the_graph_end_at(seed: int, mips_seed: int) -> None:
    problem = random_problem(seed)
    pes = [p for j in problem.jobs for p in j.choices[0].pes]
    rng = np.random.default_rng(mips_seed)
    mips = {p.id: rng.uniform(p.min_mips, p.max_mips, 5) for p in pes}
    composed = sum(compose(pes, mips).importance.values(), np.zeros(5))
    assert composed == pytest.approx(np.broadcast_to(importance(pes, mips), 5))


@given(st.integers(0, 10**9))
@settings(max_examples=30, deadline=None)
def test_plain_numbers_compose_as_arrays_do(seed: int) -> None:
    pes = [p for j in random_problem(seed).jobs for p in j.choices[0].pes]
    plain = compose(pes, {p.id: p.max_mips for p in pes})
    arrays = compose(pes, {p.id: np.array([p.max_mips]) for p in pes})
    for p in pes:
        assert plain.importance[p.id] == pytest.approx(float(np.max(arrays.importance[p.id])))


def test_a_table_is_flat_outside_its_points() -> None:
    table = Table(points=((10.0, 1.0), (20.0, 3.0)))
    assert rate_of(table, 0.0, np.array([0.0, 10.0, 15.0, 20.0, 99.0])).tolist() == [1.0, 1.0, 2.0, 3.0, 3.0]
    assert [rate_of(table, 0.0, x) for x in (0.0, 10.0, 15.0, 20.0, 99.0)] == [1.0, 1.0, 2.0, 3.0, 3.0]


def test_a_stream_without_a_value_earns_nothing() -> None:
    assert importance_of(Output(stream="s", rate=Flow(mips_per_tps=1.0, selectivity=1.0)), 9.0) == 0.0


def test_offered_tuples_add_to_the_inputs() -> None:
    graph = [pe("A", offered=10.0), pe("B", "a", offered=5.0)]
    assert compose(graph, {"A": 100.0, "B": 100.0}).loads_tps["B"] == 15.0


def test_a_stream_of_a_job_that_is_out_carries_nothing() -> None:
    assert compose([pe("B", "a", worth=1.0)], {"B": 100.0}).importance["B"] == 0.0


def test_a_cycle_settles_at_its_fixed_point() -> None:
    graph = [pe("A", "b", offered=10.0), pe("B", "a", selectivity=0.5), pe("C", "a", worth=2.0)]
    result = compose(graph, dict.fromkeys("ABC", 100.0))
    assert result.rates_tps["a"] == pytest.approx(20.0)
    assert result.importance["C"] == pytest.approx(40.0)


def test_a_cycle_that_gains_is_held_by_its_mips() -> None:
    graph = [pe("A", "b", offered=1.0), pe("B", "a", selectivity=3.0, worth=1.0)]
    result = compose(graph, {"A": 40.0, "B": 100.0})
    assert result.rates_tps["a"] == pytest.approx(40.0)
    assert result.rates_tps["b"] == pytest.approx(120.0)


def test_a_small_stream_does_not_drown_in_the_large_ones_of_its_cycle() -> None:
    def member(i: int, cost: float, selectivity: float) -> Pe:
        out = Output(stream=f"s{i}", rate=Flow(mips_per_tps=cost, selectivity=selectivity))
        return Pe(id=f"p{i}", max_mips=1e12, inputs=(f"s{(i - 1) % 3}",), outputs=(out,))

    loop = [member(0, 0.1, 0.5), member(1, 3e-6, 3.0), member(2, 7e-7, 0.5)]
    mips = {"p0": 0.0, "p1": 1.0, "p2": 1e12}
    rates = cycle_rates(loop, mips, {"p0": 1e6, "p1": 1e-9, "p2": 1e6})
    assert [float(rates[stream]) for stream in ("s0", "s1", "s2")] == pytest.approx([0.0, 3e-9, 5e5], rel=1e-9, abs=0.0)


def test_a_cycle_that_nothing_feeds_stays_empty() -> None:
    result = compose([pe("A", "b"), pe("B", "a", selectivity=9.0)], {"A": 50.0, "B": 50.0})
    assert result.rates_tps == {"a": 0.0, "b": 0.0}


def test_cycles_one_after_the_other_come_in_order() -> None:
    graph = [pe("D", "c"), pe("C", "d", "b"), pe("B", "a"), pe("A", "b", offered=1.0)]
    assert [[p.id for p in batch] for batch in ready_order(graph)] == [["B", "A"], ["D", "C"]]


def test_useful_mips_end_where_no_stream_grows() -> None:
    table = Table(points=((0.0, 0.0), (30.0, 5.0), (60.0, 5.0)))
    two = Pe(id="P", max_mips=90.0, outputs=(Output(stream="s", rate=table),))
    assert useful_mips(two, 7.0) == 30.0
    assert useful_mips(pe("A"), 7.0) == 7.0
    assert useful_mips(pe("A"), 700.0) == 100.0


def test_pes_that_no_importance_depends_on_are_set_aside() -> None:
    graph = [pe("A", offered=1.0), pe("B", "a", worth=1.0), pe("C", "a"), pe("D", "c")]
    cut = weak_components(graph)
    assert [[p.id for p in part] for part in cut.weak] == [["A", "B"]]
    assert [p.id for p in cut.idle] == ["C", "D"]


def test_setting_pes_aside_loosens_what_they_held_together() -> None:
    graph = [pe("A", worth=1.0), pe("B", worth=1.0), pe("C", "a", "b")]
    assert [[p.id for p in part] for part in weak_components(graph).weak] == [["A"], ["B"]]


def test_nothing_upstream_of_a_table_matters_to_it() -> None:
    output = Output(stream="t", rate=Table(points=((0.0, 0.0), (9.0, 9.0))), value=Linear(slope=1.0))
    graph = [pe("A", offered=1.0), Pe(id="T", max_mips=9.0, inputs=("a",), outputs=(output,))]
    cut = weak_components(graph)
    assert [[p.id for p in part] for part in cut.weak] == [["T"]]
    assert [p.id for p in cut.idle] == ["A"]


def test_a_weight_of_zero_switches_a_branch_off() -> None:
    silent = Output(stream="s", rate=Flow(mips_per_tps=1.0, selectivity=1.0), value=Linear(slope=1.0), weight=0.0)
    assert weak_components([Pe(id="P", max_mips=1.0, outputs=(silent,))]).weak == ()


def test_jobs_that_share_a_stream_are_one_group() -> None:
    jobs = [job("A", pe("Ap")), job("B", pe("Bp")), job("C", pe("Cp", "ap"))]
    assert [[j.id for j in group] for group in job_groups(jobs)] == [["A", "C"], ["B"]]


def test_a_rank_is_revised_through_jobs_in_between() -> None:
    jobs = [job("A", pe("Ap"), rank=3), job("B", pe("Bp", "ap"), rank=2), job("C", pe("Cp", "bp"), rank=1)]
    everyone = {j.id: j.templates[0] for j in jobs}
    assert revised_ranks(jobs, everyone) == {"A": 1, "B": 1, "C": 1}
    without_b = {name: template for name, template in everyone.items() if name != "B"}
    assert revised_ranks(jobs, without_b) == {"A": 3, "B": 2, "C": 1}


def test_dependence_goes_through_pes_not_through_whole_jobs() -> None:
    # B's second PE feeds C, but nothing leads from A to that PE.
    jobs = [job("A", pe("Ap"), rank=3), job("B", pe("B1", "ap"), pe("B2"), rank=2), job("C", pe("Cp", "b2"), rank=1)]
    assert revised_ranks(jobs, {j.id: j.templates[0] for j in jobs}) == {"A": 2, "B": 1, "C": 1}


def test_the_rank_of_a_required_job_counts_as_one() -> None:
    jobs = [job("A", pe("Ap"), rank=3, required=True), job("B", pe("Bp"), rank=2)]
    assert is_rank_legal(jobs, {"A": jobs[0].templates[0]})


def test_leaving_out_a_better_rank_is_not_legal() -> None:
    jobs = [job("A", pe("Ap"), rank=1), job("B", pe("Bp"), rank=2)]
    assert not is_rank_legal(jobs, {"B": jobs[1].templates[0]})
    assert is_rank_legal(jobs, {"A": jobs[0].templates[0]})
    assert is_rank_legal(jobs, {})


def test_who_feeds_a_good_rank_may_come_before_a_better_one_that_is_out() -> None:
    jobs = [job("A", pe("Ap"), rank=3), job("B", pe("Bp", "ap"), rank=1), job("C", pe("Cp"), rank=2)]
    choice = {"A": jobs[0].templates[0], "B": jobs[1].templates[0]}
    assert is_rank_legal(jobs, choice)
    assert waterline(jobs, choice) == 1
    assert waterline(jobs, {}) == 0


def test_many_cycles_in_a_row_are_looked_for_once() -> None:
    chain = [p for i in range(400) for p in (pe(f"A{i}", f"b{i}", f"a{i - 1}"), pe(f"B{i}", f"a{i}"))]
    order = ready_order(chain)
    assert [[p.id for p in batch] for batch in order] == [[f"A{i}", f"B{i}"] for i in range(400)]


@pytest.mark.parametrize("seed", range(20))
def test_a_large_loop_carries_what_a_small_one_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    streams = [f"p{i}" for i in range(12)]
    batch = [
        pe(
            f"P{i}",
            streams[i - 1],
            *set(rng.choice(streams, int(rng.integers(0, 2))).tolist()) - {streams[i - 1]},
            offered=float(rng.integers(0, 2)),
            selectivity=float(rng.choice([0.0, 0.3, 1.0, 1.5])),
        )
        for i in range(12)
    ]
    mips, outside = {p.id: rng.uniform(0.0, 50.0, 5) for p in batch}, {p.id: p.offered_tps for p in batch}
    small = cycle_rates(batch, mips, outside)
    monkeypatch.setattr(cycles, "LARGE", 1)
    large = cycle_rates(batch, mips, outside)
    assert all(large[stream] == pytest.approx(small[stream]) for stream in streams)
