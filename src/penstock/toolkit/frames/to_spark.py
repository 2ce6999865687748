"""ToSpark: the tuples of a stream as the rows of a DataFrame, which `penstock.spark.transform` returns."""

from __future__ import annotations

from penstock.base.diagnostics import UserError
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Application, Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import RSTRING
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.runtime import Context, Runtime


class ToSparkRuntime(Runtime):
    """Stands where nobody takes the DataFrame."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        raise not_taken(operator, context.evaluator)


def output_name(operator: Operator, evaluator: Evaluator | None = None) -> str:
    """The name of the DataFrame that a ToSpark makes."""
    (value,) = operator.param("output")
    return str((evaluator or Evaluator()).constant(value))


def not_taken(operator: Operator, evaluator: Evaluator | None = None) -> UserError:
    """The error that such an operator is in a run that makes no DataFrames."""
    message = f"the output `{output_name(operator, evaluator)}` is a DataFrame, which a run does not make"
    hint = "make it with penstock.spark.transform, take the tuples with `stream.collect()`, or end the stream in a sink"
    return UserError(message, hint=hint)


def outputs_of(application: Application) -> dict[str, Operator]:
    """The operators that make DataFrames, by the names of these.

    Raises:
        UserError: Two make one of the same name.
    """
    found: dict[str, Operator] = {}
    for operator in application.operators:
        if operator.kind == DEFINITION.kind:
            name = output_name(operator, Evaluator(functions=application.functions))
            if name in found:
                hint = "unite the streams first, or give one of them another name"
                raise UserError(f"`{found[name].id}` and `{operator.id}` both make the output `{name}`", hint=hint)
            found[name] = operator
    return found


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="ToSpark",
    doc="Makes the tuples of a stream the rows of a DataFrame.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        ParamSpec(
            name="output",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            required=True,
            doc="The name of the DataFrame.",
        ),
    ),
    model=_model,
    runtime=ToSparkRuntime,
)
