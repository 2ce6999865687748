"""The fusion with the highest throughput that can be found by a deadline.

Introduction:
    The COLA paper minimizes communication because throughput is hard to model. We have a model (`costs`), so we look
    for throughput itself: how far all rates can grow before a host, a PE or a link is full.

Formulation:
    Maximize `throughput_scale`, that is, minimize the bottleneck, subject to all demands, to the capacities of the
    hosts and, in acyclic plans, to a graph of PEs without cycles. Among equals the smaller cut.

Example:
    Two heavy operators with a light stream between them on a host of two cores: fused they are limited to one core,
    apart they use both. COLA fuses them, because it looks at the host as one unit; this one does not.

When it does not apply:
    Without a deadline it ends when a number of attempts have brought nothing; that is no proof. `optimal` is true if
    the lower bound is reached or if the exact search ended.

Algorithm:
    1. Glue what lemma 1 allows: no PE and no host gets larger, so the optimum is kept (`lemma`).
    2. Starts: every other algorithm, METIS with a part for each host (`cut_starts`) and for each core (`metis_parts`),
       and runs of a topological order (`runs`). Each is improved by local search (`descent`).
    3. Random changes around what is the fullest, followed by local search (`kick`), in turn with large neighbourhoods
       (`free_neighbours`) on graphs of up to `_MOST_REBUILT` super operators.
    4. Small graphs are searched completely at the end.

Preserves:
    Validity; never worse than any of its starts that ended in time.

Reference:
    Ours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.full import fuse_all
from penstock.fusion.algorithms.greedy_fuse import fuse_greedily
from penstock.fusion.algorithms.place_pes import NoHosts
from penstock.fusion.algorithms.unfused import leave_unfused
from penstock.fusion.cola.advanced_cola import fuse_by_advanced_cola
from penstock.fusion.cola.basic_cola import fuse_by_cola
from penstock.fusion.cola.lemma import fuse_by_lemma
from penstock.fusion.cuts.cut_starts import fuse_cut_start
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.objective import Goal
from penstock.fusion.problem.settings import Settings
from penstock.fusion.search.complete import BETTER, Clock, solve
from penstock.fusion.search.descent import Descent
from penstock.fusion.search.free_neighbours import near, place_anew
from penstock.fusion.search.kick import kick
from penstock.fusion.search.live import Live
from penstock.fusion.search.metis_parts import fuse_parts
from penstock.fusion.search.runs import fuse_runs

GOAL = Goal(objective="throughput")
_MOST_REBUILT = 400
_MOST_ADVANCED = 1500
_MOST_SEARCHED = 14
_FREED = (5, 10)
_STEPS = 1500
_SHARE_FOR_STARTS = 0.7
_COMPLETE_STEPS = 20_000
_PATIENCE = 40
_LARGE_PATIENCE = 6


def fuse_for_throughput(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Search for the highest `throughput_scale`.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([9, 9], [(0, 1, 1)], [40], cores=[2]))
        >>> fuse_for_throughput(graph, Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 1]
    """
    search = _Search(graph, settings, deadline)
    for start in sorted(search.starts(), key=search.value_of):
        if search.is_optimal() or deadline.has_passed():
            break
        search.improve(start)
    search.explore()
    assert search.best is not None
    return search.best


class _Search:
    """The best fusion so far, and ways to a better one."""

    def __init__(self, graph: SuperGraph, settings: Settings, deadline: Deadline) -> None:
        self.whole = graph
        self.graph = fuse_by_lemma(graph)
        self.settings = settings
        self.deadline = deadline
        self.rng = np.random.default_rng(settings.seed)
        self.best: Assignment | None = None
        self.value: tuple[bool, float, float] = (True, float("inf"), float("inf"))
        self.bound = lower_bound(self.graph)
        self._share_of_a_start = 0.8 if self.graph.vertices <= _MOST_ADVANCED else 0.5

    def starts(self) -> Iterator[Assignment]:
        """The fusions of the other algorithms, the quick ones first; each gets a part of the time left for starts."""
        in_time = self.deadline.share(_SHARE_FOR_STARTS)
        algorithms = [fuse_cut_start, fuse_greedily, fuse_parts, fuse_runs, fuse_by_cola, leave_unfused, fuse_all]
        if self.graph.vertices <= _MOST_ADVANCED:
            algorithms.append(fuse_by_advanced_cola)
        for algorithm in algorithms:
            if self.best is not None and in_time.has_passed():
                return
            try:
                start = algorithm(self.whole, self.settings, in_time.share(self._share_of_a_start))
            except NoHosts:
                continue
            self._keep(start)
            yield start

    def improve(self, start: Assignment) -> None:
        """Keep what local search makes of a start; on the graph of the lemma, if the start shares PEs as that says."""
        graph = self.graph if self.graph.holds(start) else self.whole
        live = Live(graph, graph.pes_of(start), start.host_of.tolist())
        # What fits comes before anything else.
        Descent(live, self.rng, self.deadline.share(0.9 if self.value[0] else 0.5)).run(goal=self.bound)
        self._keep(graph.assignment(*live.pes()))

    def explore(self) -> None:
        """Look for better fusions around the best one until time or patience is up."""
        attempts = (self._rebuild, self._shake) if self.graph.vertices <= _MOST_REBUILT else (self._shake,)
        patience = _PATIENCE if self.graph.vertices <= _MOST_REBUILT else _LARGE_PATIENCE
        left = patience
        while left and not self.is_optimal() and not self.deadline.has_passed():
            left = patience if attempts[left % len(attempts)]() else left - 1
        if self.graph.vertices <= _MOST_SEARCHED and not self.is_optimal() and not self.value[0]:
            best, finished = solve(self.graph, self.best, self.value[1], GOAL, Clock(self.deadline, _COMPLETE_STEPS))
            assert best is not None
            self._keep(best)
            self._mark_optimal(finished)

    def is_optimal(self) -> bool:
        """Whether nothing can be better."""
        if self.value[0] or self.value[1] * BETTER > self.bound:
            return False
        self._mark_optimal(True)
        return True

    def _mark_optimal(self, is_proven: bool) -> None:
        assert self.best is not None
        self.best = Assignment(pe_of=self.best.pe_of, host_of=self.best.host_of, optimal=is_proven)

    def value_of(self, assignment: Assignment) -> tuple[bool, float, float]:
        """Whether a host is overloaded, how full the fullest is, and the cut; smaller is better."""
        return GOAL.rank(self.graph.problem, assignment)

    def _keep(self, assignment: Assignment) -> None:
        value = self.value_of(assignment)
        if value < self.value:
            self.best, self.value = assignment, value

    def _rebuild(self) -> bool:
        """Free some operators, half of the time around what is the fullest."""
        before, live = self.value[:2], self._live()
        start = self._around_fullest(live) if self.rng.random() < 0.5 else []
        freed = near(live.graph, start[:3], int(self.rng.integers(*_FREED)), self.rng)
        bottleneck = float("inf") if self.value[0] else self.value[1]
        found = place_anew(live.graph, *live.pes(), freed, bottleneck, Clock(self.deadline, _STEPS))
        if found is not None:
            self.improve(live.graph.assignment(found[0], found[1]))
        return self.value[:2] < before

    def _shake(self) -> bool:
        """Change the best fusion at random near what is the fullest, and let local search repair it."""
        before, live = self.value[:2], self._live()
        kick(live, self._around_fullest(live), self.rng)
        Descent(live, self.rng, self.deadline).run(goal=self.bound)
        self._keep(live.graph.assignment(*live.pes()))
        return self.value[:2] < before

    def _live(self) -> Live:
        """The best fusion, ready to be changed."""
        assert self.best is not None
        graph = self.graph if self.graph.holds(self.best) else self.whole
        return Live(graph, graph.pes_of(self.best), self.best.host_of.tolist())

    def _around_fullest(self, live: Live) -> list[int]:
        """The vertices of the fullest host or PE, in random order."""
        host = max(range(len(live.loads)), key=live.utilization)
        pe = max(live.members, key=live.core_utilization)
        is_pe = live.core_utilization(pe) > live.utilization(host)
        vertices = list(live.members[pe]) if is_pe else [v for p in live.on_host[host] for v in live.members[p]]
        self.rng.shuffle(vertices)
        return vertices


def lower_bound(graph: SuperGraph) -> float:
    """A bottleneck that no fusion goes below: all operators on all hosts, and each operator on the best cores for it.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> lower_bound(super_graph(fusion_problem([9, 9], [(0, 1, 1)], [40], cores=[2])))
        0.45
    """
    hosts = graph.problem.hosts
    spread = sum(graph.costs) / float(hosts.capacities.sum())
    best = {c: float((hosts.core_mips * np.minimum(c, hosts.cores)).max()) for c in set(graph.channels)}
    return max(spread, *(cost / best[width] for cost, width in zip(graph.costs, graph.channels, strict=True)))
