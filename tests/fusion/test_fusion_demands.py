"""Constraints one by one, on problems where the answer can be told by hand."""

from __future__ import annotations

import pytest

from penstock.base.diagnostics import Infeasible
from penstock.fusion import ALGORITHMS, Settings, fuse, fusion_problem
from penstock.fusion.problem.conflicts import CAPACITIES
from penstock.ir.constraints import Constraint, ConstraintKind

CHAIN = [(0, 1, 9), (1, 2, 1), (2, 3, 9)]
RESPECTFUL = tuple(algorithm for algorithm in ALGORITHMS if algorithm != "manual")


def constraint(kind: str, *operators: str, **more) -> Constraint:
    return Constraint(kind=ConstraintKind(kind), operators=operators, **more)


def chain(*constraints: Constraint, hosts=(100.0, 100.0), **more):
    return fusion_problem([4, 4, 4, 4], CHAIN, hosts, constraints=constraints, **more)


def pes(fusion):
    return fusion.assignment.members()


def host_of(fusion, operator):
    return int(fusion.assignment.host_of[fusion.assignment.pe_of[operator]])


@pytest.mark.parametrize("algorithm", RESPECTFUL)
def test_pe_colocated_operators_share_a_pe(algorithm):
    fusion = fuse(chain(constraint("pe_colocation", "o0", "o3")), algorithm)
    assert fusion.assignment.pe_of[0] == fusion.assignment.pe_of[3]


@pytest.mark.parametrize("algorithm", RESPECTFUL)
def test_an_acyclic_plan_takes_in_what_lies_between_colocated_operators(algorithm):
    fusion = fuse(chain(constraint("pe_colocation", "o0", "o3")), algorithm, Settings(acyclic=True))
    assert pes(fusion) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("algorithm", RESPECTFUL)
def test_exlocated_operators_are_in_different_pes_or_hosts(algorithm):
    fusion = fuse(chain(constraint("pe_exlocation", "o0", "o1")), algorithm)
    assert fusion.assignment.pe_of[0] != fusion.assignment.pe_of[1]
    fusion = fuse(chain(constraint("host_exlocation", "o0", "o1")), algorithm)
    assert host_of(fusion, 0) != host_of(fusion, 1)


@pytest.mark.parametrize("algorithm", RESPECTFUL)
def test_matched_operators_run_where_they_may(algorithm):
    problem = chain(constraint("resource_match", "o2", hosts=("gpu",)), tags=[(), ("gpu",)])
    assert host_of(fuse(problem, algorithm), 2) == 1


@pytest.mark.parametrize("algorithm", RESPECTFUL)
def test_host_colocated_operators_share_a_host(algorithm):
    wanted = (constraint("host_colocation", "o0", "o3"), constraint("pe_exlocation", "o0", "o3"))
    fusion = fuse(chain(*wanted), algorithm)
    assert host_of(fusion, 0) == host_of(fusion, 3)


@pytest.mark.parametrize("algorithm", RESPECTFUL)
def test_dedicated_operators_are_alone(algorithm):
    fusion = fuse(chain(constraint("pe_dedication", "o1")), algorithm)
    assert [1] in pes(fusion)
    fusion = fuse(chain(constraint("host_dedication", "o1")), algorithm)
    assert [operator for operator in range(4) if host_of(fusion, operator) == host_of(fusion, 1)] == [1]


def _replicated(isomorphic: bool):
    """A source, two replicas of a chain of three with unlike costs, a sink."""
    costs = [1, 5, 5, 5, 5, 5, 30, 1]
    streams = [(0, 1, 2), (1, 2, 2), (2, 3, 9), (3, 7, 2), (0, 4, 2), (4, 5, 9), (5, 6, 2), (6, 7, 2)]
    replicas = (("o1", "o2", "o3"), ("o4", "o5", "o6"))
    wanted = Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=replicas, isomorphic=isomorphic)
    return fusion_problem(costs, streams, [45, 45, 45], constraints=[wanted])


@pytest.mark.parametrize("algorithm", RESPECTFUL)
@pytest.mark.parametrize("acyclic", [False, True])
def test_replicas_are_kept_apart_and_fused_alike(algorithm, acyclic):
    fusion = fuse(_replicated(True), algorithm, Settings(acyclic=acyclic))
    pe_of = fusion.assignment.pe_of
    assert (pe_of[1] == pe_of[2]) == (pe_of[4] == pe_of[5])
    assert (pe_of[2] == pe_of[3]) == (pe_of[5] == pe_of[6])
    assert {host_of(fusion, o) for o in (1, 2, 3)}.isdisjoint({host_of(fusion, o) for o in (4, 5, 6)})


def test_replicas_that_need_not_be_alike_may_do_better():
    alike, free = (fuse(_replicated(isomorphic), "exact") for isomorphic in (True, False))
    assert free.optimal
    assert alike.optimal
    assert free.throughput_scale >= alike.throughput_scale


def test_a_source_and_a_sink_around_replicas_are_split_in_an_acyclic_plan():
    fusion = fuse(_replicated(True), "all", Settings(acyclic=True))
    assert fusion.assignment.pe_of[0] != fusion.assignment.pe_of[7]
    assert fuse(_replicated(True), "all").assignment.pe_of[0] == fuse(_replicated(True), "all").assignment.pe_of[7]


def test_a_pe_never_spans_two_regions():
    fusion = fuse(chain(regions=["r", "r", None, None]), "all")
    assert pes(fusion) == [[0, 1], [2, 3]]


def test_operators_on_a_cycle_share_a_pe_in_an_acyclic_plan():
    problem = fusion_problem([4, 4, 4], [(0, 1, 1), (1, 2, 1), (2, 1, 1)], [50, 50])
    assert pes(fuse(problem, "none", Settings(acyclic=True))) == [[0], [1, 2]]
    assert pes(fuse(problem, "none")) == [[0], [1], [2]]


def test_a_feedback_stream_closes_no_cycle():
    problem = fusion_problem([4, 4], [(0, 1, 1), (1, 0, 1)], [50], feedback=[False, True])
    assert pes(fuse(problem, "none", Settings(acyclic=True))) == [[0], [1]]


def test_a_cycle_with_exlocated_operators_is_refused():
    problem = fusion_problem(
        [4, 4], [(0, 1, 1), (1, 0, 1)], [50], constraints=[constraint("pe_exlocation", "o0", "o1")]
    )
    with pytest.raises(Infeasible) as refused:
        fuse(problem, "cola", Settings(acyclic=True))
    assert set(refused.value.conflicts) == {"pe_exlocation of `o0`, `o1`", "the demand for an acyclic plan"}


def test_only_the_constraints_in_conflict_are_named():
    together, apart = constraint("pe_colocation", "o0", "o1"), constraint("host_exlocation", "o0", "o1")
    others = [constraint("pe_exlocation", "o2", "o3"), constraint("resource_match", "o3", hosts=("h0",))]
    with pytest.raises(Infeasible) as refused:
        fuse(chain(*others, together, apart), "advanced-cola")
    assert refused.value.conflicts == ("pe_colocation of `o0`, `o1`", "host_exlocation of `o0`, `o1`")


def test_too_few_hosts_for_exlocated_operators_are_noticed_at_once():
    apart = constraint("host_exlocation", "o0", "o1", "o2")
    with pytest.raises(Infeasible) as refused:
        fuse(chain(apart), "cola")
    assert refused.value.conflicts == ("host_exlocation of `o0`, `o1`, `o2`",)


def test_operators_larger_than_any_host_are_all_named():
    problem = fusion_problem([4, 40, 4, 50], [], [20, 30])
    with pytest.raises(Infeasible) as refused:
        fuse(problem, "cola")
    for part in ("`o1` costs 40", "`o3` costs 50", "the 30 of the largest host `h1`"):
        assert part in refused.value.reason


def test_capacities_are_named_together_with_what_makes_them_too_small():
    together = constraint("host_colocation", "o0", "o1")
    problem = fusion_problem([6, 6], [], [10, 10], constraints=[together])
    with pytest.raises(Infeasible) as refused:
        fuse(problem, "cola")
    assert refused.value.conflicts == (CAPACITIES, "host_colocation of `o0`, `o1`")


def test_manual_makes_the_pes_of_the_pragmas():
    problem = chain(pragmas=["front", "front", None, None])
    assert pes(fuse(problem, "manual")) == [[0, 1], [2], [3]]
    assert pes(fuse(problem, "none")) == [[0], [1], [2], [3]]


def test_a_pragma_that_contradicts_a_constraint_is_refused():
    problem = chain(constraint("pe_exlocation", "o0", "o1"), pragmas=["front", "front", "back", "back"])
    with pytest.raises(Infeasible, match="PE pragmas `front` contradict"):
        fuse(problem, "manual")


def test_greedy_stops_at_saturation_and_leaves_utilized_pes_alone():
    light = fusion_problem([4, 4, 4, 4], [(0, 1, 5), (1, 2, 4), (2, 3, 5)], [100])
    assert pes(fuse(light, "greedy")) == [[0, 1, 2, 3]]
    assert pes(fuse(light, "greedy", Settings(max_frac=0.13))) == [[0, 1], [2, 3]]
    heavy = fusion_problem([40, 40], [(0, 1, 1)], [100])
    assert pes(fuse(heavy, "greedy", Settings(max_frac=1.0))) == [[0], [1]]


def test_threshold_0_skips_the_fourth_phase():
    problem = fusion_problem([8, 4, 4, 4], [(0, 1, 1), (1, 2, 3), (2, 3, 1)], [19, 19, 19])
    thrifty, generous = (fuse(problem, "advanced-cola", Settings(threshold=t, balance_weight=1.0)) for t in (0.0, 5.0))
    assert thrifty.cut < generous.cut
    assert thrifty.max_utilization > generous.max_utilization


def test_advanced_cola_looks_at_cores_within_a_host():
    problem = fusion_problem([30, 30, 30, 1], [(0, 1, 1), (1, 2, 1), (2, 3, 1)], [80, 80], cores=[4, 4])
    basic, advanced = (fuse(problem, a, Settings(threshold=9.0)) for a in ("cola", "advanced-cola"))
    assert advanced.throughput_scale > basic.throughput_scale


def test_fewer_hosts_are_chosen_where_more_bring_nothing():
    problem = fusion_problem([4, 2, 3], [(0, 1, 3), (1, 2, 5)], [20, 20, 20])
    spread = fuse(problem, "none")
    few = fuse(problem, "all", Settings(fewer_hosts=True))
    assert len(set(few.assignment.host_of.tolist())) == 1
    assert few.throughput_scale >= spread.throughput_scale
