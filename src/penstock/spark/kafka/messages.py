"""From Kafka's messages to tuples.

Messages are taken in the order of their time, and where times are equal in that of their offsets, then of their
partitions. A message's time is its time stamp, or that of a message before it in its partition if that is later, so
each partition keeps its order. All of this can be told from one partition, so each is read and parsed by a task of its
own; that no partition is behind the others is up to the gate behind them (`source_gate`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import TUPLE
from penstock.expr.environment import Tuple
from penstock.expr.values import to_arrow_array
from penstock.ir.arrow import arrow_schema, arrow_type
from penstock.ir.types import BLOB, TIMESTAMP, Type
from penstock.reference.result import DeadLetter
from penstock.runtime.sources.outside_rows import Items
from penstock.spark.gate.source_gate import LANES
from penstock.toolkit.adapters.kafka_consumer import MessageForm
from penstock.toolkit.formats import Settings, csv, json_lines

_OFFSETS = 2**40
"""Offsets are counted up to here, so that numbers stay small enough; messages of one time are never so far apart."""


def tuples_of(
    table: pa.Table, form: MessageForm, operator: str, topics: Sequence[str] = ()
) -> tuple[Items, list[DeadLetter]]:
    """The tuples of messages, in order, and what was set aside.

    Args:
        table: The messages of a batch in some partitions, all that there are of each.
        form: How to read them.
        operator: Who reads them.
        topics: All that are read, the same ones in every task; those of the table without it.

    Raises:
        UserError: A message does not fit the schema, and the policy is to fail.
    """
    order, time_ns, number = in_time(table, topics)
    table = table.take(pa.array(order)).combine_chunks()
    rows, letters, kept = _parsed(table, form, operator)
    table = table.filter(pa.array(kept)).combine_chunks()
    columns = []
    for attribute in form.schema.attributes:
        if attribute.name in form.parts:
            columns.append(_part(table, form.parts[attribute.name], attribute.type))
        else:
            position = form.body.position[attribute.name]
            columns.append(to_arrow_array([row[position] for row in rows], attribute.type))
    tuples = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(form.schema))
    kind = np.full(int(kept.sum()), TUPLE, np.uint8)
    return Items(time_ns=time_ns[kept], kind=kind, tuples=tuples, number=number[kept]), letters


def in_time(table: pa.Table, topics: Sequence[str] = ()) -> tuple[Array, Array, Array]:
    """The order in which messages are taken, and their times and numbers in it.

    The number of a message is its offset, and behind that its partition, so no two have the same in any batch.

    Example:
        >>> table = pa.table({"topic": ["t", "t", "t"], "partition": [0, 0, 1], "offset": [5, 6, 0],
        ...     "micros": [20, 10, 15]})
        >>> [part.tolist() for part in in_time(table)]
        [[2, 0, 1], [15000, 20000, 20000], [1, 327680, 393216]]
    """
    lane = _lanes(table, topics)
    offset, micros = (table.column(c).to_numpy() for c in ("offset", "micros"))
    together = np.lexsort((offset, lane))
    begins = np.flatnonzero(np.diff(lane[together], prepend=-1))
    parts = np.split(micros[together], begins[1:])
    time_ns = np.maximum(np.concatenate([np.maximum.accumulate(part) for part in parts]), 0) * 1000
    number = offset[together] % _OFFSETS * LANES + lane[together]
    order = np.lexsort((number, time_ns))
    return together[order], time_ns[order], number[order]


def _lanes(table: pa.Table, topics: Sequence[str]) -> Array:
    """A number for the partition of each message, the same in every task."""
    names = table.column("topic").combine_chunks().dictionary_encode()
    names = names.chunk(0) if isinstance(names, pa.ChunkedArray) else names
    found = names.dictionary.to_pylist()
    known = sorted(topics or found)
    rank = np.array([known.index(name) for name in found], np.int64)
    return table.column("partition").to_numpy().astype(np.int64) * len(known) + rank[names.indices.to_numpy()]


def _part(table: pa.Table, part: str, type_: Type) -> pa.Array:
    """A part of the messages that an attribute takes as it is."""
    if part == "timestamp_ms":
        micros = table.column("micros").to_numpy()
        return pa.array(micros * 1000 if type_ == TIMESTAMP else micros // 1000, pa.int64())
    column = table.column(part)
    array = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if part in ("key", "value"):
        filled = array.fill_null(b"")
        if type_ == BLOB:
            return filled
        return pa.array([value.decode(errors="replace") for value in filled.to_pylist()], pa.string())
    return array.cast(arrow_type(type_))


def _parsed(table: pa.Table, form: MessageForm, operator: str) -> tuple[list[Tuple], list[DeadLetter], Array]:
    """The values of the messages that fit, what was set aside, and which fit."""
    if form.format == "raw":
        return [], [], np.ones(table.num_rows, bool)
    parse = _parser(form)
    rows: list[Tuple] = []
    letters: list[DeadLetter] = []
    kept = np.zeros(table.num_rows, bool)
    for i, value in enumerate(table.column("value").to_pylist()):
        text = (value or b"").decode(errors="replace")
        try:
            rows.append(parse(text))
            kept[i] = True
        except ValueError as error:
            partition, offset = table.column("partition")[i].as_py(), table.column("offset")[i].as_py()
            where = f"{table.column('topic')[i].as_py()}/{partition} at offset {offset}"
            if not form.is_permissive:
                raise form.refusal(operator, where, error) from None
            letters.append(DeadLetter(operator=operator, record=text, reason=f"{where}: {error}"))
    return rows, letters, kept


def _parser(form: MessageForm) -> Callable[[str], Tuple]:
    if form.format == "json":
        return json_lines.row_parser(form.body)
    return csv.row_parser(form.body, Settings(separator=form.separator))
