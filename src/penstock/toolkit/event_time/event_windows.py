"""EventWindows: says when the windows of each key close, in a stream that is in the order of event time.

The output has the attributes of the input and three more, the last ones: the start and the end of a window, and
whether this is its close. Each tuple is passed on; its start is its event time. A *close* stands for a window that is
over: of the tuple it has the key, and default values beside. It comes behind the last tuple of the window, before the
first tuple of any key that is later than the window. So windows close although no tuple of their key comes, and what is
made of them can be partitioned by the key (`event_aggregate`).

A window is a stretch of time of `size` seconds that starts at a multiple of `slide` seconds since 1970 (of `size`
without it), plus `offset`; its end is not part of it. With `gap` it is a session instead: it goes on as long as each
tuple of the key comes no more than `gap` seconds behind the one before, and ends `gap` seconds behind the last one.
Only windows with tuples close. Of those that are over with one tuple the earliest end comes first; of equal ones, that
whose key has been without a window longest. When the input ends, all windows close.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.expr.values import default_value
from penstock.ir.expressions import Attribute, Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Why
from penstock.ir.types import BOOLEAN, FLOAT64, TIMESTAMP, Type
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.event_time.event_times import RESOLUTION, check_times, read_times
from penstock.toolkit.windows.partition import check_keys, key_function

_ADDED: tuple[Type, ...] = (TIMESTAMP, TIMESTAMP, BOOLEAN)


class EventWindowsRuntime(LogicRuntime):
    """An EventWindows at work.

    Attributes:
        open: For each key with an open window: a number, the start of the first, the end of the last, the values of a
            close.
        due: When the next window of each key may close: end, number, key; a heap.
        opened: How often a key has got a window while it had none.
        latest: The latest time so far.
    """

    remembers = ("open", "due", "opened", "latest")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        (time,) = operator.param("time")
        self._time, self._ns = self.scalar(time), read_times(operator, time.type)
        self._key = key_function(operator.param("partitionBy"), self.row)
        self._gap_ns = self.duration_ns("gap")
        self._size_ns = self.duration_ns("size")
        self._slide_ns = self.duration_ns("slide") or self._size_ns
        self._offset_ns = self.duration_ns("offset")
        names = {e.name for e in operator.param("partitionBy") if isinstance(e, Attribute)}
        self._defaults = [
            None if a.name in names else (default_value(a.type),) for a in operator.inputs[0].schema.attributes
        ]
        self.open: dict[Hashable, list[Any]] = {}
        self.due: list[tuple[int, int, Hashable]] = []
        self.opened = 0
        self.latest: int | None = None

    def taker(self, port: int) -> Submit:
        """Close what is over, let the tuple into its windows and pass it on."""
        time, ns, key, submit = self._time, self._ns, self._key, self.submit[0]
        enter = self._enter_session if self._gap_ns else self._enter_aligned

        def take(tuple_: Tuple) -> None:
            time_ns = ns(time(tuple_))
            if self.latest is not None and time_ns < self.latest:
                message = f"a tuple of the event time {time_ns} ns comes behind one of {self.latest} ns"
                raise UserError(message, hint="put the stream in order by EventOrder, in Python `by_event_time`")
            self.latest = time_ns
            if self.due and self._is_over(self.due[0][0], time_ns):
                self._close(time_ns)
            if enter(() if key is None else key(tuple_), time_ns, tuple_):
                submit((*tuple_, time_ns, time_ns, False))

        return take

    def take_window_marker(self, port: int) -> None:
        """Markers of the input stop here."""

    def finish(self) -> None:
        """Close all windows."""
        self._close(None)

    def _is_over(self, end: int, time_ns: int) -> bool:
        """Whether a window is over for a tuple; one that comes exactly a gap behind another is of its session."""
        return end < time_ns if self._gap_ns else end <= time_ns

    def _enter_session(self, key: Hashable, time_ns: int, tuple_: Tuple) -> bool:
        entry = self.open.get(key)
        if entry is None:
            self._open(key, time_ns, time_ns + self._gap_ns, time_ns + self._gap_ns, tuple_)
        else:
            entry[2] = time_ns + self._gap_ns
        return True

    def _enter_aligned(self, key: Hashable, time_ns: int, tuple_: Tuple) -> bool:
        """Let a tuple into its windows; tells whether it has any, which it may not where windows lie apart."""
        last_start = (time_ns - self._offset_ns) // self._slide_ns * self._slide_ns + self._offset_ns
        last_end = last_start + self._size_ns
        if last_end <= time_ns:
            return False
        entry = self.open.get(key)
        if entry is None:
            # The first of the windows that hold the tuple ends behind it.
            first_end = last_end - (last_end - time_ns - 1) // self._slide_ns * self._slide_ns
            self._open(key, first_end - self._size_ns, last_end, first_end, tuple_)
        else:
            entry[2] = last_end
        return True

    def _open(self, key: Hashable, start: int, end: int, due: int, tuple_: Tuple) -> None:
        self.opened += 1
        close = [v if d is None else d[0] for v, d in zip(tuple_, self._defaults, strict=True)]
        self.open[key] = [self.opened, start, end, close]
        heapq.heappush(self.due, (due, self.opened, key))

    def _close(self, time_ns: int | None) -> None:
        """Close the windows that are over before a tuple, or all."""
        due = self.due
        while due and (time_ns is None or self._is_over(due[0][0], time_ns)):
            end, number, key = heapq.heappop(due)
            entry = self.open[key]
            if self._gap_ns and entry[2] != end:
                # The session has gone on since.
                heapq.heappush(due, (entry[2], number, key))
                continue
            start = entry[1] if self._gap_ns else end - self._size_ns
            if end >= entry[2]:
                del self.open[key]
            else:
                heapq.heappush(due, (end + self._slide_ns, number, key))
            self.submit[0]((*entry[3], start, end, True))


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    time = operator.param("time")
    check_times(operator, {"time": time[0] if time else None}, found)
    check_keys(operator, ("partitionBy",), found)
    for value in operator.param("partitionBy"):
        if not isinstance(value, Attribute):
            found.error("`partitionBy` of an EventWindows names attributes", value.span or operator.span)
    if bool(operator.param("gap")) == bool(operator.param("size")):
        found.error("an EventWindows has either a `size` or a `gap`", operator.span)
    for name in ("slide", "offset"):
        if operator.param(name) and not operator.param("size"):
            found.error(f"`{name}` belongs to windows with a `size`", operator.span)
    for name in ("size", "gap", "slide", "offset"):
        for value in operator.param(name):
            least = 0.0 if name == "offset" else 1e-9
            if isinstance(value, Literal) and not least <= value.value < 4e9:  # type: ignore[operator]
                message = f"`{name}` is a number of seconds above 0, found {value.value!r}"
                found.error(message, value.span or operator.span)
    given, made = operator.inputs[0].schema.attributes, operator.outputs[0].schema.attributes
    if made[: len(given)] != given or tuple(a.type for a in made[len(given) :]) != _ADDED:
        message = "the output of an EventWindows has the attributes of its input, two timestamps and a boolean"
        found.error(message, operator.span, hint="add `timestamp start, timestamp end, boolean closes`")


def model(operator: Operator) -> OperatorModel:
    """Not parallelizable: a tuple of any key closes the windows of all."""
    return OperatorModel(
        forwarding=Forwarding.ALWAYS,
        forwards=frozenset(e.name for e in operator.param("partitionBy") if isinstance(e, Attribute)),
        spontaneous=True,
        markers=Markers.NONE,
        why=(
            Why(Flag.STATE, "a tuple of any key tells that the windows of all keys are over"),
            Why(Flag.SELECTIVITY, "a tuple may close any number of windows"),
        ),
    )


def _seconds(name: str, doc: str) -> ParamSpec:
    return ParamSpec(name=name, kind=ParamKind.CONSTANT, types=(FLOAT64,), doc=doc)


DEFINITION = OperatorDefinition(
    name="EventWindows",
    doc="Tells when windows by event time close: each close is a tuple behind those of its window.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="time", required=True, doc="The event time, by which the input is in order."),
        RESOLUTION,
        ParamSpec(name="partitionBy", many=True, doc="The attributes that are the key; without them there is one."),
        _seconds("size", "How many seconds a window holds."),
        _seconds("slide", "How many seconds after a window the next one starts; its size without it."),
        _seconds("offset", "By how many seconds windows start later than at multiples of `slide`."),
        _seconds("gap", "How many seconds without a tuple end a session."),
    ),
    output=OutputClause.FREE,
    facts=Facts(fires_at_end_only=True, is_repeatable=True),
    model=model,
    check=check,
    runtime=EventWindowsRuntime,
)
