"""Union: merges the streams of several input ports into one.

The output has attributes that every input has, with the same type; the others are dropped. Tuples leave in the order in
which they arrive. Window markers are dropped, because those of one input mean nothing between the tuples of another.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.base.diagnostics import Diagnostics
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Markers, OperatorModel, Selectivity
from penstock.toolkit.analysis.logic_analysis import stateless
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Submit


class UnionRuntime(LogicRuntime):
    """Passes on tuples, less the attributes that the output does not have."""

    def taker(self, port: int) -> Submit:
        """A function that submits the attributes of the output."""
        submit = self.submit[0]
        given, wanted = self.operator.inputs[port].schema, self.operator.outputs[0].schema
        if given == wanted:
            return submit
        select = projection(given, wanted.names)
        return lambda tuple_: submit(select(tuple_))

    def take_window_marker(self, port: int) -> None:
        """Drop the marker."""


def _check(operator: Operator, found: Diagnostics) -> None:
    output = operator.outputs[0]
    for index, port in enumerate(operator.inputs):
        for attribute in output.schema.attributes:
            if attribute not in port.schema.attributes:
                message = f"`{output.stream}` has `{attribute}`, but input port {index} has {port.schema}"
                found.error(message, operator.span, hint="a Union has only attributes that all its inputs have")


def _model(operator: Operator) -> OperatorModel:
    return replace(stateless(operator, Selectivity.EXACTLY_ONE), markers=Markers.NONE)


DEFINITION = OperatorDefinition(
    name="Union",
    doc="Merges the streams of several input ports. The output has attributes that all inputs have.",
    inputs=(2, None),
    outputs=(1, 1),
    facts=Facts(forwards_from_all=True, is_repeatable=True),
    model=_model,
    check=_check,
    runtime=UnionRuntime,
)
