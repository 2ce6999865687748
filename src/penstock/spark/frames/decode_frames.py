"""The tuples of a stream on their way out of a job: from rows of the transport to the rows of a DataFrame.

What one channel sends is in order as it comes. What several send, or what comes by several edges, is put in the
sequential order in one task, in bounded memory (`runtime.sinks.order`); unless the order of each partition will do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.codegen.transport.batches import REPORT, filled, read_batches
from penstock.ir.types import Schema
from penstock.runtime.sinks.order import Spool
from penstock.spark.frames.encode_frames import Process
from penstock.toolkit.formats.spark_columns import to_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputForm:
    """The form of an output, as tasks know it.

    Attributes:
        edges: That bring its tuples.
        schema: Of these.
        comes_in_order: Whether what a task sees is in order.
    """

    edges: frozenset[int]
    schema: Schema
    comes_in_order: bool

    def rows(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Tuples as rows; attributes that did not travel have default values."""
        return to_rows(filled(tuples, self.schema), self.schema)


def decode_output(form: OutputForm) -> Process:
    """Gives the rows of an output, in order."""

    def values(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
        wanted = list(form.edges)
        for batch in batches:
            mine = batch.filter(pa.array(np.isin(batch.column(0).to_numpy(), wanted)))
            yield from zip(mine.column(0).to_pylist(), mine.column(2).to_pylist(), strict=True)

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if form.comes_in_order:
            for _, value in values(batches):
                tuples = read_batches(value)[1]
                if tuples.num_rows:
                    yield form.rows(tuples)
            return
        with Spool() as spool:
            for edge, value in values(batches):
                spool.add(edge, value)
            for chunk in spool.chunks(form.edges):
                if chunk.tuples.num_rows:
                    yield form.rows(chunk.tuples)

    return process


LETTERS = "operator string, reason string, record string"
"""The schema of a DataFrame of what was set aside."""


def decode_letters() -> Process:
    """Gives what operators have set aside."""

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            reports = batch.filter(pa.array(batch.column(0).to_numpy() == REPORT)).column(2).to_pylist()
            letters = [letter for report in reports for letter in json.loads(report)["dead_letters"]]
            if letters:
                yield pa.RecordBatch.from_pylist(letters, _LETTERS)

    return process


_LETTERS = pa.schema([("operator", pa.string()), ("reason", pa.string()), ("record", pa.string())])
