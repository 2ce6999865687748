"""The output tuples of operators that read records: attributes that are read, and others that the clause assigns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.expr.environment import Tuple
from penstock.ir.expressions import Expression, OutputCall, Variable
from penstock.ir.graph import Operator
from penstock.ir.types import Schema, TupleType
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.output_values import bind_output_calls

Make = Callable[[Tuple, Tuple, dict[str, Any]], Tuple]
"""From the values read, the current input tuples, and what each output function returns, to the output tuple."""


def is_read(value: Expression) -> bool:
    """Whether an assignment means that the attribute is read."""
    return isinstance(value, OutputCall) and value.function == "Read"


def read_schema(operator: Operator) -> Schema:
    """The attributes of the first output port that are read: all, or those that the clause does not assign."""
    port = operator.outputs[0]
    if not port.assignments:
        return port.schema
    read = {a.attribute for a in port.assignments if is_read(a.value)}
    return TupleType(tuple(a for a in port.schema.attributes if a.name in read))


def record_output(runtime: LogicRuntime) -> Make | None:
    """The function that makes output tuples; none if they are the records themselves."""
    assignments = runtime.operator.outputs[0].assignments
    if not assignments:
        return None
    read = [Variable(type=a.value.type, name=f"read_{a.attribute}") for a in assignments if is_read(a.value)]
    values = iter(read)
    bound = bind_output_calls([next(values) if is_read(a.value) else a.value for a in assignments])
    make = runtime.row(bound.expressions, variables=(*read, *bound.variables))
    functions = [call.function for call in bound.calls]

    def make_tuple(record: Tuple, inputs: Tuple, results: dict[str, Any]) -> Tuple:
        return make(*inputs, *record, *[results[name] for name in functions])

    return make_tuple
