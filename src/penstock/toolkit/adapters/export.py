"""Export: offers a stream to other applications, under a stream id or with properties.

Importers name the application and the stream id, or subscribe to properties; see Import. A stream with neither has
empty properties. Window markers are exported with the tuples.
"""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostics
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, RSTRING, TupleType
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Punctuation, Submit


class ExportRuntime(LogicRuntime):
    """Hands everything to the interpreter."""

    def taker(self, port: int) -> Submit:
        """The interpreter's function."""
        return self.context.export

    def take_window_marker(self, port: int) -> None:
        """Export the marker."""
        self.context.export(Punctuation.WINDOW)


def _check(operator: Operator, found: Diagnostics) -> None:
    properties = operator.param("properties")
    if properties and operator.param("streamId"):
        found.error("an Export has `streamId` or `properties`, found both", operator.span)
    if properties and not isinstance(properties[0].type, TupleType):
        message = f"`properties` is a tuple, found {properties[0].type}"
        found.error(message, properties[0].span or operator.span, hint='write `{kind = "bargains"}`')


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="Export",
    doc="Offers a stream to other applications, under a stream id or with properties.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        ParamSpec(name="streamId", kind=ParamKind.CONSTANT, types=(RSTRING,), doc="The name that importers use."),
        ParamSpec(name="properties", kind=ParamKind.CONSTANT, doc="A tuple that subscriptions are matched against."),
        ParamSpec(
            name="congestionPolicy",
            kind=ParamKind.SYMBOLS,
            symbols=("wait", "dropConnection"),
            doc="What happens when an importer is too slow; it is always waited for here.",
        ),
        ParamSpec(
            name="allowFilter",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Whether importers with a `filter` may take the stream; true without it.",
        ),
    ),
    facts=Facts(exports=True, reaches_out=True),
    model=_model,
    check=_check,
    runtime=ExportRuntime,
)
