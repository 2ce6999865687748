"""Parallel regions: which operators are replicated together.

Introduction:
    A region is a part of the graph that runs on any number of channels, each of which sees a part of the tuples. The
    larger a region, the fewer tuples are routed and put back in order. This module finds the regions of a graph; how
    their tuples are routed and ordered is the business of `strategies`.

Formulation:
    A region is a set of operators, connected, with one entry, or with several where streams meet inside (`meeting`).
    Every operator in it may be parallel by itself (`analysis`). Further (`growth`):
      - Compatible keys. The region's key is the intersection of the keys of its stateful operators; it is not empty. A
        key that is coarser than an operator's own is safe: equal tuples still meet, in one channel.
      - Forwarded keys. Every attribute of the region's key reaches each stateful operator unchanged from the region's
        entry. So the attributes that an operator on the way changes are not in the key.
      - Region-local fusion dependencies. Of operators that must be fused, all are in the region, or none.
      - `@parallel` instructions of its operators agree on the width, and no stream inside is a feedback edge.
    A region that starts with a parallel source cannot choose its key: the source has divided the tuples already. So
    each stateful operator's key must contain the whole of the source's key, not just meet it.

Example:
    Keys {k}, {k, l}, {l} in a row: the first two form a region with key {k}, the third begins another one.

When it does not apply:
    To unknown state, prolific operators, fan-in and fan-out: see `analysis` for the reasons that are given.

Algorithm:
    Left to right, in topological order. An operator that is in no region starts one; the region then takes successors
    as long as all conditions hold. An operator with a fusion dependency is taken together with its whole group and
    all that lies between, or not at all; a group that cannot even start a region is not tried again. Each group is
    walked a bounded number of times, so the cost is linear in the graph and the total size of the groups' paths.

Preserves:
    The application; this is an analysis. The result is a function of the graph: declaration order breaks ties.

Reference:
    Auto-parallelization paper, sections 3.1 and 3.3. Departures: groups are taken as a whole, so a region may end early
    to give the next one a group that the paper's order would leave sequential; the rule for parallel sources; widths;
    regions in which streams part and meet, if `extensions` say so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from penstock.base.memo import keep_for_each
from penstock.ir.graph import Application
from penstock.parallel.analysis import operator_analyses
from penstock.parallel.extensions import PAPER, Extensions
from penstock.parallel.fusion_groups import fusion_groups
from penstock.parallel.growth import LOOP, Ground, Growth
from penstock.parallel.instructions import is_instructed, not_followed
from penstock.parallel.meeting import Meeting
from penstock.parallel.neighbourhood import Connection, neighbourhood
from penstock.parallel.reasons import Condition, Reason
from penstock.parallel.region_plan import Boundary, Entry, Exit, ParallelRegions, Region
from penstock.parallel.strategies import choose_strategies


@keep_for_each
def parallel_regions(application: Application, extensions: Extensions = PAPER) -> ParallelRegions:
    """The parallel regions of an application, with joints, strategies, and the reason for every boundary.

    Args:
        application: Verified.
        extensions: What to do beyond the paper.

    Example:
        >>> from penstock.ir.graph import InputPort, Operator, OutputPort
        >>> from penstock.ir.models import OperatorModel, Selectivity, State
        >>> from penstock.ir.types import parse_schema
        >>> x = parse_schema("int32 x")
        >>> once = OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE)
        >>> plan = parallel_regions(Application(name="Main", operators=(
        ...     Operator(id="A", kind="Beacon", outputs=(OutputPort(stream="A", schema=x),)),
        ...     Operator(id="B", kind="Functor", inputs=(InputPort(streams=("A",), schema=x),),
        ...              outputs=(OutputPort(stream="B", schema=x),), model=once),
        ...     Operator(id="C", kind="FileSink", inputs=(InputPort(streams=("B",), schema=x),)),
        ... )))
        >>> [(r.operators, r.first_joint.value, r.ordering.value, r.last_joint.value) for r in plan.regions]
        [(('B',), 'split', 'round-robin', 'merge')]
    """
    analyses = operator_analyses(application, extensions)
    ground = Ground(
        application=application,
        around=neighbourhood(application),
        analyses=analyses,
        groups=fusion_groups(application),
        by_time=extensions.by_time,
    )
    former = _Former(ground, Meeting(ground) if extensions.fan_in else None)
    former.form()
    refused = {o.id: former.reasons(o.id) for o in application.operators if o.id not in former.owner}
    asked = (application.operator[id_] for id_ in refused if is_instructed(application.operator[id_]))
    plan = ParallelRegions(
        regions=tuple(_region(f"R{i}", growth) for i, growth in enumerate(former.formed.values(), start=1)),
        refused=refused,
        boundaries=tuple(former.boundaries(refused)),
        analyses=analyses,
        warnings=tuple(not_followed(operator, refused[operator.id]) for operator in asked),
    )
    return choose_strategies(application, plan)


class _Former:
    """Forms the regions of one application.

    Attributes:
        formed: The regions, by identity, from left to right.
        owner: From operator to region.
        failures: Why an operator that may be parallel by itself could not start a region.
        ends: Why a region did not go on along a connection.
    """

    def __init__(self, ground: Ground, meeting: Meeting | None) -> None:
        self.ground = ground
        self.meeting = meeting
        self.formed: dict[int, Growth] = {}
        self.owner: dict[str, Growth] = {}
        self.failures: dict[str, Reason] = {}
        self.ends: dict[Connection, Reason] = {}

    def form(self) -> None:
        """Start a region at every operator that the regions before it left."""
        for id_ in self.ground.around.order():
            if id_ in self.owner or id_ in self.failures:
                continue
            if self.ground.analyses[id_].is_parallelizable:
                self._start(id_)
            elif self.meeting is not None and self.meeting.may_meet_in(id_):
                self._meet(self.meeting, id_)

    def _start(self, start: str) -> None:
        growth = Growth(ground=self.ground)
        reason = growth.take_with_group(start)
        if reason is None:
            self._form(growth, list(growth.forwarded))
        else:
            self._give_up(start, reason)

    def _meet(self, meeting: Meeting, operator: str) -> None:
        """Join the regions before an operator that receives several streams, and go on from there."""
        growth, joined, apart = meeting.join(operator, self.owner)
        self.ends.update(apart)
        for other in joined:
            del self.formed[id(other)]
            if other is not growth:
                self.owner.update(dict.fromkeys(other.forwarded, growth))
        self._form(growth, [operator])

    def _form(self, growth: Growth, new: list[str]) -> None:
        """Note a region with its newest operators, and let it grow from there."""
        self.formed[id(growth)] = growth
        self.owner.update(dict.fromkeys(new, growth))
        self._grow(growth, new)

    def _give_up(self, start: str, reason: Reason) -> None:
        """Note the failure of an operator and of its fusion group, none of which can be in a region without it."""
        text = f"it must be fused with `{start}`, which is in no region"
        rest = Reason(condition=Condition.FUSION, text=text)
        self.failures.update({id_: rest for id_ in self.ground.groups.get(start, ()) if id_ != start})
        self.failures[start] = reason

    def _grow(self, growth: Growth, start: Iterable[str]) -> None:
        """Take successors, those of the first operators first, as long as the conditions hold."""
        waiting = deque(start)
        while waiting:
            for connection in self.ground.around.after[waiting.popleft()]:
                if connection[1] in growth.forwarded:
                    continue
                size = len(growth.forwarded)
                reason = growth.take_with_group(connection[1])
                if reason is not None:
                    self.ends[connection] = reason
                new = list(islice(reversed(growth.forwarded), len(growth.forwarded) - size))[::-1]
                self.owner.update(dict.fromkeys(new, growth))
                waiting.extend(new)

    def reasons(self, operator: str) -> tuple[Reason, ...]:
        """Why an operator is in no region."""
        return self.ground.analyses[operator].reasons or (self.failures[operator],)

    def boundaries(self, refused: dict[str, tuple[Reason, ...]]) -> Iterator[Boundary]:
        """Every stream that enters or leaves a region."""
        for producer, consumer, stream, feedback in self.ground.application.edges():
            left, right = self.owner.get(producer), self.owner.get(consumer)
            if feedback and (left or right):
                about, reason = consumer, LOOP
            elif left is right:
                continue
            elif left is None:
                about, reason = producer, refused[producer][0]
            else:
                about, reason = consumer, self.ends[stream, consumer]
            yield Boundary(stream=stream, producer=producer, consumer=consumer, about=about, reason=reason)


def _region(id_: str, growth: Growth) -> Region:
    ground = growth.ground
    return Region(
        id=id_,
        operators=tuple(growth.forwarded),
        key=growth.key or frozenset(),
        selectivity=growth.selectivity,
        widths=growth.widths,
        spontaneous=tuple(o for o in growth.forwarded if ground.analyses[o].spontaneous),
        entries=tuple(_entries(growth)),
        exits=tuple(_exits(growth)),
    )


def _entries(growth: Growth) -> Iterator[Entry]:
    application = growth.ground.application
    for operator in growth.forwarded:
        for port in application.operator[operator].inputs:
            for stream in port.streams:
                if stream in port.feedback or application.streams[stream].operator not in growth.forwarded:
                    yield Entry(stream=stream, receiver=operator)


def _exits(growth: Growth) -> Iterator[Exit]:
    around = growth.ground.around
    for operator in growth.forwarded:
        connections = around.after[operator]
        if not connections:
            yield Exit(operator=operator)
        for connection in connections:
            if connection[1] not in growth.forwarded or connection in around.feedback:
                yield Exit(operator=operator, stream=connection[0], receiver=connection[1])
