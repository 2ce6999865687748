"""Operators to PEs: who is fused with whom, and which host runs what.

The way in is `fuse(problem, algorithm)`; `json_format` reads problems.

Example:
    >>> problem = fusion_problem([4, 4, 4, 4], [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [12, 12])
    >>> fuse(problem, "cola").assignment.members()
    [[0, 1], [2, 3]]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.fusion.algorithms.exact import fuse_exactly
from penstock.fusion.algorithms.fewer_hosts import on_fewer_hosts
from penstock.fusion.algorithms.full import fuse_all
from penstock.fusion.algorithms.greedy_fuse import fuse_greedily
from penstock.fusion.algorithms.manual import fuse_manually
from penstock.fusion.algorithms.place_pes import NoHosts
from penstock.fusion.algorithms.throughput import fuse_for_throughput
from penstock.fusion.algorithms.unfused import leave_unfused
from penstock.fusion.cola.advanced_cola import fuse_by_advanced_cola
from penstock.fusion.cola.basic_cola import fuse_by_cola
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.conflicts import CanFit, refuse_overload, refuse_plain_overload, valid_graph
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.fusion_problem import Assignment, Fusion, FusionProblem, Objective, fusion_problem
from penstock.fusion.problem.objective import OBJECTIVES, Goal
from penstock.fusion.problem.settings import Settings
from penstock.fusion.problem.validity import violations
from penstock.fusion.search.complete import fits

__all__ = [
    "ALGORITHMS",
    "MADE_FOR",
    "OBJECTIVES",
    "Algorithm",
    "Fusion",
    "FusionProblem",
    "Objective",
    "Settings",
    "fuse",
    "fusion_problem",
]

Algorithm = Literal["none", "all", "manual", "greedy", "cola", "advanced-cola", "exact", "throughput"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

_RUN: dict[Algorithm, Callable[[SuperGraph, Settings, Deadline], Assignment]] = {
    "none": leave_unfused,
    "all": fuse_all,
    "manual": fuse_manually,
    "greedy": fuse_greedily,
    "cola": fuse_by_cola,
    "advanced-cola": fuse_by_advanced_cola,
    "exact": fuse_exactly,
    "throughput": fuse_for_throughput,
}
MADE_FOR: dict[Algorithm, Objective] = {"greedy": "cut", "cola": "cut", "advanced-cola": "balance"}
"""The objective that each algorithm is made for; `throughput` for those not named. `exact` minimizes any of them."""

_PROOF_SECONDS, _LEAST_PROOF_SECONDS = 4.0, 0.5
_MOST_KEPT_BACK = 0.4


def fuse(
    problem: FusionProblem,
    algorithm: Algorithm,
    settings: Settings | None = None,
    *,
    deadline_seconds: float | None = None,
) -> Fusion:
    """Fuse operators into PEs, assign them to hosts, and measure the result.

    Args:
        problem: What to fuse.
        algorithm: How.
        settings: What can be set about it.
        deadline_seconds: When to return the best found so far.

    Raises:
        Infeasible: No fusion keeps the constraints, or it is proven that none fits on the hosts. An algorithm that does
            not look at capacities may also return a fusion that is not feasible although others are.

    Example:
        >>> problem = fusion_problem([4, 2], [(0, 1, 3)], [10, 10])
        >>> fuse(problem, "none").throughput_scale, fuse(problem, "all").throughput_scale
        (1.4285714285714286, 1.6666666666666667)
    """
    settings = settings or Settings()
    settings = replace(settings, objective=settings.objective or MADE_FOR.get(algorithm, "throughput"))
    deadline = Deadline.after(deadline_seconds)
    if not settings.fewer_hosts:
        return _fuse_once(problem, algorithm, settings, deadline)
    began = time.perf_counter()
    first = _fuse_once(problem, algorithm, settings, deadline.sooner(deadline.left() / 2))

    def solve(fewer: FusionProblem) -> Fusion:
        return _fuse_once(fewer, algorithm, settings, deadline.sooner(deadline.left() / 2))

    return replace(on_fewer_hosts(problem, first, solve), seconds=time.perf_counter() - began)


def _fuse_once(problem: FusionProblem, algorithm: Algorithm, settings: Settings, deadline: Deadline) -> Fusion:
    began, before = time.perf_counter(), deadline.clock()
    graph = valid_graph(problem, acyclic=settings.acyclic, deadline=deadline)
    refuse_plain_overload(graph, _means_of_proof(deadline)[0], deadline)
    # What comes after the search takes about as long as what came before it.
    in_time = deadline.earlier_by(min(deadline.clock() - before, _MOST_KEPT_BACK * min(deadline.left(), 1e9)))
    try:
        assignment = _RUN[algorithm](graph, settings, in_time)
    except NoHosts:
        raise Infeasible(f"`{algorithm}` found no hosts for its PEs in time; give it more time") from None
    broken = list(violations(problem, assignment, acyclic=settings.acyclic))
    assert not broken, f"{algorithm} broke {broken[0]}"
    measures = measure(problem, assignment)
    if not measures.fits:
        refuse_overload(graph, *_means_of_proof(deadline))
    goal = settings.goal
    value = goal.value(problem, measures)
    return Fusion(
        algorithm=algorithm,
        assignment=assignment,
        feasible=measures.fits,
        cut=measures.cut,
        max_pe_size=float(measures.sizes.max()),
        max_utilization=measures.max_utilization,
        throughput_scale=measures.throughput_scale,
        objective=goal.objective,
        objective_value=measures.throughput_scale if goal.objective == "throughput" else value,
        optimal=_is_optimal(algorithm, goal, assignment, value, fits=measures.fits),
        seconds=time.perf_counter() - began,
    )


def _means_of_proof(deadline: Deadline) -> tuple[CanFit, Deadline]:
    """A complete search for what fits, and its time: some even where the deadline has passed."""
    in_time = Deadline.after(max(_LEAST_PROOF_SECONDS, deadline.sooner(_PROOF_SECONDS).left()))
    return lambda graph: fits(graph, in_time), in_time


def _is_optimal(algorithm: Algorithm, goal: Goal, assignment: Assignment, value: float, *, fits: bool) -> bool:
    """Whether it is proven that nothing is better by the objective: what an algorithm proves is for its own."""
    if fits and value == 0.0:
        return True
    is_own = algorithm == "exact" or MADE_FOR.get(algorithm, "throughput") == goal.objective
    return is_own and assignment.optimal
