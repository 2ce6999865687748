"""EventPanes: collects tuples by intervals of event time, and sends them when the interval is complete.

A *pane* holds the tuples of one interval: `size` seconds that begin at `offset` plus a multiple of `period` seconds
since 1970; the end is not part of it, and none begins before 1970. A tuple belongs to every interval around its time.
The watermark is the least of those that the clocks on the further input ports (`event_clock`) have sent last. When it
moves, every pane whose end it has come to and into which tuples came since it was last sent is sent, the earliest
first: of each partition with new tuples all tuples, in order of arrival, and then a window marker. So a pane is sent
again when tuples come for it later. A tuple that is more than `discardAge` seconds behind the watermark is ignored; a
pane is dropped when the watermark is so far behind its end.

The output has the attributes of the input, and perhaps four more: start and end of the interval, how often the pane has
been sent before, and whether this is the first time (`paneOnComplete`) or a later one (`paneLate`).

What is not complete when the input ends is not sent. Window markers of the inputs do not go through.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import partial
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Markers, OperatorModel, Why
from penstock.ir.system_enumerations import SYSTEM_ENUMERATIONS
from penstock.ir.types import FLOAT64, TIMESTAMP, UINT64, Type
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole, same_nan
from penstock.toolkit.core.runtime import Context, Punctuation, Submit
from penstock.toolkit.event_time.event_times import RESOLUTION, attribute_types, check_times, read_times, unit_ns
from penstock.toolkit.windows.partition import check_keys, key_function, of_port

ADDED: tuple[Type, ...] = (TIMESTAMP, TIMESTAMP, UINT64, SYSTEM_ENUMERATIONS["Sys.PaneTiming"])
"""The types of the attributes that say which pane a tuple is sent with."""

_SEEN, _PARTS = 0, 1


class EventPanesRuntime(LogicRuntime):
    """An EventPanes at work.

    Attributes:
        panes: By the start of the interval: how often it has been sent; by key, whether tuples are new, and all tuples.
        reached: The last watermark of each clock.
        watermark: The least of them.
    """

    remembers = ("panes", "reached", "watermark")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        ports = len(operator.inputs)
        (time,) = operator.param("time")
        self._time, self._ns = of_port(self.scalar(time), 0, ports), read_times(operator, time.type)
        self._key = key_function(operator.param("partitionBy"), lambda e: of_port(self.row(e), 0, ports))
        self._unit_ns = unit_ns(operator, time.type)
        self._size_ns = self.duration_ns("size")
        self._period_ns = self.duration_ns("period") or self._size_ns
        if not self._size_ns:
            raise UserError(f"the `size` of {operator.id} is shorter than a nanosecond")
        self._offset_ns = self.duration_ns("offset") % self._period_ns
        self._age_ns = self.duration_ns("discardAge")
        self._tells = len(operator.outputs[0].schema.attributes) > len(operator.inputs[0].schema.attributes)
        self.panes: dict[int, list[Any]] = {}
        self.reached = [0] * (ports - 1)
        self.watermark = 0

    def taker(self, port: int) -> Submit:
        """Put each tuple into its panes; watermarks let panes go."""
        return self._take_tuple if port == 0 else partial(self._take_watermark, port - 1)

    def take_window_marker(self, port: int) -> None:
        """Markers of the inputs stop here."""

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Take the panes over, with keys that are equal to those that come."""
        super().restore_from(whole, parts)
        for pane in self.panes.values():
            pane[_PARTS] = {same_nan(key): part for key, part in pane[_PARTS].items()}

    def _take_tuple(self, tuple_: Tuple) -> None:
        time_ns = self._ns(self._time(tuple_))
        if time_ns < self.watermark - self._age_ns:
            return
        key: Hashable = () if self._key is None else self._key(tuple_)
        start = time_ns - (time_ns - self._offset_ns) % self._period_ns
        while start >= 0 and start + self._size_ns > time_ns:
            pane = self.panes.setdefault(start, [0, {}])
            part = pane[_PARTS].setdefault(key, [True, []])
            part[0] = True
            part[1].append(tuple_)
            start -= self._period_ns

    def _take_watermark(self, clock: int, tuple_: Tuple) -> None:
        """Send the panes that are complete, and drop those that are over."""
        watermark_ns: Any = tuple_[0]
        # A time in milliseconds is not compared with fractions of them.
        self.reached[clock] = watermark_ns - watermark_ns % self._unit_ns
        least = min(self.reached)
        if least <= self.watermark:
            return
        self.watermark = least
        for start in sorted(s for s in self.panes if s + self._size_ns <= least):
            self._send(start, self.panes[start])
            if start + self._size_ns + self._age_ns <= least:
                del self.panes[start]

    def _send(self, start: int, pane: list[Any]) -> None:
        submit, seen = self.submit[0], pane[_SEEN]
        timing = "paneLate" if seen else "paneOnComplete"
        told = (start, start + self._size_ns, seen, timing) if self._tells else ()
        fresh = [part for part in pane[_PARTS].values() if part[0]]
        for part in fresh:
            part[0] = False
            for tuple_ in part[1]:
                submit((*tuple_, *told))
            self.punctuate[0](Punctuation.WINDOW)
        pane[_SEEN] = seen + bool(fresh)


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    time = operator.param("time")
    check_times(operator, {"time": time[0] if time else None}, found)
    check_keys(operator, ("partitionBy",), found)
    _check_lengths(operator, found)
    given, made = operator.inputs[0].schema.attributes, operator.outputs[0].schema.attributes
    if made[: len(given)] != given or attribute_types(operator.outputs[0].schema)[len(given) :] not in ((), ADDED):
        message = (
            "the output of an EventPanes has the attributes of its first input, and perhaps four that tell the pane"
        )
        hint = "add `timestamp start, timestamp end, uint64 index, Sys.PaneTiming timing`, or nothing"
        found.error(message, operator.span, hint=hint)
    if any(attribute_types(port.schema) != (TIMESTAMP,) for port in operator.inputs[1:]):
        found.error("the further inputs of an EventPanes are watermarks", operator.span, hint="take an EventClock's")


def _check_lengths(operator: Operator, found: Diagnostics) -> None:
    lengths: dict[str, Any] = {}
    for name, least in (("size", 1e-9), ("period", 1e-9), ("offset", 0.0), ("discardAge", 0.0)):
        for value in operator.param(name):
            if isinstance(value, Literal):
                lengths[name] = value.value
                if not least <= lengths[name] < 4e9:
                    what = "above 0" if least else "0 or more"
                    message = f"`{_WRITTEN[name]}` is a number of seconds, {what}, found {value.value!r}"
                    found.error(message, value.span or operator.span)
    if not found and lengths.get("offset", 0.0) >= lengths.get("size", math.inf):
        found.error("`intervalOffset` must be smaller than `intervalDuration`", operator.span)


_WRITTEN = {
    "size": "intervalDuration",
    "period": "creationPeriod",
    "offset": "intervalOffset",
    "discardAge": "discardAge",
}
"""The parameters by the names that they have in a window clause of SPL."""


def model(operator: Operator) -> OperatorModel:
    """Not parallelizable: the watermark completes the panes of all partitions."""
    return OperatorModel(
        markers=Markers.OWN,
        why=(
            Why(Flag.STATE, "a watermark completes the panes of all partitions, in order"),
            Why(Flag.SELECTIVITY, "a watermark sends any number of tuples"),
        ),
    )


def _seconds(name: str, doc: str, *, required: bool = False) -> ParamSpec:
    return ParamSpec(name=name, kind=ParamKind.CONSTANT, types=(FLOAT64,), required=required, doc=doc)


DEFINITION = OperatorDefinition(
    name="EventPanes",
    doc="Sends the tuples of each interval of event time when it is complete; what a `timeInterval` window is in SPL.",
    inputs=(2, None),
    outputs=(1, 1),
    params=(
        ParamSpec(name="time", required=True, ports=(0,), doc="The event time of the tuples."),
        RESOLUTION,
        ParamSpec(name="partitionBy", many=True, ports=(0,), doc="The tuples of each key are sent by themselves."),
        _seconds("size", "How many seconds an interval has.", required=True),
        _seconds("period", "How many seconds after an interval the next one begins; its size without it."),
        _seconds("offset", "By how many seconds intervals begin later than at multiples of `period`."),
        _seconds("discardAge", "For how many seconds behind the watermark a tuple still counts; 0 without it."),
    ),
    output=OutputClause.FREE,
    facts=Facts(is_repeatable=True),
    model=model,
    check=check,
    runtime=EventPanesRuntime,
)
