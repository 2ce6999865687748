"""Operators that are functions of the user's: what they are, and how generated code gets at them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.api.operators import Marks
from penstock.api.rows import conformer, row_maker
from penstock.codegen.functions.compiled import Compiled, compile_function
from penstock.codegen.kernels.column_operations import typed
from penstock.codegen.rows.frames import Frame
from penstock.codegen.write.builder import Builder, branch
from penstock.expr.environment import Environment, Tuple
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.expr.vector.frame import to_column
from penstock.ir.expressions import Literal
from penstock.ir.graph import Operator
from penstock.ir.types import Schema
from penstock.toolkit.core.definition import ParamSpec
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Runtime


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function as an operator.

    Attributes:
        role: `map`, `filter`, `flat map`.
        batch: Whether it takes batches of rows, whatever their form.
        function: The user's.
        params: What parameters it has.
        is_declared: Whether its author declares its model, which is then checked on the first tuples.
    """

    role: str
    batch: bool
    function: Any
    params: tuple[ParamSpec, ...]
    is_declared: bool


def python_function(program: Program, operator: Operator) -> PythonFunction | None:
    """How an operator uses a function of the user's; None if it is not made of one."""
    made_by = program.registry.get(operator.kind).runtime
    made_by = getattr(made_by, "original", made_by)
    held = inspect.getclosurevars(made_by).nonlocals if inspect.isfunction(made_by) else {}
    marks = held.get("marks")
    if not isinstance(marks, Marks):
        return None
    return PythonFunction(
        marks.role, marks.batch is not None, held["function"], held["params"], marks.model is not None
    )


def compile_python_function(operator: Operator, function: PythonFunction) -> Compiled | str:
    """An operator's function as columns, or why it is called row by row."""
    given = constants_given(operator, function.params)
    if isinstance(given, str):
        return given
    schemas = operator.inputs[0].schema, operator.outputs[0].schema
    return compile_function(function.function, function.role, *schemas, given)


def constants_given(operator: Operator, params: Sequence[ParamSpec]) -> tuple[tuple[str, str, Any], ...] | str:
    """The parameters that an invocation sets, each with its text and value, or which of them is no constant."""
    given: list[tuple[str, str, Any]] = []
    for spec in params:
        values = operator.param(spec.name)
        if values and not (len(values) == 1 and isinstance(values[0], Literal) and not spec.many):
            return f"its parameter `{spec.name}` is no constant"
        if values:
            value = Evaluator().constant(values[0])
            given.append((spec.name, repr(value), value))
    return tuple(given)


class RuntimeContext:
    """The part of a context that a runtime needs when it is made."""

    def __init__(self, environment: Environment, evaluator: Evaluator) -> None:
        self.environment = environment
        self.evaluator = evaluator


def functions_of(program: Program, operator: Operator, environment: Environment) -> dict[str, Callable[..., Any]]:
    """The user's function with its parameters bound, and what turns tuples into rows and back."""
    evaluator = Evaluator(functions=program.application.functions, environment=environment)
    runtime: Any = program.registry.get(operator.kind).runtime(operator, RuntimeContext(environment, evaluator))  # type: ignore[arg-type]
    return {
        "call": runtime.call,
        "row": row_maker(operator.inputs[0].schema),
        "conform": conformer(operator.outputs[0].schema),
        "rows": _rows_of(runtime),
    }


def _rows_of(runtime: Runtime) -> Callable[[Tuple], list[Tuple]]:
    """The tuples that an operator gives for one, all at once."""
    made: list[Tuple] = []
    runtime.submit.append(made.append)

    def rows(tuple_: Tuple) -> list[Tuple]:
        made.clear()
        runtime.receiver(0)(tuple_)
        return list(made)

    return rows


def write_batch_function(builder: Builder, operator: Operator, role: str) -> None:
    """A function that takes a batch and gives one with as many rows, or says which of them to keep."""
    given = builder.input(operator, 0)
    call = builder.provided(operator, "call")
    schemas = [given.schema] if role == "filter" else [given.schema, operator.outputs[0].schema]
    types = ", ".join(builder.body.type(schema) for schema in schemas)
    name = "kept_rows" if role == "filter" else "mapped"
    builder.body.add(f"# {role} of whole batches")
    builder.put(operator, 0, f"{name}({given.frame}, {call}, {types}){branch(given.levels)}")
    builder.count(operator, given.frame)


def mapped(frame: Frame, call: Callable[[pa.RecordBatch], Any], inputs: Schema, outputs: Schema) -> Frame:
    """The frame with the columns that a batch function of the user's makes of it; it is not called without rows."""
    if not len(frame):
        return frame.to([], {a.name: typed([], a.type) for a in outputs.attributes})
    made = call(frame.batch(inputs))
    if made.num_rows != len(frame):
        raise EvaluationError(f"a map gives one row for each row, got {made.num_rows} for {len(frame)}")
    return frame.to([], {a.name: to_column(made.column(i), a.type) for i, a in enumerate(outputs.attributes)})


def kept_rows(frame: Frame, call: Callable[[pa.RecordBatch], Any], inputs: Schema) -> Frame:
    """The rows that a batch filter of the user's keeps; it is not called without rows."""
    return frame.where(call(frame.batch(inputs))) if len(frame) else frame
