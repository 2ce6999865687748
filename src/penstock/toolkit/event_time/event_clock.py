"""EventClock: tells how far the event time of a stream has come.

What it sends are *watermarks*: a watermark w says that tuples from before w are no longer waited for. The watermark is
the latest time that has come, on any input port, less the lag. It is sent behind the tuple that moved it, but only if
it has gone on by the `minimumGap` since the last one that was sent. It starts at 1970 and never falls.

Nothing is sent when the input ends, and window markers of the input do not go through.
"""

from __future__ import annotations

import math

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts, Reads
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Markers, OperatorModel, Selectivity, Why
from penstock.ir.types import FLOAT64, TIMESTAMP
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.event_time.event_times import RESOLUTION, attribute_types, check_times, read_times
from penstock.toolkit.windows.partition import of_port


class EventClockRuntime(LogicRuntime):
    """An EventClock at work.

    Attributes:
        watermark: Up to where event time has come.
        due: What the watermark must have come to until the next one is sent.
    """

    remembers = ("watermark", "due")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._lag_ns = self.duration_ns("lag")
        self._gap_ns = self.duration_ns("minimumGap")
        self.watermark = 0
        self.due = 0

    def taker(self, port: int) -> Submit:
        """Move the watermark, and send it where it has moved by enough."""
        time = self.operator.param("time")[port]
        read, ns = of_port(self.scalar(time), port, len(self.operator.inputs)), read_times(self.operator, time.type)
        lag_ns, gap_ns, submit = self._lag_ns, self._gap_ns, self.submit[0]

        def take(tuple_: Tuple) -> None:
            reached = ns(read(tuple_)) - lag_ns
            if reached > self.watermark:
                self.watermark = reached
                if reached >= self.due:
                    self.due = reached + gap_ns
                    submit((reached,))

        return take

    def take_window_marker(self, port: int) -> None:
        """Markers of the input stop here."""


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    times = operator.param("time")
    check_times(operator, {f"time {i}" if i else "time": time for i, time in enumerate(times)}, found)
    if len(times) != len(operator.inputs):
        message = f"`time` gives {len(times)} times for {len(operator.inputs)} input ports"
        found.error(message, operator.span, hint="give one for each port, in their order")
    for name in ("lag", "minimumGap"):
        for value in operator.param(name):
            if isinstance(value, Literal) and not 0 <= value.value < math.inf:  # type: ignore[operator]
                message = f"`{name}` is a number of seconds, 0 or more, found {value.value!r}"
                found.error(message, value.span or operator.span)
    if attribute_types(operator.outputs[0].schema) != (TIMESTAMP,):
        message = "the output of an EventClock has one attribute, a timestamp"
        found.error(message, operator.span, hint="declare it as `stream<timestamp watermark>`")


def model(operator: Operator) -> OperatorModel:
    """Not parallelizable: the latest time is that of all tuples."""
    return OperatorModel(
        selectivity=Selectivity.AT_MOST_ONE,
        markers=Markers.NONE,
        why=(Why(Flag.STATE, "the watermark follows from the times of all tuples"),),
    )


def _seconds(name: str, doc: str) -> ParamSpec:
    return ParamSpec(name=name, kind=ParamKind.CONSTANT, types=(FLOAT64,), doc=doc)


DEFINITION = OperatorDefinition(
    name="EventClock",
    doc="Tells by watermarks how far the event time of a stream has come; what `@eventTime` makes in SPL.",
    inputs=(1, None),
    outputs=(1, 1),
    params=(
        ParamSpec(name="time", required=True, many=True, doc="The event time of the tuples of each input port."),
        RESOLUTION,
        _seconds("lag", "How many seconds the watermark is behind the latest time; 0 without it."),
        _seconds("minimumGap", "How many seconds of event time lie at least between two watermarks; 0 without it."),
    ),
    output=OutputClause.FREE,
    facts=Facts(reads=Reads.EXPRESSIONS, is_repeatable=True),
    model=model,
    check=check,
    runtime=EventClockRuntime,
)
