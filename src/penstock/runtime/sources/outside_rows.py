"""The output of sources that no source PE runs (Kafka, stream tables, an open loop), as rows of the transport.

The items of a batch are numbered in the order in which they are given, beside those of the other sources, and leave by
every edge of the source's stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.rows.paths import binary_array
from penstock.codegen.rows.places import Array
from penstock.codegen.transport.batches import (
    FINAL,
    HEADER,
    ITEMS_PER_VALUE,
    PULSE,
    PULSE_NUMBER,
    REPORT,
    TUPLE,
    encoded_batches,
)
from penstock.codegen.transport.routes import Router, Routing, routing_of
from penstock.reference.result import DeadLetter
from penstock.runtime.pes.reports import Report


def own_sources(plan: PhysicalPlan) -> list[int]:
    """The PEs of the sources that a planner serves; the engine reads the others itself."""
    operator = plan.application.operator
    sources = [pe for pe in plan.pes if pe.role == "source"]
    return [pe.index for pe in sources if not operator[pe.operators[0]].facts.is_read_by_engine]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePE:
    """A source, as tasks know it.

    Attributes:
        pe: Its PE.
        operator: Its only operator.
        order: Its number among the sources.
        sources: How many sources there are.
        routing: Of what leaves it.
    """

    pe: int
    operator: str
    order: int
    sources: int
    routing: Routing

    def rows(
        self, items: Items, *, ends: bool = False, letters: Sequence[DeadLetter] = (), at_least_ns: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """The items of a batch, perhaps the end of the stream, and a report; time has come to some point at least."""
        report = Report(pe=self.pe, submitted={self.operator: [items.tuples.num_rows]}, dead_letters=tuple(letters))
        left = [(REPORT, report.encode())]
        closed = items.closed(ends, at_least_ns)
        for step, edge in enumerate(self.routing):
            left.append((edge, list(self._encoded(closed, step))))
        yield from Router(self.routing).rows(left)

    def _encoded(self, items: Items, step: int) -> Iterator[bytes]:
        rows = np.concatenate([[0], np.cumsum(items.kind == TUPLE)])
        for start in range(0, len(items.kind), ITEMS_PER_VALUE):
            end = min(start + ITEMS_PER_VALUE, len(items.kind))
            first, last = int(rows[start]), int(rows[end])
            yield encoded_batches(self._header(items, start, end, step), items.tuples.slice(first, last - first))

    def _header(self, items: Items, start: int, end: int, step: int) -> pa.RecordBatch:
        kind = items.kind[start:end]
        number = items.number[start:end] * self.sources + self.order
        paths = binary_array(np.tile(np.frombuffer(step.to_bytes(4), np.uint8), (end - start, 1)))
        columns = [
            pa.array(items.time_ns[start:end], pa.int64()),
            pa.array(np.where(kind == PULSE, PULSE_NUMBER, number), pa.int64()),
            paths,
            pa.array(kind, pa.uint8()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=HEADER)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """Items of a source in order.

    Attributes:
        time_ns: Of each item; it never falls.
        kind: Of each item.
        tuples: A row for each item that is a tuple.
        number: Of each item, growing where the time is the same; its position without it.
    """

    time_ns: Array
    kind: Array
    tuples: pa.RecordBatch
    number: Array = None

    def __post_init__(self) -> None:
        """Number the items by their positions, unless they have numbers."""
        if self.number is None:
            object.__setattr__(self, "number", np.arange(len(self.kind)))

    def closed(self, ends: bool, at_least_ns: int = 0) -> Items:
        """The same with the mark that the batch is complete, and the end of the stream before it if it has come."""
        marks = [FINAL, PULSE] if ends else [PULSE]
        time_ns, number = (int(column[-1]) if len(column) else 0 for column in (self.time_ns, self.number))
        time_ns = max(time_ns, at_least_ns)
        return Items(
            time_ns=np.append(self.time_ns, [time_ns] * len(marks)),
            kind=np.append(self.kind, marks),
            tuples=self.tuples,
            number=np.append(self.number, [number + 1] * len(marks)),
        )


def source_pe(plan: PhysicalPlan, pe: int) -> SourcePE:
    """The source of a plan that a PE is."""
    (operator,) = plan.pes[pe].operators
    sources = [p.index for p in plan.pes if p.role == "source"]
    return SourcePE(
        pe=pe,
        operator=operator,
        order=sources.index(pe),
        sources=len(sources),
        routing=routing_of(plan, pe),
    )
