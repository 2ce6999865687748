"""The best fusion there is, for small graphs: branch and bound over PEs and hosts.

Introduction:
    The yardstick that every other algorithm is held against, and the judge of whether a small problem fits on its
    hosts.

Formulation:
    Variables: the PE of each super operator and the host of each PE. Minimize the bottleneck (`evaluate.measure`),
    which is one over `throughput_scale`, subject to every demand on PEs and hosts, to the capacities of the hosts, and
    in acyclic plans to a graph of PEs without cycles. `branching.Branching` checks each of them as vertices are placed.

Example:
    Operators of 4, 4, 4 and 4 mips in a chain with streams of 9, 1 and 9 on two hosts of 12: the PEs are cut in the
    middle, each has size 9, and rates can grow by 12 / 9.

When it does not apply:
    The number of fusions grows faster than exponentially. Some 12 to 16 super operators on 4 hosts are solved in
    seconds; beyond that the best found by the deadline is returned, and `optimal` is false.

Algorithm:
    Super operators are placed one after the other, those most connected with what is placed first. A state is left when
    its bottleneck, or the load that all hosts must carry at least, is not better than the best known. The first best is
    that of the other algorithms and of a local search, so most of the work is the proof. Hosts that are alike and empty
    are tried once.

Preserves:
    Optimality, if it ends in time. Where the bottleneck is above 1, a fusion that fits on the hosts is still preferred
    to one that does not.

Reference:
    Ours; the COLA paper has no exact method.
"""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.fusion.complete_search import Clock, solve
from penstock.fusion.evaluate import measure
from penstock.fusion.lemma import fuse_by_lemma
from penstock.fusion.problem import Assignment
from penstock.fusion.settings import Settings
from penstock.fusion.super_graph import SuperGraph
from penstock.fusion.throughput import fuse_for_throughput

_SHARE_FOR_START = 0.3


def fuse_exactly(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Find a fusion with the highest `throughput_scale` and prove it.

    Example:
        >>> from penstock.fusion.problem import fusion_problem
        >>> from penstock.fusion.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([4, 4, 4, 4], [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [12, 12]))
        >>> found = fuse_exactly(graph, Settings(), Deadline.after(None))
        >>> found.pe_of.tolist(), found.optimal
        ([0, 0, 1, 1], True)
    """
    start = fuse_for_throughput(graph, settings, deadline.sooner(_SHARE_FOR_START * deadline.left()))
    if start.optimal:
        return start
    measures = measure(graph.problem, start)
    bottleneck = measures.bottleneck if measures.fits else float("inf")
    best, finished = solve(fuse_by_lemma(graph), start, bottleneck, Clock(deadline))
    assert best is not None
    return Assignment(pe_of=best.pe_of, host_of=best.host_of, optimal=finished and (measures.fits or best is not start))
