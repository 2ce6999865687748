"""The best fusion there is, for small graphs: branch and bound over PEs and hosts.

Introduction:
    The yardstick that every other algorithm is held against, and the judge of whether a small problem fits on its
    hosts.

Formulation:
    Variables: the PE of each super operator and the host of each PE. Minimize one of the three objectives (`objective`)
    subject to every demand on PEs and hosts, to the capacities of the hosts, and in acyclic plans to a graph of PEs
    without cycles. `branching.Branching` checks each of them as vertices are placed.

Example:
    Operators of 4, 4, 4 and 4 mips in a chain with streams of 9, 1 and 9 on two hosts of 12: the PEs are cut in the
    middle, each has size 9, and rates can grow by 12 / 9.

When it does not apply:
    The number of fusions grows faster than exponentially. Some 12 to 16 super operators on 4 hosts are solved in
    seconds; beyond that the best found by the deadline is returned, and `optimal` is false.

Algorithm:
    Super operators are placed one after the other, those most connected with what is placed first. A state is left when
    its value is certainly not better than the best known, or what all hosts must carry at least is too much. The first
    best is that of the other algorithms and of a local search, so most of the work is the proof. Hosts that are alike
    and empty are tried once.

Preserves:
    Optimality, if it ends in time. Where the bottleneck is above 1, a fusion that fits on the hosts is still preferred
    to one that does not.

Reference:
    Ours; the COLA paper has no exact method.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.greedy_fuse import fuse_greedily
from penstock.fusion.algorithms.place_pes import NoHosts
from penstock.fusion.algorithms.throughput import fuse_for_throughput
from penstock.fusion.algorithms.unfused import leave_unfused
from penstock.fusion.cola.advanced_cola import fuse_by_advanced_cola
from penstock.fusion.cola.basic_cola import fuse_by_cola
from penstock.fusion.cola.lemma import fuse_by_lemma
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.objective import Goal
from penstock.fusion.problem.settings import Settings
from penstock.fusion.search.complete import Clock, can_be_searched, solve

_SHARE_FOR_START = 0.3
_Algorithm = Callable[[SuperGraph, Settings, Deadline], Assignment]
_QUICK_STARTS: tuple[_Algorithm, ...] = (fuse_by_cola, fuse_greedily, leave_unfused)
_STARTS: tuple[_Algorithm, ...] = (fuse_by_cola, fuse_by_advanced_cola, fuse_greedily, fuse_for_throughput)
_SMALL = 10


def fuse_exactly(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Find a fusion with the best value of an objective and prove it.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([4, 4, 4, 4], [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [12, 12]))
        >>> found = fuse_exactly(graph, Settings(), Deadline.after(None))
        >>> found.pe_of.tolist(), found.optimal
        ([0, 0, 1, 1], True)
    """
    goal = settings.goal
    glued = fuse_by_lemma(graph)
    start = _start(graph, settings, goal, deadline.share(_SHARE_FOR_START) if can_be_searched(glued) else deadline)
    if start.optimal:
        return start
    is_overload, value, _ = goal.rank(graph.problem, start)
    beaten = float("inf") if is_overload else value
    best, finished = solve(glued, start, beaten, goal, Clock(deadline))
    assert best is not None
    is_proven = finished and not (is_overload and best is start)
    return Assignment(pe_of=best.pe_of, host_of=best.host_of, optimal=is_proven)


def _start(graph: SuperGraph, settings: Settings, goal: Goal, deadline: Deadline) -> Assignment:
    """The best that the other algorithms find; where the proof is quick, the quick ones are enough."""
    is_small = graph.vertices <= _SMALL
    if goal.objective == "throughput" and not is_small:
        return fuse_for_throughput(graph, settings, deadline)
    found: list[Assignment] = []
    algorithms = _QUICK_STARTS if is_small else _STARTS
    for number, algorithm in enumerate(algorithms):
        try:
            start = algorithm(graph, settings, deadline.share(1 / (len(algorithms) - number)))
        except NoHosts:
            continue
        found.append(Assignment(pe_of=start.pe_of, host_of=start.host_of))
        if deadline.has_passed():
            break
    if not found:
        raise NoHosts
    return min(found, key=lambda start: goal.rank(graph.problem, start))
