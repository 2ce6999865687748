"""Items of a stream as rows that are kept between jobs, or between batches: a time, a kind, and the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import FINAL, TUPLE
from penstock.expr.predicates import named_values, parse_predicate
from penstock.expr.values import rows_from_batch
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import Schema
from penstock.runtime.sinks.order import Chunk
from penstock.runtime.sources.outside_rows import Items
from penstock.toolkit.adapters.import_ import OFFER, Offer, Wanted

TIME, KIND = "penstock_time_ns", "penstock_kind"


def file_schema(schema: Schema) -> pa.Schema:
    """The schema of a table's files: markers are rows without values."""
    head = [pa.field(TIME, pa.int64()), pa.field(KIND, pa.uint8())]
    return pa.schema([*head, *(field.with_nullable(True) for field in arrow_schema(schema))])


def file_rows(chunk: Chunk, schema: pa.Schema) -> pa.RecordBatch:
    """Items as rows of a table's file; ends of streams are left out, for the log tells of them.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> chunk = Chunk(
        ...     time_ns=np.array([5, 5]), kind=np.array([0, 1], np.uint8), tuples=pa.record_batch({"x": [7]})
        ... )
        >>> file_rows(chunk, file_schema(parse_schema("int64 x"))).to_pylist()[1]
        {'penstock_time_ns': 5, 'penstock_kind': 1, 'x': None}
    """
    is_tuple = chunk.kind == TUPLE
    kept = chunk.kind != FINAL
    columns = list(chunk.tuples.columns)
    if not is_tuple.all():
        rows = pa.array(np.cumsum(is_tuple) - 1, mask=~is_tuple).filter(pa.array(kept))
        columns = [column.take(rows) for column in columns]
    head = [pa.array(chunk.time_ns[kept], pa.int64()), pa.array(chunk.kind[kept], pa.uint8())]
    return pa.RecordBatch.from_arrays([*head, *columns], schema=schema)


def take_wanted(rows: pa.RecordBatch, offer: Offer, wanted: Wanted) -> tuple[pa.RecordBatch, Offer]:
    """The rows of a stream table that an Import takes, as it takes them, and the offer of the last row.

    Args:
        rows: Of the table; where its offer changes, each tuple has its properties.
        offer: Of the row before.
        wanted: The streams that the Import asks for.
    """
    if not offer.changes and not wanted.changes:
        return rows, offer
    kinds = rows.column(KIND).to_pylist()
    texts = rows.column(OFFER).to_pylist() if OFFER in rows.schema.names else [None] * len(kinds)
    kept, told = [], []
    for kind, text in zip(kinds, texts, strict=True):
        offer = offer if text is None else replace(offer.with_properties(text), changes=True)
        kept.append(wanted.takes(offer))
        told.append(offer.text() if kind == TUPLE else None)
    names = [name for name in rows.schema.names if name != OFFER]
    found = rows.select(names)
    if wanted.changes:
        found = found.append_column(pa.field(OFFER, pa.string()), pa.array(told, pa.string()))
    return found.filter(pa.array(kept, pa.bool_())), offer


def items_of(batches: Sequence[pa.RecordBatch], schema: Schema, filter_: str | None) -> Items:
    """The items that rows of stream tables hold, in the order of their time, without those that a filter keeps out."""
    whole = pa.Table.from_batches(batches, schema=file_schema(schema))
    time_ns = np.maximum(whole.column(TIME).to_numpy(), 0)
    order = np.argsort(time_ns, kind="stable")
    if not (np.diff(order) == 1).all():
        whole, time_ns = whole.take(pa.array(order)), time_ns[order]
    kind = whole.column(KIND).to_numpy()
    tuples = _tuples(whole, kind, schema)
    return _filtered(Items(time_ns=time_ns, kind=kind, tuples=tuples), filter_, schema)


def _tuples(whole: pa.Table, kind: Array, schema: Schema) -> pa.RecordBatch:
    """The values of the items that are tuples."""
    kept = whole.drop_columns([TIME, KIND]).filter(pa.array(kind == TUPLE)).combine_chunks()
    arrays = [c.chunk(0) if c.num_chunks else pa.array([], c.type) for c in kept.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))


def _filtered(items: Items, text: str | None, schema: Schema) -> Items:
    """Without the tuples that an Import's filter keeps out."""
    if text is None:
        return items
    predicate = parse_predicate(text)
    passes = np.array([predicate(named_values(schema, row)) for row in rows_from_batch(items.tuples, schema)], bool)
    kept = np.ones(len(items.kind), bool)
    kept[items.kind == TUPLE] = passes
    return Items(time_ns=items.time_ns[kept], kind=items.kind[kept], tuples=items.tuples.filter(pa.array(passes)))
