"""FromSpark: the rows of a DataFrame that is given when the application runs, or when it transforms one.

The application knows the name and the schema of its input; `penstock.spark.transform(app, {"trades": df})` and
`app.run(inputs={"trades": df})` bring the DataFrame. Columns are found by name. Where nobody brings it the operator
cannot run.
"""

from __future__ import annotations

from penstock.base.diagnostics import UserError
from penstock.expr.evaluate import Evaluator
from penstock.ir.facts import Facts
from penstock.ir.graph import Application, Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import RSTRING
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.runtime import Context, Runtime


class FromSparkRuntime(Runtime):
    """Stands where no input was brought."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        name = input_name(operator, context.evaluator)
        hint = f'bring it: app.run(inputs={{"{name}": ...}}), or penstock.spark.transform(app, {{"{name}": df}})'
        raise UserError(f"there is no input `{name}`", hint=hint)


def input_name(operator: Operator, evaluator: Evaluator | None = None) -> str:
    """The name of the input that a FromSpark takes."""
    (value,) = operator.param("input")
    return str((evaluator or Evaluator()).constant(value))


def inputs_of(application: Application) -> dict[str, Operator]:
    """The operators that take inputs, by the names of these.

    Raises:
        UserError: Two take one input.
    """
    found: dict[str, Operator] = {}
    for operator in application.operators:
        if operator.kind == DEFINITION.kind:
            name = input_name(operator, Evaluator(functions=application.functions))
            if name in found:
                hint = "read it once, and let both branches begin with that stream"
                raise UserError(f"`{found[name].id}` and `{operator.id}` both take the input `{name}`", hint=hint)
            found[name] = operator
    return found


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="FromSpark",
    doc="Takes the rows of a DataFrame that is given when the application runs.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="input",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            required=True,
            doc="The name under which the DataFrame is given.",
        ),
    ),
    facts=Facts(never_ends=True, is_read_by_engine=True),
    model=_model,
    runtime=FromSparkRuntime,
)
