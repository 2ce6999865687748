"""GreedyFuse: merge the pair that saves the most communication, again and again.

Introduction:
    The fusion optimizer of SPADE; the COLA paper calls it FINT. It works bottom up, from one PE for each operator.

Formulation:
    Minimize what flows between PEs subject to two limits:

    - CompLoad(P) <= MaxFrac: no PE is *saturated*. CompLoad is the load of the operators and of the streams that cross
      the PE's boundary, as a part of one core of the slowest host (`_Limits.is_saturated`).
    - EffectiveUtil(P) = OperLoad(P) / CompLoad(P) >= MinUtil: no PE is *underutilized*, spending its time on sending
      and receiving (`_Limits.is_underutilized`). This one is a wish: the algorithm tries to remove such PEs.

Example:
    A chain of light operators of 1 mips with streams of 5 between them, on cores of 100: all PEs are underutilized, and
    pairs are merged until a PE would be beyond 50 mips.

When it does not apply:
    It looks neither at the number of hosts nor at their capacities, so the answer may not fit on them.

Algorithm:
    While some pair of PEs is mergeable, merge the pair with the largest merge benefit. Mergeable: both underutilized,
    connected, and not saturated when merged. The benefit is Rate(P_i) + Rate(P_j) - Rate(P_i u P_j), what no longer
    crosses a boundary. A heap of candidates: O(E log E) plus, in acyclic plans, the search for paths (`pe_order`).

Preserves:
    Validity: every merge is checked against all demands before it is made (`merging`).

Reference:
    Gedik et al., CIKM 2009, section 4, algorithm 1. We measure the benefit in mips rather than in tuples a second: the
    cost of a stream is the paper's mapping v of rate and tuple size, so large tuples count for more. Placement, which
    the paper leaves open, is that of COLA (`pe_scheduler`).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.place_pes import place_pes
from penstock.fusion.graph.merging import Merger
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.settings import Settings


def fuse_greedily(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Merge underutilized PEs by their benefit until no pair is mergeable.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([10, 10, 35], [(0, 1, 9), (1, 2, 8)], [100, 100]))
        >>> fuse_greedily(graph, Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 0, 1]
    """
    merger = Merger(graph, deadline=deadline)
    core_mips = float(graph.problem.hosts.core_mips.min())
    limits = _Limits(merger=merger, most_mips=settings.max_frac * core_mips, min_util=settings.min_util)
    merger.merge_by_benefit(limits.are_mergeable, deadline)
    return place_pes(graph, merger.pes(), deadline)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    """When PEs are saturated and when they are underutilized.

    Attributes:
        merger: The PEs.
        most_mips: MaxFrac, in mips.
        min_util: MinUtil.
    """

    merger: Merger
    most_mips: float
    min_util: float

    def are_mergeable(self, one: int, other: int) -> bool:
        saved = 2 * self.merger.between[one][other]
        merged = self.merger.sizes[one] + self.merger.sizes[other] - saved
        replicas = self._replicas(one)
        return self.is_underutilized(one) and self.is_underutilized(other) and not self.is_saturated(merged / replicas)

    def is_underutilized(self, group: int) -> bool:
        return self.merger.costs[group] < self.min_util * self.merger.sizes[group]

    def is_saturated(self, size: float) -> bool:
        return size > self.most_mips

    def _replicas(self, group: int) -> int:
        return len(self.merger.graph.templates[self.merger.groups[group][0]])
