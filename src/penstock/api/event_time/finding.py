"""Finds the event time of a stream: by which attribute it is in order, and where that was made so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.ir.expressions import Attribute, Symbol
from penstock.ir.graph import Operator

if TYPE_CHECKING:
    from penstock.api.streams import Stream

WINDOW_START, WINDOW_END = "window_start", "window_end"
"""The output attributes of windows by event time."""

_ORDER, _AGGREGATE = "EventOrder", "EventAggregate"


def find_event_time(stream: Stream, given: str | None) -> tuple[str, str | None]:
    """The attribute with the event time of a stream, and the unit of an integer.

    Args:
        stream: Whose operators are followed back to where its order was made.
        given: The attribute, if the caller knows it.

    Raises:
        UserError: It cannot be found, or the stream does not have it.
    """
    name, resolution = _follow_back(stream)
    name = name if given is None else given
    if name is None:
        message = f"the event time of `{stream.id}` is not known"
        hint = 'put it in order with `by_event_time`, or name the attribute, as in `on="at"` of the window'
        raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
    if name not in stream.schema.position:
        message = f"`{stream.id}` does not have the attribute `{name}`, by which it is in order"
        hint = did_you_mean(name, stream.schema.names) or "keep it, or name another one that is in the same order"
        raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
    return name, resolution


def _follow_back(stream: Stream) -> tuple[str | None, str | None]:
    """The event time of the nearest operator before a stream that gives its tuples in order."""
    operators = {port.stream: o for o in stream.app.operators for port in o.outputs}
    operator = operators.get(stream.id)
    seen: set[str] = set()
    while operator is not None and operator.id not in seen:
        seen.add(operator.id)
        if operator.kind == _ORDER:
            (time,) = operator.param("time")
            words = [v.name for v in operator.param("resolution") if isinstance(v, Symbol)]
            return (time.name if isinstance(time, Attribute) else None), (words[0] if words else None)
        # The rows of a table that tuples are looked up in do not change the order of these.
        streams = [s for port in operator.inputs for s in port.streams if not stream.app._is_first(s)]
        before = operators.get(streams[0]) if len(streams) == 1 else None
        if operator.kind == _AGGREGATE and before is not None:
            return _start_or_end(before), None
        operator = before
    return None, None


def _start_or_end(windows: Operator) -> str:
    """The attribute by which the output of windows is in order: sessions overlap, others end as they have started."""
    return WINDOW_END if windows.param("gap") else WINDOW_START
