"""Punctor: makes a tuple from each tuple and adds a window marker before or after it where a condition holds.

The operator makes the markers of its output by itself: those of its input are not passed on, as in SPL.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Markers, OperatorModel, Selectivity
from penstock.ir.types import BOOLEAN
from penstock.toolkit.analysis.logic_analysis import stateless
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Punctuation, Submit


class PunctorRuntime(LogicRuntime):
    """Evaluates the output clause and the condition for each tuple."""

    def taker(self, port: int) -> Submit:
        """A function that submits the new tuple, and a marker where it belongs."""
        submit, punctuate = self.submit[0], self.punctuate[0]
        make, condition = self.output_row(0), self.scalar(self.operator.param("punctuate")[0])
        before = self.symbol("position") == "before"

        def punctuate_around(tuple_: Tuple) -> None:
            if not condition(tuple_):
                submit(make(tuple_))
            elif before:
                punctuate(Punctuation.WINDOW)
                submit(make(tuple_))
            else:
                submit(make(tuple_))
                punctuate(Punctuation.WINDOW)

        return punctuate_around

    def take_window_marker(self, port: int) -> None:
        """Drop the marker."""


def _model(operator: Operator) -> OperatorModel:
    return replace(stateless(operator, Selectivity.EXACTLY_ONE), markers=Markers.OWN)


DEFINITION = OperatorDefinition(
    name="Punctor",
    doc="Makes a new tuple from each tuple and adds window markers. Markers of the input are not passed on.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="punctuate", types=(BOOLEAN,), required=True, doc="Where a marker is added."),
        ParamSpec(
            name="position",
            kind=ParamKind.SYMBOLS,
            symbols=("before", "after"),
            required=True,
            doc="Whether the marker goes before or after the tuple.",
        ),
    ),
    output=OutputClause.ASSIGN,
    facts=Facts(is_repeatable=True),
    model=_model,
    runtime=PunctorRuntime,
)
