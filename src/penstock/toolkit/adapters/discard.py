"""Discard: counts tuples and drops them, for load tests and experiments.

Every attribute is computed first, so what stands before it does its work; nothing leaves the process that has made the
tuples. Totals say how many came.
"""

from __future__ import annotations

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, Selectivity
from penstock.toolkit.analysis.logic_analysis import stateless
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.runtime import Runtime


class DiscardRuntime(Runtime):
    """Drops tuples."""

    def process(self, port: int, tuple_: Tuple) -> None:
        """Drop a tuple."""

    def on_window_punctuation(self, port: int) -> None:
        """Drop the marker."""


def _model(operator: Operator) -> OperatorModel:
    return stateless(operator, Selectivity.EXACTLY_ONE)


DEFINITION = OperatorDefinition(
    name="Discard",
    doc="Counts tuples and drops them.",
    inputs=(1, 1),
    outputs=(0, 0),
    facts=Facts(is_repeatable=True, ends_anywhere=True),
    model=_model,
    runtime=DiscardRuntime,
)
