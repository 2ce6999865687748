"""Plain reasons why nothing fits, seen however many other operators there are."""

from __future__ import annotations

import time

import pytest

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.fusion import Settings, fuse, fusion_problem
from penstock.fusion.problem.conflicts import CAPACITIES
from penstock.ir.constraints import Constraint, ConstraintKind

_OTHERS = 43


def _among_others(costs, streams, *constraints, others=_OTHERS, hosts=20, more=None):
    """A few operators that matter, and a chain of light ones, on hosts of 100."""
    first = len(costs)
    chain = [(first + i, first + i + 1, 2.0) for i in range(others - 1)]
    return fusion_problem(
        [*costs, *[3.0] * others], [*streams, *chain], [100.0] * hosts, constraints=constraints, **(more or {})
    )


def _of(kind: str, *operators: str, **more) -> Constraint:
    return Constraint(kind=ConstraintKind(kind), operators=operators, **more)


def _conflicts(problem, algorithm="cola", **settings) -> tuple[str, ...]:
    with pytest.raises(Infeasible) as refused:
        fuse(problem, algorithm, Settings(**settings), deadline_seconds=20)
    return refused.value.conflicts


@pytest.mark.parametrize("algorithm", ["none", "all", "greedy", "cola", "advanced-cola", "exact", "throughput"])
def test_two_colocated_operators_that_no_host_can_carry_are_refused(algorithm: str) -> None:
    together = _of("pe_colocation", "o0", "o1")
    problem = _among_others([60, 60], [(0, 1, 5)], together)
    assert _conflicts(problem, algorithm) == (CAPACITIES, "pe_colocation of `o0`, `o1`")


CASES = {
    "on one host": ([60, 60], [], [_of("host_colocation", "o0", "o1")], 1),
    "on hosts that are too small together": (
        [60, 60, 60],
        [],
        [_of("resource_match", "o0", "o1", hosts=("h0",)), _of("resource_match", "o2", hosts=("h0", "h1"))],
        1,
    ),
    "a stream that is surely cut": ([45, 45], [(0, 1, 60)], [_of("pe_exlocation", "o0", "o1")], 1),
    "a stream that is cut by hosts": ([45, 45], [(0, 1, 60)], [_of("host_exlocation", "o0", "o1")], 1),
    "dedicated hosts": ([1, 1, 1, 1], [], [_of("host_dedication", "o0", "o1", "o2", "o3")], 1),
    "three together by two demands": (
        [40, 40, 40],
        [],
        [_of("host_colocation", "o0", "o1"), _of("host_colocation", "o1", "o2"), _of("pe_exlocation", "o0", "o2")],
        2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_plainly_too_large_is_refused_with_a_minimal_conflict(case: str) -> None:
    costs, streams, constraints, count = CASES[case]
    hosts = 5 if case == "dedicated hosts" else 20
    conflicts = _conflicts(_among_others(costs, streams, *constraints, hosts=hosts))
    assert conflicts[0] == CAPACITIES
    assert len(conflicts) == 1 + count


def test_operators_that_neither_fit_together_nor_apart_are_refused_without_any_constraint() -> None:
    with pytest.raises(Infeasible, match="the PE of `o0` needs at least 110 mips, more than the 100") as refused:
        fuse(_among_others([60, 60], [(0, 1, 50)]), "cola")
    assert refused.value.conflicts == (CAPACITIES,)


def test_a_large_problem_with_many_constraints_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # By the time of this thread, so that it does not matter who else is at work.
    monkeypatch.setitem(Deadline.after.__kwdefaults__, "clock", time.thread_time)
    others = [_of("pe_exlocation", f"o{i}", f"o{i + 1}") for i in range(2, 1200, 3)]
    problem = _among_others([60, 60], [], *others, _of("pe_colocation", "o0", "o1"), others=10_000, hosts=500)
    began = time.thread_time()
    assert _conflicts(problem) == (CAPACITIES, "pe_colocation of `o0`, `o1`")
    assert time.thread_time() - began < 21


def test_what_just_fits_is_not_refused() -> None:
    together = _of("pe_colocation", "o0", "o1")
    assert fuse(_among_others([50, 50], [(0, 1, 5)], together), "cola").feasible
    apart = _of("pe_exlocation", "o0", "o1")
    assert fuse(_among_others([70, 70], [(0, 1, 30)], apart), "cola").feasible


def test_a_constraint_that_only_makes_it_plain_is_not_part_of_the_conflict() -> None:
    apart = Constraint(kind=ConstraintKind.PE_EXLOCATION, operators=("o0", "o1"))
    problem = fusion_problem([3, 3, 3], [(0, 1, 1)], [5, 5], constraints=[apart])
    with pytest.raises(Infeasible) as refused:
        fuse(problem, "cola")
    assert refused.value.conflicts == (CAPACITIES,)
    assert "at least" not in refused.value.reason
