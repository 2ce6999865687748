"""Beacon: generates tuples.

Each tuple is what the output clause says; an attribute that is not assigned is its type's default. After `initDelay`
seconds the first tuple leaves, and after every `period` seconds the next. After the last, a window marker follows.
Without `iterations` it never ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import FLOAT64, INT32, INT64, UINT32, UINT64
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.column_output import column_output
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.output_values import bind_output_calls
from penstock.toolkit.core.runtime import Context, Punctuation, Wait
from penstock.toolkit.utility.beacon_columns import BeaconColumns


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
