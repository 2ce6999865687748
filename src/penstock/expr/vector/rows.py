"""The way out for what has no exact vectorised form: a compiled loop over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.expr.analysis import attributes_of, functions_used
from penstock.expr.emit.expression_text import emit
from penstock.expr.emit.functions import emit_functions
from penstock.expr.emit.scope import INDENT, Locals, Module, Scope
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator, load
from penstock.expr.values import from_arrow_array, to_arrow_array
from penstock.expr.vector.frame import Column, Frame, to_array, to_column
from penstock.ir.expressions import Expression
from penstock.ir.types import Schema


def row_loop(x: Expression, schemas: Sequence[Schema], evaluator: Evaluator) -> Callable[[Frame], Column]:
    """The expression as one loop over the columns that it reads."""
    used = attributes_of(x, schemas=schemas)
    loop = _compile(x, used, schemas, evaluator)
    types = [schemas[port].attribute(name).type for port, name in used]
    positions = [(port, schemas[port].position[name]) for port, name in used]

    def run(frame: Frame) -> Column:
        lists = [
            from_arrow_array(to_array(frame.column(*at, type_), type_, frame.rows), type_)
            for at, type_ in zip(positions, types, strict=True)
        ]
        return to_column(to_arrow_array(loop(frame.rows, *lists), x.type), x.type)

    return run


def _compile(
    x: Expression, used: Sequence[tuple[int, str]], schemas: Sequence[Schema], evaluator: Evaluator
) -> Callable[..., list[Any]]:
    module = Module(evaluator.functions)
    emit_functions(module, functions_used([x], evaluator.functions))
    names = Locals(taken=("rows",))
    attributes = {(port, name): names.name(f"{name}_{port}" if port else name) for port, name in used}
    scope = Scope(module=module, locals=names, ports=tuple(schemas), attributes=attributes)
    columns = [f"{name}_column" for name in attributes.values()]
    targets = ", ".join(attributes.values())
    values = f"({targets},) in zip({', '.join(columns)}, strict=True)" if used else "_ in range(rows)"
    arguments = ", ".join(["rows", *columns])
    module.add([f"def loop({arguments}):", f"{INDENT}return [{emit(x, scope)} for {values}]"])
    return load(module.body(), environment=evaluator.environment)["loop"]  # type: ignore[no-any-return]


def evaluate_rows(function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The values of a scalar function on rows of arguments; a failure tells its row.

    Example:
        >>> evaluate_rows(lambda t: t[0] + 1, [((1,),), ((2,),)])
        [2, 3]
    """
    values = []
    for number, row in enumerate(rows):
        try:
            values.append(function(*row))
        except EvaluationError as error:
            error.row = number
            raise
    return values
