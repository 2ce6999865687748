"""A compiled application as a function from DataFrames to DataFrames.

The plan is one line, as that of a job is (`spark.job.query`): inputs, PE after PE, and at the end a part for each
output that picks its rows. Nothing is written, no offset is kept, nothing runs before the user asks for it: sources,
sinks and the checkpoint are those of the user's query, so a restart is Spark's own. State lies in Spark's store where
the inputs are streams. Otherwise all that there is comes at once, and a PE with state begins with none.

Where an input is alone and its first region has no key, the tasks that read a partition run the region's PEs in it
(`_Line.runs_in_place`): a partition is a channel, whatever their number, and nothing is shuffled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyspark.sql.functions as F

from penstock.codegen.plan.physical import PE, Edge, PhysicalPlan, Route
from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.compiler import CompiledJob
from penstock.ir.graph import Operator
from penstock.runtime.sources.outside_rows import source_pe
from penstock.spark.frames.decode_frames import LETTERS, OutputForm, decode_letters, decode_output
from penstock.spark.frames.encode_frames import (
    ORDER,
    PACKED,
    PARTITION,
    InputForm,
    Process,
    encode_partition,
    number_packed,
    pack_partition,
    quote_column,
    with_partitions,
)
from penstock.spark.frames.row_types import row_schema
from penstock.spark.job.layout import Layout, lay_out, run_with_state
from penstock.spark.workers.instances import stateless_pe, whole_pe
from penstock.spark.workers.state_mark import StateMark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input with its DataFrame.

    Attributes:
        frame: In the session in which the application runs.
        operator: That takes it.
        order_by: The column that tells the order of its rows, if one does.
    """

    frame: DataFrame
    operator: Operator
    order_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformation:
    """An application over its inputs.

    Attributes:
        job: The compiled application.
        program: The address of what workers load.
        inputs: By the ids of their operators.
        streams: Whether they are streams.
        mark: What state is written under, where they are.
    """

    job: CompiledJob
    program: str
    inputs: Mapping[str, Input]
    streams: bool
    mark: StateMark

    def line(self) -> End:
        """All PEs but the sinks, one behind the other."""
        line = _Line(self)
        for pe in self.job.plan.pes:
            if pe.role in ("stateless", "stateful"):
                line.add(pe)
        return End(plan=self.job.plan, frame=line.frame, pending=line.pending, layout=line.layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of the line, from which outputs are taken.

    Attributes:
        plan: Of the job.
        frame: Rows of the transport, once `pending` have processed them.
        pending: Functions that run in the tasks of what takes the rows.
        layout: Of the rows; where they were read, they are in the order of the partitions.
    """

    plan: PhysicalPlan
    frame: DataFrame
    pending: tuple[Process, ...]
    layout: Layout

    def rows(self) -> End:
        """The same with nothing pending."""
        return replace(self, frame=_run(self.frame, self.pending, SPARK_SCHEMA), pending=())

    def take(self, sink: Operator, *, ordered: bool) -> DataFrame:
        """The DataFrame of an output.

        Args:
            sink: That ends the stream.
            ordered: Whether rows of several channels are put in one order.
        """
        edges = [e for e in self.plan.edges if any(id_ == sink.id for id_, _ in e.subscribers)]
        is_where_it_was_read = self.layout is Layout.SOURCES
        end = self
        if ordered and not is_where_it_was_read and self.layout is not Layout.ONE:
            rows = self.rows()
            end = replace(rows, frame=rows.frame.repartition(1))
        schema = self.plan.application.streams[edges[0].stream].schema
        form = OutputForm(
            edges=frozenset(edge.index for edge in edges),
            schema=schema,
            comes_in_order=is_where_it_was_read and len(edges) == 1,
        )
        return _run(end.frame, (*end.pending, decode_output(form)), row_schema(schema))

    def letters(self) -> DataFrame:
        """The DataFrame of what operators have set aside."""
        return _run(self.frame, (*self.pending, decode_letters()), LETTERS)


class _Line:
    """The line under construction."""

    def __init__(self, transformation: Transformation) -> None:
        self._plan = transformation.job.plan
        self._transformation = transformation
        self.in_place: frozenset[int] = frozenset()
        self.pending: tuple[Process, ...] = ()
        self.layout = Layout.SOURCES
        inputs = list(transformation.inputs.values())
        if len(inputs) == 1 and (inputs[0].order_by is None or not transformation.streams):
            self.frame, self.pending = self._numbered_in_place(inputs[0])
        else:
            self.frame, self.pending, self.layout = *self._numbered_in_one_task(inputs), Layout.ONE

    def add(self, pe: PE) -> None:
        """Let one more PE take its rows."""
        plan, program = self._plan, self._transformation.program
        if pe.role == "stateful" and self._transformation.streams:
            frame = _run(self.frame, self.pending, SPARK_SCHEMA)
            self.frame = run_with_state(pe, frame, plan, program, mark=self._transformation.mark)
            self.pending, self.layout = (), Layout.SPREAD
            return
        if pe.index not in self.in_place:
            before = self.layout
            frame, self.layout = lay_out(pe, _run(self.frame, self.pending, SPARK_SCHEMA), before, plan)
            # What lies right already is not given to Spark and taken back between the input and the first PE.
            if before is not Layout.ONE or self.layout is not Layout.ONE:
                self.frame, self.pending = frame, ()
        process = stateless_pe if pe.role == "stateless" else whole_pe
        mine = process(program, plan, pe.index)
        if self._is_first:
            self.pending = (*self.pending, mine)
            self._is_first = False
        else:
            self.frame, self.pending = _run(self.frame, self.pending, SPARK_SCHEMA), (mine,)

    _is_first = True

    def _numbered_in_place(self, given: Input) -> tuple[DataFrame, tuple[Process, ...]]:
        """The one input, whose partitions are numbered where they are read."""
        self.in_place = frozenset(self._in_place())
        form = self._form(given.operator)
        routing = {
            number: (replace(edge, route=Route.ONE), schema) if edge.consumer in self.in_place else (edge, schema)
            for number, (edge, schema) in form.source.routing.items()
        }
        form = replace(form, source=replace(form.source, routing=routing))
        frame = given.frame if given.order_by is None else given.frame.orderBy(quote_column(given.order_by))
        return with_partitions(form, frame), (encode_partition(form),)

    def _in_place(self) -> list[int]:
        """The PEs that can run in the partitions of the only input: those of the regions without a key behind it."""
        plan, found = self._plan, set[int]()
        for pe in plan.pes:
            edges = plan.into(pe.index)
            is_region = pe.role == "stateless" and pe.region is not None and pe.channels > 1
            if is_region and all(self._needs_no_split(edge, found) for edge in edges):
                found.add(pe.index)
        return sorted(found)

    def _needs_no_split(self, edge: Edge, found: Collection[int]) -> bool:
        """Whether any partition will do for the tuples of an edge into a region."""
        comes_from_source = self._plan.pes[edge.producer].role == "source"
        is_inside = edge.route is Route.SAME and edge.producer in found
        return is_inside or (comes_from_source and edge.route is Route.TURNS)

    def _numbered_in_one_task(self, inputs: Sequence[Input]) -> tuple[DataFrame, tuple[Process, ...]]:
        """All inputs, of which a batch is numbered in one task."""
        packed = []
        forms = []
        for given in inputs:
            form = self._form(given.operator)
            forms.append(form)
            order = [] if given.order_by is None else [F.col(quote_column(given.order_by)).alias(ORDER)]
            rows = given.frame.select(*form.columns, *order, F.spark_partition_id().alias(PARTITION))
            packed.append(rows.mapInArrow(pack_partition(form, by_column=bool(order)), PACKED))
        together = reduce(_union, packed)
        if not self._transformation.streams:
            # A table without rows ends, too.
            values = "0 AS part, 0 AS piece, -1 AS source, CAST('' AS binary) AS tuples"
            session = together.sparkSession
            together = together.unionAll(session.range(0, 1, 1, 1).selectExpr(*values.split(", ")))
        return together.repartition(1), (number_packed(tuple(forms)),)

    def _form(self, operator: Operator) -> InputForm:
        plan = self._plan
        return InputForm(
            source=source_pe(plan, plan.home[operator.id]),
            operator=operator,
            dead=plan.dead[operator.outputs[0].stream],
            ends=not self._transformation.streams,
        )


def _run(frame: DataFrame, functions: Sequence[Process], schema: object) -> DataFrame:
    """The rows that functions make of a DataFrame's, one behind the other in the same tasks."""
    if not functions:
        return frame
    return frame.mapInArrow(_chain(tuple(functions)), schema)  # type: ignore[arg-type]


def _chain(functions: tuple[Process, ...]) -> Process:
    if len(functions) == 1:
        return functions[0]

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for function in functions:
            batches = function(batches)
        return batches

    return process


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionAll(right)
