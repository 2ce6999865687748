"""Basic COLA: split PEs where they are thin until the hosts can carry them.

Introduction:
    Fusion from the top down. All operators start in one PE; the fewer splits, the less communication.

Formulation:
    Partition the operators into PEs and assign these to hosts such that (i) on every host the sizes of its PEs add up
    to at most its capacity (`lpt`), and (ii) the communication cost, the sum of w(delta(S)) over PEs S, is as small as
    possible (`ratio_cut`).

Example:
    A chain of four operators of 4 mips with streams of 9, 1 and 9, on two hosts of 12 mips: one PE of 16 fits on
    neither. It is split in the middle, where the ratio of the cut to the lighter side is the least, into two PEs of 9.

When it does not apply:
    The basic scheme of the paper knows no constraints. Ours starts from PEs that regions, replicas and dedications keep
    apart (`coarsest`), splits PEs that do not keep a demand first, and schedules with demands on hosts. What does not
    fit when splitting has become hopeless is merged again or relieved (`make_fit`).

Algorithm:
    1. Pre-processor: glue what lemma 1 allows (`lemma`).
    2. PE scheduler: LPT (`lpt`).
    3. While the schedule is not feasible: the oracle picks the largest PE with more than one operator, the graph
       partitioner splits it (`ratio_cut`), and the scheduler runs again.
    4. Post-processor: merge what still fits (`postprocess`).
    5. METIS k-way and GreedyFuse (`cut_starts`) where they fit and cut less; then single moves and merges that lower
       the cut and still fit (`lower_cut`). So the answer is never worse than either. The paper ends with step 4.
       These starts come first, whatever the clock says (`_sure_starts`), and steps 2 to 4 only if half of the time is
       left behind them.
    At most as many splits as there are operators, usually little more than there are hosts. In large PEs a side should
    have a tenth of the weight, so that 10,000 operators do not come off one by one. Splitting ends early where it
    cannot help any more (`make_fit.is_hopeless`): quick infeasibility, which the paper leaves to future work.

Preserves:
    Validity: a split keeps every demand that holds; in acyclic plans the streams between the halves go one way.

Reference:
    Khandekar et al., Middleware 2009, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

import numpy as np

from penstock.base.deadline import Deadline
from penstock.fusion.algorithms.greedy_fuse import fuse_greedily
from penstock.fusion.algorithms.place_pes import NoHosts, place_pes
from penstock.fusion.cola.lemma import fuse_by_lemma
from penstock.fusion.cola.make_fit import fits_by_lpt, is_hopeless, make_fit, merge_to_fit
from penstock.fusion.cola.pe_scheduler import quick
from penstock.fusion.cola.postprocess import merge_where_it_fits
from penstock.fusion.cuts.cut_starts import cut_starts, plain_start
from penstock.fusion.graph.coarsest import coarsest_groups
from penstock.fusion.graph.splitting import Splitter
from penstock.fusion.graph.super_graph import Group, SuperGraph
from penstock.fusion.problem.costs import TOLERANCE
from penstock.fusion.problem.fusion_problem import Assignment
from penstock.fusion.problem.objective import Goal
from penstock.fusion.problem.settings import Settings
from penstock.fusion.search.descent import Descent
from penstock.fusion.search.live import Live

_SHARE_FOR_STARTS, _SHARE_FOR_SPLITTING, _SHARE_FOR_FITTING = 0.4, 0.7, 0.8
_SHARE_FOR_FIRST_FIT = 0.9
_AHEAD_OF_GREEDY = 0.1
"""Seconds that GreedyFuse has here beyond those that it would have by itself: every merge lowers the cut."""
_LARGE = 1000
_GOAL = Goal(objective="cut")


def fuse_by_cola(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Split PEs until they fit on the hosts.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> problem = fusion_problem([4, 4, 4, 4], [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [12, 12])
        >>> fuse_by_cola(super_graph(problem), Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 0, 1, 1]
    """
    before = deadline.elapsed()
    whole, graph = graph, fuse_by_lemma(graph)
    found: list[Assignment] = []
    if not _cuts_the_least(graph, coarsest_groups(graph)):
        others = cut_starts(graph, settings, deadline.share(_SHARE_FOR_STARTS))
        found += _sure_starts(whole, others, settings, deadline, before)
        if found and graph.vertices > _LARGE and not _has_fit(graph, found):
            # On a large graph all others together may take too long; what fits comes before what cuts little.
            found.append(make_fit(whole, graph, found, deadline.share(_SHARE_FOR_FIRST_FIT)))
        found += others
    if not found or deadline.left() >= deadline.elapsed():
        # Otherwise splitting takes longer than what there is already, and would not end in time.
        found += _split(graph, settings, deadline.share(_SHARE_FOR_SPLITTING))
    if not _has_fit(graph, found):
        found.append(make_fit(whole, graph, found, deadline.share(_SHARE_FOR_FITTING)))
    best = min(found, key=lambda start: _GOAL.rank(graph.problem, start))
    return lower_cut(graph if graph.holds(best) else whole, best, deadline)


def _cuts_the_least(graph: SuperGraph, groups: list[Group]) -> bool:
    """Whether groups are one valid PE for each kind, and fit: then nothing cuts less."""
    pes = [pe for group in groups for pe in graph.real(group)]
    is_one_for_each = len({graph.kinds[pe[0]] for pe in pes}) == len(pes)
    return is_one_for_each and all(map(graph.may_share_pe, pes)) and fits_by_lpt(graph, groups)


def _has_fit(graph: SuperGraph, found: list[Assignment]) -> bool:
    return any(not _GOAL.rank(graph.problem, start)[0] for start in found)


def _sure_starts(
    whole: SuperGraph, others: Iterator[Assignment], settings: Settings, deadline: Deadline, before: float
) -> Iterator[Assignment]:
    """METIS as it comes, the first of its other fusions, and GreedyFuse with all the time that it has by itself.

    So the answer is worse than neither, however slow the machine is. `before` is what had elapsed at the start.
    """
    yield from plain_start(whole)
    yield from islice(others, 1)
    with suppress(NoHosts):
        yield fuse_greedily(whole, settings, deadline.later_by(deadline.elapsed() - before + _AHEAD_OF_GREEDY))


def _split(graph: SuperGraph, settings: Settings, deadline: Deadline) -> list[Assignment]:
    """The fusion of the paper, if LPT places it or what it is merged to; else the least utilized state, if valid."""
    splitter = Splitter(graph, coarsest_groups(graph), seed=settings.seed)
    groups = split_until_it_fits(splitter, deadline.share(0.5))
    fitting = merge_to_fit(graph, groups, deadline.share(0.8))
    if fitting is not None:
        return [_finish(graph, fitting, deadline)]
    try:
        return [place_pes(graph, [pe for group in groups for pe in graph.real(group)], deadline)]
    except NoHosts:
        return []


def split_until_it_fits(splitter: Splitter, deadline: Deadline) -> list[Group]:
    """The main loop of the paper: groups that LPT places, or else the least utilized state on the way."""
    best: tuple[float, list[Group]] | None = None
    while True:
        broken = splitter.broken()
        if not broken:
            found = quick(splitter.graph, splitter.pes()).utilization
            if best is None or found < best[0]:
                best = (found, list(splitter.groups))
            if found <= 1.0 + TOLERANCE or deadline.has_passed() or is_hopeless(splitter):
                return best[1]
        number = splitter.largest(broken or None)
        if number is None:
            assert best is not None
            return best[1]
        if broken:
            splitter.separate(number, deadline)
        else:
            splitter.split(number, deadline=deadline)


def lower_cut(graph: SuperGraph, assignment: Assignment, deadline: Deadline) -> Assignment:
    """The fusion after single moves and merges that cut less and still fit."""
    if deadline.is_near():
        return assignment
    live = Live(graph, graph.pes_of(assignment), assignment.host_of.tolist())
    Descent(live, np.random.default_rng(1), deadline, by_host_only=True).lower_cut()
    lowered = graph.assignment(*live.pes())
    return min((assignment, lowered), key=lambda found: _GOAL.rank(graph.problem, found))


def _finish(graph: SuperGraph, groups: list[Group], deadline: Deadline) -> Assignment:
    merged = merge_where_it_fits(graph, groups, lambda pes: quick(graph, pes).utilization <= 1.0 + TOLERANCE, deadline)
    pes = [pe for group in merged for pe in graph.real(group)]
    host_of = quick(graph, [graph.pe(pe) for pe in pes]).host_of
    assert host_of is not None
    return graph.assignment(pes, host_of)
