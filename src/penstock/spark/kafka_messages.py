"""From Kafka's messages to tuples.

Within a batch messages are taken in the order of their time, partition by partition where times are equal. A message's
time is its time stamp, or that of a message before it in its partition if that is later, so each partition keeps its
order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.codegen.places import Array
from penstock.codegen.transport import TUPLE
from penstock.diagnostics import UserError
from penstock.expr.environment import Tuple
from penstock.expr.values import to_arrow_array
from penstock.ir.arrow import arrow_schema, arrow_type
from penstock.ir.types import BLOB, TIMESTAMP, Type
from penstock.reference.result import DeadLetter
from penstock.spark.source_rows import Items
from penstock.toolkit.formats import Settings, csv, json_lines
from penstock.toolkit.kafka_consumer import MessageForm


def tuples_of(table: pa.Table, form: MessageForm, operator: str) -> tuple[Items, list[DeadLetter]]:
    """The tuples of messages, in order, and what was set aside.

    Raises:
        UserError: A message does not fit the schema, and the policy is to fail.
    """
    order, time_ns = in_time(table)
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
    return Items(time_ns=time_ns[kept], kind=kind, tuples=tuples), letters


def in_time(table: pa.Table) -> tuple[Array, Array]:
    """The order in which messages are taken, and their times in it.

    Example:
        >>> table = pa.table({"topic": ["t", "t", "t"], "partition": [0, 0, 1], "offset": [0, 1, 0],
        ...     "micros": [20, 10, 15]})
        >>> [part.tolist() for part in in_time(table)]
        [[2, 0, 1], [15000, 20000, 20000]]
    """
    topic = table.column("topic").combine_chunks().dictionary_encode()
    topic = topic.chunk(0) if isinstance(topic, pa.ChunkedArray) else topic
    rank = np.argsort(np.argsort(np.array(topic.dictionary.to_pylist(), object)))
    names = rank[topic.indices.to_numpy()]
    partition, offset, micros = (table.column(c).to_numpy() for c in ("partition", "offset", "micros"))
    together = np.lexsort((offset, partition, names))
    begins = np.flatnonzero(np.diff(names[together], prepend=-1) | np.diff(partition[together], prepend=-1))
    latest = [np.maximum.accumulate(part) for part in np.split(micros[together], begins[1:])]
    time_ns = np.maximum(np.concatenate(latest), 0) * 1000
    order = np.argsort(time_ns, kind="stable")
    return together[order], time_ns[order]


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
                message = f"operator `{operator}` (KafkaConsumer) failed on the message of {where}: {error}"
                raise UserError(message, hint="write `parsing: permissive` to set such messages aside") from None
            letters.append(DeadLetter(operator=operator, record=text, reason=f"{where}: {error}"))
    return rows, letters, kept


def _parser(form: MessageForm) -> Callable[[str], Tuple]:
    if form.format == "json":
        return json_lines.row_parser(form.body)
    return csv.row_parser(form.body, Settings(separator=form.separator))
