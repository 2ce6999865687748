"""Methods of a stream that go by event time: its order, windows that are aligned to the clock, joins within a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.column_words import Attributes, attribute_names, col, equal_columns, lhs, output_columns, rhs
from penstock.api.columns import Column
from penstock.api.event_time.finding import find_event_time
from penstock.api.outputs import Output, output_schema
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.spans import caller_span
from penstock.api.windows import EventDuration, duration_seconds
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.types import Schema

if TYPE_CHECKING:
    from penstock.api.application import App
    from penstock.api.streams import Stream

RESOLUTIONS = {"s": "Seconds", "ms": "Milliseconds", "us": "Microseconds", "ns": "Nanoseconds"}
"""The units of an event time that is an integer, and their names in SPL."""


class StreamEventTime:
    """The methods of a stream that go by event time."""

    __slots__ = ()

    app: App
    id: str
    schema: Schema
    operator: str

    def by_event_time(
        self,
        time: str | Column,
        *,
        lateness: EventDuration = 0,
        resolution: str | None = None,
        source: Attributes = (),
        idle: EventDuration | None = None,
        name: str | None = None,
    ) -> tuple[Stream, Stream]:
        """Put the tuples in the order of an attribute; returns that stream, and the one of tuples that come too late.

        A tuple waits until the watermark has come to its time: the latest time so far, less the lateness. One from
        before the watermark leaves by the second stream and is counted. With `source` the watermark is the least over
        the partitions of the source. At the end all that waits leaves, in order.

        Args:
            time: The attribute: a timestamp, a float of seconds, or an integer with a `resolution`.
            lateness: How far a tuple may be behind the latest one, such as `"5 s"`.
            resolution: The unit of a time that is an integer: `s`, `ms`, `us` or `ns`.
            source: The attributes that tell which partition of the source a tuple is from.
            idle: How far a partition may be behind the one in front before it is no longer waited for.
            name: Of the operator; also `named`.

        Example:
            >>> from penstock import App
            >>> hits = App().from_rows([(2.0,), (1.0,), (9.0,), (3.0,)], "float64 at")
            >>> in_order, late = hits.by_event_time("at", lateness="2 s")
            >>> in_order.collect(), late.collect()
            ([Row(at=1.0), Row(at=2.0), Row(at=9.0)], [Row(at=3.0)])
        """
        params: dict[str, Any] = {"time": col[time] if isinstance(time, str) else time}
        params["lateness"] = duration_seconds(lateness)
        if resolution is not None:
            params["resolution"] = _spell_resolution(resolution)
        if keys := attribute_names(source):
            params["source"] = [col[key] for key in keys]
        if idle is not None:
            params["idle"] = duration_seconds(idle)
        late = None if name is None else f"{name}_late"
        outputs = [Output(schema=self.schema, name=name), Output(schema=self.schema, name=late)]
        in_order, others = self.app.invoke("EventOrder", self._one, outputs=outputs, params=params)
        return in_order, others

    def join_within(
        self,
        other: Stream,
        *columns: Any,
        within: tuple[EventDuration, EventDuration],
        on: Attributes | tuple[Column, Column] | None = None,
        match: Column | None = None,
        time: tuple[str, str] | None = None,
        schema: SchemaLike | None = None,
        name: str | None = None,
        **named: Any,
    ) -> Stream:
        """Join tuples of two streams whose event times are near each other; both are in that order (`by_event_time`).

        Args:
            other: The right side.
            columns: The output: columns with an alias, or dicts of columns, over `lhs` and `rhs`.
            within: The least and the greatest time from a left tuple to its right one, such as `("-5 s", "10 s")`.
            on: What must be equal: attributes that both sides have, or equal columns as in `(lhs.id, rhs.key)`.
            match: A further condition over `lhs` and `rhs`.
            time: The attributes with the event time, if they are not those of `by_event_time`.
            schema: Of the output; what is not given as a column is copied by name. By default: the columns given.
            name: Of the operator; also `named`.
            named: More columns, by name.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> ads, _ = app.from_rows([(1.0, "a"), (9.0, "b")], "float64 at, rstring ad").by_event_time("at")
            >>> clicks, _ = app.from_rows([(3.0, "a"), (90.0, "b")], "float64 at, rstring ad").by_event_time("at")
            >>> ads.join_within(clicks, ad=lhs.ad, after=rhs.at - lhs.at, on="ad", within=(0, "1 minute")).collect()
            [Row(ad='a', after=2.0)]
        """
        given = time or (None, None)
        left, resolution = find_event_time(self._one, given[0])
        right, other_resolution = find_event_time(other, given[1])
        lower, upper = (duration_seconds(bound) for bound in within)
        params: dict[str, Any] = {"timeLHS": lhs[left], "timeRHS": rhs[right], "lower": lower, "upper": upper}
        if resolution or other_resolution:
            params["resolution"] = resolution or other_resolution
        if match is not None:
            params["match"] = match
        if on is not None:
            params["equalityLHS"], params["equalityRHS"] = equal_columns(on)
        chosen = output_columns(columns, named)
        target = (
            schema_of(schema) if schema is not None else output_schema(chosen, "EventJoin", self.schema, other.schema)
        )
        output = Output(schema=target, name=name, assign=chosen)
        return self.app.invoke("EventJoin", self._one, other, outputs=[output], params=params)[0]

    @property
    def _one(self) -> Any:
        return self


def _spell_resolution(word: str) -> str:
    if word not in RESOLUTIONS:
        message = f"`resolution` is {word!r}"
        hint = f"write one of {', '.join(repr(known) for known in RESOLUTIONS)}"
        raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
    return RESOLUTIONS[word]
