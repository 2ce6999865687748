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
    apart (`coarsest`), splits PEs that do not keep a demand first, and schedules with demands on hosts. Splits that
    bring every PE below a host may add so much communication that all of them together exceed all hosts. Then small PEs
    are merged again, up to several parts of a host; and if LPT still finds no place for some of them, the best state is
    scheduled by the integer program and relieved by moving single operators (`relief`). The paper does not discuss such
    cases.

Algorithm:
    1. Pre-processor: glue what lemma 1 allows (`lemma`).
    2. PE scheduler: LPT (`lpt`).
    3. While the schedule is not feasible: the oracle picks the largest PE with more than one operator, the graph
       partitioner splits it (`ratio_cut`), and the scheduler runs again.
    4. Post-processor: merge what still fits (`postprocess`).
    At most as many splits as there are operators, usually little more than there are hosts. In large PEs a side should
    have a tenth of the weight, so that 10,000 operators do not come off one by one. Splitting ends early where it
    cannot help any more (`_is_hopeless`): quick infeasibility, which the paper leaves to future work.

Preserves:
    Validity: a split keeps every demand that holds; in acyclic plans the streams between the halves go one way.

Reference:
    Khandekar et al., Middleware 2009, section 2.
"""

from __future__ import annotations

from penstock.base.deadline import Deadline
from penstock.fusion.coarsest import coarsest_groups
from penstock.fusion.evaluate import TOLERANCE
from penstock.fusion.lemma import fuse_by_lemma
from penstock.fusion.merging import Merger
from penstock.fusion.place_pes import place_pes
from penstock.fusion.postprocess import merge_where_it_fits
from penstock.fusion.problem import Assignment
from penstock.fusion.relief import relieve
from penstock.fusion.scheduling import quick, schedule
from penstock.fusion.settings import Settings
from penstock.fusion.splitting import Splitter
from penstock.fusion.super_graph import Group, SuperGraph

_SHARE_FOR_SPLITTING = 0.7
_PARTS_OF_A_HOST = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15)
"""Up to which PEs are merged that do not fit. Large PEs save the most; small ones are easier to place."""


def fuse_by_cola(graph: SuperGraph, settings: Settings, deadline: Deadline) -> Assignment:
    """Split PEs until they fit on the hosts.

    Example:
        >>> from penstock.fusion.problem import fusion_problem
        >>> from penstock.fusion.super_graph import super_graph
        >>> problem = fusion_problem([4, 4, 4, 4], [(0, 1, 9), (1, 2, 1), (2, 3, 9)], [12, 12])
        >>> fuse_by_cola(super_graph(problem), Settings(), Deadline.after(None)).pe_of.tolist()
        [0, 0, 1, 1]
    """
    graph = fuse_by_lemma(graph)
    splitter = Splitter(graph, coarsest_groups(graph), seed=settings.seed)
    in_time = deadline.sooner(_SHARE_FOR_SPLITTING * deadline.left())
    best: tuple[float, list[Group]] = (float("inf"), [(t,) for t in range(len(graph.templates))])
    while True:
        broken = splitter.broken()
        if not broken:
            found = quick(graph, splitter.pes())
            if found.utilization <= 1.0 + TOLERANCE:
                return _finish(graph, splitter.groups, deadline)
            best = min(best, (found.utilization, list(splitter.groups)), key=lambda state: state[0])
        number = splitter.largest(broken or None)
        if number is None or (not broken and (in_time.has_passed() or _is_hopeless(splitter))):
            return _make_fit(graph, best[1], deadline)
        splitter.split(number, apart=bool(broken))


def _is_hopeless(splitter: Splitter) -> bool:
    """Whether more splits cannot fit: all PEs together exceed all hosts, and the largest is no larger than a host.

    A split adds communication and takes nothing away, so what is too much stays too much.
    """
    capacities, sizes = splitter.graph.problem.hosts.capacities, [pe.size for pe in splitter.pes()]
    return sum(sizes) > (1.0 + TOLERANCE) * float(capacities.sum()) and max(sizes) <= float(capacities.mean())


def _finish(graph: SuperGraph, groups: list[Group], deadline: Deadline) -> Assignment:
    merged = merge_where_it_fits(graph, groups, lambda pes: quick(graph, pes).utilization <= 1.0 + TOLERANCE, deadline)
    pes = [pe for group in merged for pe in graph.real(group)]
    host_of = quick(graph, [graph.pe(pe) for pe in pes]).host_of
    assert host_of is not None
    return graph.assignment(pes, host_of)


def _make_fit(graph: SuperGraph, groups: list[Group], deadline: Deadline) -> Assignment:
    """What LPT cannot do with any of the splits: merge small PEs; then the integer program, then single moves."""
    states = [groups, *(_merged_up_to(graph, groups, part) for part in _PARTS_OF_A_HOST)]
    utilization, best = min(((_utilization(graph, state), state) for state in states), key=lambda found: found[0])
    if utilization <= 1.0 + TOLERANCE:
        return _finish(graph, best, deadline)
    pes = [pe for group in best for pe in graph.real(group)]
    if schedule(graph, [graph.pe(pe) for pe in pes], deadline=deadline).utilization <= 1.0 + TOLERANCE:
        return place_pes(graph, pes, deadline)
    return relieve(graph, place_pes(graph, pes, deadline), deadline)


def _utilization(graph: SuperGraph, groups: list[Group]) -> float:
    return quick(graph, [graph.pe(pe) for group in groups for pe in graph.real(group)]).utilization


def _merged_up_to(graph: SuperGraph, groups: list[Group], part: float) -> list[Group]:
    """PEs merged where that saves the most, while none is larger than a part of a host."""
    merger = Merger(graph, groups)
    most = part * float(graph.problem.hosts.capacities.mean())

    def is_wanted(one: int, other: int) -> bool:
        size = merger.sizes[one] + merger.sizes[other] - 2 * merger.between[one][other]
        return size <= most * len(graph.templates[merger.groups[one][0]])

    merger.merge_by_benefit(is_wanted)
    return list(merger.groups.values())
