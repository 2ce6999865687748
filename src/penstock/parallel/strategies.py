"""Joints, routing and ordering: how tuples enter a region, stay in order, and leave it.

Introduction:
    Regions are formed; this pass decides what stands at their edges. It changes no region's operators or key.

Formulation: Joint of an entry (`_entry_joint`): a shuffle if its stream leaves another region; else a split. A region
without entries starts with a parallel source. Joint of an exit (`_exit_joint`): a shuffle if the receiver is in a
region; a merge before any other receiver; a parallel sink where nothing leaves. A feedback edge always has merge and
split.

    Routing: by hash of the region's key; in turns if it has none; a parallel source has divided its tuples itself.

    Ordering (`_ordering`) is table 1 of the paper:

        |                   | exactly one  | at most one    | any number                              |
        |-------------------|--------------|----------------|-----------------------------------------|
        | no state          | round-robin  | seqno & pulses | seqno & second-level numbers (extension) |
        | partitioned state | seqno        | seqno & pulses | seqno & second-level numbers (extension) |

    adjusted in three cases. Regions that are joined by shuffles share one numbering, made at the split of the first of
    them. Each channel of a shuffle's right side sees only some of the numbers, so a gap may mean a tuple that is late
    or one that went elsewhere: pulses are needed, whatever the selectivity. The parts of a parallel source have
    different lengths, so neither turns nor numbers without gaps exist: pulses as well. And where there is no order to
    keep, there is only routing: from a parallel source to parallel sinks only, and from a split to parallel sinks only
    if no shuffle is in between, since every channel is a queue. Regions with several entries (`meeting`), regions that
    make several tuples of one and fire by time, and all that shuffles connect with them, keep order by places.

Second-level numbers, and why they keep the order: Number the tuples that enter a region s = 0, 1, 2, ... in
sequential order. The sequential program is depth first: all that comes of s leaves before anything that comes of s +
1. Let t come of s, and let k be its position among all tuples that come of s and leave by the same exit. Then the
sequential order at that exit is the lexicographic order of (s, k): different s by the first sentence, equal s by the
definition of k. It remains to see that a channel can tell k. All that comes of s is on one channel, and every
operator inside submits only while a tuple comes in (the extension's condition: prolific operators and those that fire
by time are never in one region), so what comes of s is consecutive on every stream of the channel. Each operator sees
the tuples of its keys in sequential order (induction over the operators of the region: the split keeps the order of
each channel, the streams inside are queues), has the same state for them, and so submits the same tuples in the same
order as the sequential operator. So the last operator of the channel meets what comes of s in the order of k, and
counts. The numbers have gaps in s, so pulses go with them. Behind a shuffle, what comes of one s may be on several
channels; there (s, k) is the number of the tuple that enters, and the argument holds for lexicographic order again:
each prolific region in a row of shuffles adds one level.

Places, and why they keep the order of what is made by time: A place is the time and the number of the item of the
sources in hand, and the path from there. What a timer makes has the time at which it is due and a path with the place
where the timer was set (`spark.workers.placed_timers`). Of timers of one operator that are due at one time, the one
that was set first fires first, in the sequential program as by places; no two channels set a timer at one place,
because an item is on one of them. All that one firing makes is made on one channel, one after the other, and counted
behind the path. So the order of places is that of the sequential program, however many tuples an item or a firing
makes.

Example:
    >>> table_1(State.PARTITIONED, Selectivity.EXACTLY_ONE).value
    'seqno'
    >>> table_1(State.STATELESS, Selectivity.AT_MOST_ONE).value
    'seqno & pulses'

When it does not apply:
    The plan is returned as it is, the same object, where every region already has its joints and strategies.

Algorithm:
    One pass for the joints, one over the regions from left to right for each row of shuffles. Linear.

Preserves:
    Regions, keys and boundaries.

Reference:
    Auto-parallelization paper, sections 3.4, 4.1 to 4.4 and table 1. Departures: a single region from a split to a
    parallel sink is routing only; pulses behind parallel sources; second-level numbers are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.ir.graph import Application
from penstock.ir.models import Selectivity, State
from penstock.parallel.neighbourhood import Neighbourhood, neighbourhood
from penstock.parallel.region_plan import Entry, Exit, Joint, Ordering, ParallelRegions, Region, Routing


def choose_strategies(application: Application, plan: ParallelRegions) -> ParallelRegions:
    """The plan with joints, routing and ordering of every region; the same object if it has them."""
    around = neighbourhood(application)
    joined = [_with_joints(around, plan, application, region) for region in plan.regions]
    rows = list(_rows(joined))
    ordered = {region.id: region for row in rows for region in _with_ordering(row)}
    regions = tuple(ordered[region.id] for region in joined)
    return plan if regions == plan.regions else replace(plan, regions=regions)


def table_1(state: State, selectivity: Selectivity) -> Ordering:
    """The ordering strategy of a region by itself."""
    if selectivity is Selectivity.UNKNOWN:
        return Ordering.SEQNO_AND_SECOND_LEVEL
    if selectivity is Selectivity.AT_MOST_ONE:
        return Ordering.SEQNO_AND_PULSES
    return Ordering.ROUND_ROBIN if state is State.STATELESS else Ordering.SEQNO


def _with_joints(around: Neighbourhood, plan: ParallelRegions, application: Application, region: Region) -> Region:
    entries = tuple(replace(e, joint=_entry_joint(around, plan, application, e)) for e in region.entries)
    joints = {entry.joint for entry in entries}
    is_divided = not application.operator[region.operators[0]].inputs
    entering = Joint.SHUFFLE if Joint.SHUFFLE in joints else Joint.SPLIT
    routing = Routing.HASH if region.key else Routing.ROUND_ROBIN
    return replace(
        region,
        first_joint=Joint.PARALLEL_SOURCE if is_divided else entering,
        entries=entries,
        exits=tuple(replace(e, joint=_exit_joint(around, plan, e)) for e in region.exits),
        routing=Routing.BY_SOURCE if is_divided else routing,
    )


def _entry_joint(around: Neighbourhood, plan: ParallelRegions, application: Application, entry: Entry) -> Joint:
    is_feedback = (entry.stream, entry.receiver) in around.feedback
    producer = application.streams[entry.stream].operator
    return Joint.SHUFFLE if producer in plan.region_of and not is_feedback else Joint.SPLIT


def _exit_joint(around: Neighbourhood, plan: ParallelRegions, exit_: Exit) -> Joint:
    if exit_.stream is None or exit_.receiver is None:
        return Joint.PARALLEL_SINK
    is_feedback = (exit_.stream, exit_.receiver) in around.feedback
    return Joint.SHUFFLE if exit_.receiver in plan.region_of and not is_feedback else Joint.MERGE


def _rows(regions: list[Region]) -> Iterator[list[Region]]:
    """Regions that shuffles connect, each set from left to right unless some of them have several entries."""
    home = {id_: region for region in regions for id_ in region.operators}
    connected: dict[str, list[Region]] = {region.id: [] for region in regions}
    for region in regions:
        for exit_ in region.exits:
            if exit_.joint is Joint.SHUFFLE and exit_.receiver is not None:
                connected[region.id].append(home[exit_.receiver])
                connected[home[exit_.receiver].id].append(region)
    seen: set[str] = set()
    for region in sorted(regions, key=lambda r: r.first_joint is Joint.SHUFFLE):
        row = [] if region.id in seen else [region]
        seen.add(region.id)
        for reached in row:
            new = [other for other in connected[reached.id] if other.id not in seen]
            seen.update(other.id for other in new)
            row.extend(dict.fromkeys(new))
        if row:
            yield row


def _with_ordering(row: list[Region]) -> Iterator[Region]:
    """The regions of a row with their ordering and their levels of numbers."""
    levels: dict[str, int] = {}
    for region in row:
        own = levels.get(region.operators[0], 0) + (region.selectivity is Selectivity.UNKNOWN)
        levels.update({e.receiver: own for e in region.exits if e.receiver is not None})
        if not _needs_order(row):
            yield replace(region, ordering=Ordering.ROUTING_ONLY, levels=0)
        elif any(_needs_places(other) for other in row):
            yield replace(region, ordering=Ordering.PLACES, levels=0)
        else:
            yield replace(region, ordering=_ordering(row, region, own), levels=own)


def _needs_places(region: Region) -> bool:
    """Whether numbers made at a split cannot tell the order: streams meet, or several tuples are made by time."""
    return len(region.entries) > 1 or (region.selectivity is Selectivity.UNKNOWN and bool(region.spontaneous))


def _needs_order(row: list[Region]) -> bool:
    """Whether some joint of the row puts tuples of several channels in order."""
    merges = any(e.joint is Joint.MERGE for region in row for e in region.exits)
    meets = any(len(region.entries) > 1 for region in row)
    return merges or meets or (len(row) > 1 and row[0].first_joint is not Joint.PARALLEL_SOURCE)


def _ordering(row: list[Region], region: Region, levels: int) -> Ordering:
    if levels:
        return Ordering.SEQNO_AND_SECOND_LEVEL
    if len(row) > 1 or region.first_joint is Joint.PARALLEL_SOURCE:
        return Ordering.SEQNO_AND_PULSES
    return table_1(State.PARTITIONED if region.key else State.STATELESS, region.selectivity)
