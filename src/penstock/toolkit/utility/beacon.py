"""Beacon: generates tuples.

Each tuple is what the output clause says; an attribute that is not assigned is its type's default. After `initDelay`
seconds the first tuple leaves, and after every `period` seconds the next. After the last, a window marker follows.
Without `iterations` it never ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
import pyarrow as pa

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import FLOAT64, INT32, INT64, UINT32, UINT64
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.column_output import Columns, column_output
from penstock.toolkit.core.column_source import Chunk, Extent, Planned, Position
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.output_values import bind_output_calls
from penstock.toolkit.core.runtime import Context, Punctuation, Wait


class BeaconRuntime(LogicRuntime):
    """Makes tuples out of nothing."""

    remembers = ("_has_begun", "_made", "_has_waited", "_has_ended")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._has_begun = False
        self._made = 0
        self._has_waited = False
        self._has_ended = False

    def produce(self) -> Iterator[Tuple | Wait | Punctuation | None]:
        """The tuples with their delays, then a marker."""
        iterations = self.constant("iterations")
        delay, period = Wait(self.duration_ns("initDelay")), Wait(self.duration_ns("period"))
        bound = bind_output_calls([a.value for a in self.operator.outputs[0].assignments])
        make = self.row(bound.expressions, variables=bound.variables)
        takes_count = bool(bound.variables)
        if delay.nanoseconds and not self._has_begun:
            self._has_begun = True
            yield delay
        for i in count(self._made) if iterations is None else range(self._made, iterations):
            if i and period.nanoseconds and not self._has_waited:
                self._has_waited = True
                yield period
            self._made, self._has_waited = i + 1, False
            yield make(i) if takes_count else make()
        if not self._has_ended:
            self._has_ended = True
            yield Punctuation.WINDOW

    def columns(self, *, follows: bool = False) -> BeaconColumns | None:
        """The tuples by columns, if they depend on nothing but their number."""
        output = column_output(self, frozenset({"IterationCount"}))
        if output is None or not self.operator.outputs[0].schema.attributes:
            return None
        return BeaconColumns(
            iterations=self.constant("iterations"),
            delay_ns=self.duration_ns("initDelay"),
            period_ns=self.duration_ns("period"),
            output=output,
        )


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="Beacon",
    doc="Generates tuples, with a window marker after the last. Attributes not assigned have their type's default.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="iterations",
            kind=ParamKind.CONSTANT,
            types=(UINT32, INT32, UINT64, INT64),
            doc="How many tuples; endless without it.",
        ),
        ParamSpec(name="period", kind=ParamKind.CONSTANT, types=(FLOAT64,), doc="Seconds from one tuple to the next."),
        ParamSpec(name="initDelay", kind=ParamKind.CONSTANT, types=(FLOAT64,), doc="Seconds before the first tuple."),
        ParamSpec(
            name="triggerCount",
            kind=ParamKind.CONSTANT,
            types=(UINT32,),
            doc="For consistent regions; every job of ours has what it asks for.",
        ),
    ),
    output=OutputClause.GENERATE,
    output_functions=(
        OutputFunction(prototype="uint64 IterationCount()", doc="The number of tuples generated before this one."),
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
    ),
    facts=Facts(never_ends_without=("iterations",), is_repeatable=True),
    model=_model,
    runtime=BeaconRuntime,
)


CHUNK_ROWS = 20_000
"""Of one record batch; its columns fit into the caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconColumns:
    """Generated tuples.

    Attributes:
        iterations: How many; None for no end.
        delay_ns: The time before the first.
        period_ns: The time from one to the next.
        output: Makes tuples of their numbers.

    Example:
        >>> beacon = BeaconColumns(iterations=3, delay_ns=0, period_ns=5, output=pa.record_batch)
        >>> beacon.plan(beacon.start(), 10, until_ns=7).extents
        ({'start': 0, 'end': 2, 'number': 0},)
    """

    iterations: int | None
    delay_ns: int
    period_ns: int
    output: Callable[[Columns], pa.RecordBatch]
    is_live: bool = False
    tasks: int = 1
    ends_with_marker: bool = True

    @property
    def is_timed(self) -> bool:
        """Whether there is a period."""
        return self.period_ns > 0

    def start(self) -> Position:
        """Before the first tuple."""
        return {"made": 0}

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """The next tuples, up to a time."""
        made = position["made"]
        due = 2**62 if self.iterations is None else max(0, self.iterations)
        if until_ns is not None:
            due = min(due, self._made_by(until_ns))
        end = max(made, min(made + rows, due))
        extents = ({"start": made, "end": end, "number": made},) if end > made else ()
        return Planned(
            extents=extents,
            position={"made": end},
            has_ended=self.iterations is not None and end >= self.iterations,
            number=end,
            time_ns=self.delay_ns + max(0, end - 1) * self.period_ns,
            is_full=end < due,
        )

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """Make the tuples."""
        for start in range(extent["start"], extent["end"], CHUNK_ROWS):
            numbers = np.arange(start, min(start + CHUNK_ROWS, extent["end"]), dtype=np.uint64)
            batch = self.output({"IterationCount()": pa.array(numbers)})
            time_ns = self.delay_ns + start * self.period_ns
            yield Chunk(batch=batch, number=start, time_ns=time_ns, period_ns=self.period_ns)

    def _made_by(self, until_ns: int) -> int:
        since = until_ns - self.delay_ns
        if since < 0:
            return 0
        return since // self.period_ns + 1 if self.period_ns else 2**62
