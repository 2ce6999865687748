"""Output clauses with output functions: the calls become variables that the operator sets.

`total = (int32) (IterationCount() * 2ul)` is compiled as an expression over a variable, and the operator passes the
value of `IterationCount()` with each evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.expr.analysis import transform
from penstock.ir.expressions import Expression, OutputCall, Variable


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCalls:
    """Expressions without output calls.

    Attributes:
        expressions: With a variable in the place of each call; equal calls share one.
        calls: What each variable stands for, in order.
        variables: In the same order.
    """

    expressions: tuple[Expression, ...]
    calls: tuple[OutputCall, ...]
    variables: tuple[Variable, ...]


def bind_output_calls(expressions: Sequence[Expression]) -> BoundCalls:
    """Replace the output calls in expressions by variables; `AsIs(value)` is the value.

    Example:
        >>> from penstock.ir.types import UINT64
        >>> call = OutputCall(type=UINT64, function="IterationCount", arguments=())
        >>> bind_output_calls([call]).variables[0].name
        'IterationCount_0'
    """
    variables: dict[OutputCall, Variable] = {}

    def bind(expression: Expression) -> Expression:
        if not isinstance(expression, OutputCall):
            return expression
        if expression.function == "AsIs":
            return expression.arguments[0]
        if expression not in variables:
            name = f"{expression.function}_{len(variables)}"
            variables[expression] = Variable(type=expression.type, name=name)
        return variables[expression]

    bound = tuple(transform(expression, bind) for expression in expressions)
    return BoundCalls(expressions=bound, calls=tuple(variables), variables=tuple(variables.values()))
