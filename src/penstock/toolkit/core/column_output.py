"""Output clauses of sources over columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from penstock.expr.analysis import is_pure, transform
from penstock.expr.vector.evaluator import compile_vector
from penstock.ir.arrow import arrow_schema
from penstock.ir.expressions import Attribute, Expression, OutputCall
from penstock.ir.types import TupleType, TypedName
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.record_output import is_read

Columns = Mapping[str, pa.Array]
"""By name: the attributes read, and what each output function returns."""


def column_output(runtime: LogicRuntime, functions: frozenset[str]) -> Callable[[Columns], pa.RecordBatch] | None:
    """The output clause of the first port as a function over columns; None if it must be evaluated tuple by tuple.

    Args:
        runtime: Of the source.
        functions: The output functions of which columns can be given.
    """
    port = runtime.operator.outputs[0]
    evaluator = runtime.context.evaluator
    values = [_as_column(a.attribute, a.value) for a in port.assignments]
    calls = {n.function for value in values for n in value.walk() if isinstance(n, OutputCall)}
    if runtime.operator.logic is not None or not calls <= functions | {"AsIs"}:
        return None
    if not all(is_pure(value, evaluator.functions) for value in values):
        return None
    bound = [transform(value, _call_as_column) for value in values]
    used = {n.name: n.type for value in bound for n in value.walk() if isinstance(n, Attribute)}
    schema = TupleType(tuple(TypedName(name, type_) for name, type_ in used.items()))
    compiled = [compile_vector(value, [schema], evaluator) for value in bound]
    fields, inputs = arrow_schema(port.schema), arrow_schema(schema)

    def make(columns: Columns) -> pa.RecordBatch:
        rows = len(next(iter(columns.values())))
        if inputs.names:
            batch = pa.RecordBatch.from_arrays([columns[name] for name in inputs.names], schema=inputs)
        else:
            batch = pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        return pa.RecordBatch.from_arrays([function([batch]) for function in compiled], schema=fields)

    return make


def _as_column(attribute: str, value: Expression) -> Expression:
    return Attribute(type=value.type, name=attribute) if is_read(value) else value


def _call_as_column(expression: Expression) -> Expression:
    if not isinstance(expression, OutputCall):
        return expression
    if expression.function == "AsIs":
        return expression.arguments[0]
    return Attribute(type=expression.type, name=f"{expression.function}()")
