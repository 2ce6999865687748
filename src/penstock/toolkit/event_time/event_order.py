"""EventOrder: puts a stream in the order of a time that its tuples carry.

A tuple waits until the *watermark* has come to its time; then it leaves, behind all earlier ones and, of equal times,
behind those that came before it. The watermark is the latest time that has come, less the lateness. Where `source` says
which partition of the source a tuple is from, it is the least over the partitions of the latest time of each, less the
lateness; a partition that is further behind the one in front than `idle` is set aside until it has caught up. A
partition that has given nothing yet is not waited for. The watermark never falls.

A tuple from before the watermark is *late*: it leaves at once, by the second output, and is counted. When the input
ends, all that waits leaves. So what leaves depends on the order of the input alone, and on no clock.

Window markers of the input do not go through.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts, Reads
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Why
from penstock.ir.types import FLOAT64
from penstock.toolkit.analysis.logic_analysis import forwarded_by_output_clause
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.event_time.event_times import RESOLUTION, check_times, read_times
from penstock.toolkit.windows.partition import check_keys, key_function

LATE_PORT = 1
"""The output port by which late tuples leave."""


class EventOrderRuntime(LogicRuntime):
    """An EventOrder at work.

    Attributes:
        held: What waits: time, number of arrival, tuple; a heap.
        newest: The latest time of each partition of the source.
        watermark: Up to where everything has left; none before the first tuple.
        arrived: How many tuples have come in time.
    """

    remembers = ("held", "newest", "watermark", "arrived")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        (time,) = operator.param("time")
        self._time, self._ns = self.scalar(time), read_times(operator, time.type)
        self._source = key_function(operator.param("source"), self.row)
        self._lateness_ns = self.duration_ns("lateness")
        self._idle_ns = self.duration_ns("idle") if operator.param("idle") else None
        self.held: list[tuple[int, int, Tuple]] = []
        self.newest: dict[Hashable, int] = {}
        self.watermark: int | None = None
        self.arrived = 0

    def taker(self, port: int) -> Submit:
        """Let each tuple wait for its time, and send those whose time has come."""
        time, ns, source = self._time, self._ns, self._source
        late = self.submit[LATE_PORT]

        def take(tuple_: Tuple) -> None:
            time_ns = ns(time(tuple_))
            is_late = self.watermark is not None and time_ns < self.watermark
            self._advance(() if source is None else source(tuple_), time_ns)
            if is_late:
                late(tuple_)
            else:
                self.arrived += 1
                heapq.heappush(self.held, (time_ns, self.arrived, tuple_))
            self._release(self.watermark)

        return take

    def take_window_marker(self, port: int) -> None:
        """Markers of the input stop here."""

    def finish(self) -> None:
        """Let go of all that waits."""
        self._release(math.inf)

    def _advance(self, source: Hashable, time_ns: int) -> None:
        """Let a partition of the source go on, and with it the watermark."""
        newest = self.newest
        before = newest.get(source)
        if before is not None and before >= time_ns:
            return
        newest[source] = time_ns
        least = time_ns if len(newest) == 1 else self._least()
        reached = least - self._lateness_ns
        if self.watermark is None or reached > self.watermark:
            self.watermark = reached

    def _least(self) -> int:
        times = self.newest.values()
        if self._idle_ns is None:
            return min(times)
        going = max(times) - self._idle_ns
        return min(time_ns for time_ns in times if time_ns >= going)

    def _release(self, until: float | None) -> None:
        held, submit = self.held, self.submit[0]
        while held and until is not None and held[0][0] <= until:
            submit(heapq.heappop(held)[2])


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    time = operator.param("time")
    check_times(operator, {"time": time[0] if time else None}, found)
    check_keys(operator, ("source",), found)
    for name in ("lateness", "idle"):
        for value in operator.param(name):
            if isinstance(value, Literal) and not 0 <= value.value < math.inf:  # type: ignore[operator]
                message = f"`{name}` is a number of seconds, 0 or more, found {value.value!r}"
                found.error(message, value.span or operator.span)
    if operator.param("idle") and not operator.param("source"):
        message = "`idle` says when a partition of the source is set aside, but `source` does not say what they are"
        found.error(message, operator.span, hint="add `source: partition`, or remove it")


def model(operator: Operator) -> OperatorModel:
    """Not parallelizable: the order is that of all tuples, whatever their keys."""
    return OperatorModel(
        forwarding=Forwarding.ALWAYS,
        forwards=forwarded_by_output_clause(operator),
        spontaneous=True,
        markers=Markers.NONE,
        why=(
            Why(Flag.STATE, "it puts all tuples of its input in the order of event time"),
            Why(Flag.SELECTIVITY, "a tuple may free any number of others"),
        ),
    )


def _seconds(name: str, doc: str) -> ParamSpec:
    return ParamSpec(name=name, kind=ParamKind.CONSTANT, types=(FLOAT64,), doc=doc)


DEFINITION = OperatorDefinition(
    name="EventOrder",
    doc="Puts tuples in the order of a time that they carry. Those that come too late leave by the second output.",
    inputs=(1, 1),
    outputs=(2, 2),
    params=(
        ParamSpec(name="time", required=True, doc="The event time: a timestamp, seconds, or an integer."),
        RESOLUTION,
        _seconds("lateness", "How many seconds a tuple may come behind a later one; 0 without it."),
        ParamSpec(name="source", many=True, doc="Which partition of the source a tuple is from."),
        _seconds("idle", "How many seconds a partition may be behind the one in front until it is set aside."),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(
        reads=Reads.AND_PASSES_ON,
        fires_at_end_only=True,
        is_repeatable=True,
        late_port=LATE_PORT,
    ),
    model=model,
    check=check,
    runtime=EventOrderRuntime,
)
