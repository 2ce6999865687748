"""Windows by event time: EventWindows sees all keys and tells when they close, EventAggregate is partitioned by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.api.column_words import agg, col
from penstock.api.event_time.finding import WINDOW_END, WINDOW_START, find_event_time
from penstock.api.outputs import Output, output_schema
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.windows import EventWindowSpec
from penstock.ir.types import BOOLEAN, TIMESTAMP, Schema, TupleType, TypedName

if TYPE_CHECKING:
    from penstock.api.streams import Stream


_WINDOWS, _AGGREGATE = "EventWindows", "EventAggregate"


def aggregate_event_windows(
    stream: Stream,
    window: EventWindowSpec,
    columns: Mapping[str, Any],
    keys: Sequence[str],
    schema: SchemaLike | None,
    name: str | None,
) -> Stream:
    """Aggregate over windows by event time, one for each value of the keys.

    Args:
        stream: In the order of event time.
        window: Which windows.
        columns: The output, over output functions.
        keys: The attributes that are the key.
        schema: Of the output; by default the keys, the start and the end of the window, and the columns.
        name: Of the operator that aggregates.
    """
    time, resolution = find_event_time(stream, window.on)
    start, end, closes = (_free_name(stream.schema, word) for word in (WINDOW_START, WINDOW_END, "window_closes"))
    added = (TypedName(start, TIMESTAMP), TypedName(end, TIMESTAMP), TypedName(closes, BOOLEAN))
    params: dict[str, Any] = {"time": col[time]}
    params |= {} if resolution is None else {"resolution": resolution}
    params |= {"partitionBy": [col[key] for key in keys]} if keys else {}
    lengths = {"size": window.size, "slide": window.slide, "gap": window.gap, "offset": window.offset or None}
    params |= {word: seconds for word, seconds in lengths.items() if seconds is not None}
    closing = Output(schema=schema_of(TupleType((*stream.schema.attributes, *added))))
    (closed,) = stream.app.invoke(_WINDOWS, stream, outputs=[closing], params=params)
    bounds = {WINDOW_START: agg.last(col[start]), WINDOW_END: agg.last(col[end])}
    before = {**{key: agg.any(col[key]) for key in keys}, **bounds}
    chosen = {**{k: v for k, v in before.items() if k not in columns}, **columns}
    if schema is not None:
        wanted = schema_of(schema)
        chosen = {k: v for k, v in chosen.items() if k in wanted.position or k in columns}
    target = schema_of(schema) if schema is not None else output_schema(chosen, _AGGREGATE, closed.schema)
    return stream.app.invoke(
        _AGGREGATE,
        closed,
        outputs=[Output(schema=target, name=name, assign=chosen)],
        params={
            "start": col[start],
            "end": col[end],
            "closes": col[closes],
            **({"partitionBy": [col[key] for key in keys]} if keys else {}),
            **({} if window.slide is None else {"slide": window.slide}),
        },
    )[0]


def _free_name(schema: Schema, wanted: str) -> str:
    name = wanted
    while name in schema.position:
        name += "_"
    return name
