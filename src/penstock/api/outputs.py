"""Output ports of an invocation: their schemas, names and output clauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.columns import Scope, lift
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.expr import typing
from penstock.ir.types import Schema, TupleType, TypedName
from penstock.toolkit.core.operator_registry import standard


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The schema, name and output clause of one output port of an invocation.

    Attributes:
        schema: Of the tuples; given as SPL text, a class, or a `Schema`.
        name: Of the stream; by default that of the operator.
        assign: The output clause.

    Example:
        >>> from penstock import col
        >>> Output(schema="int32 x", name="Doubled", assign={"x": col.x * 2}).schema.names
        ('x',)
    """

    schema: SchemaLike
    name: str | None = None
    assign: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", schema_of(self.schema))


def output_schema(columns: Mapping[str, Any], kind: str, *schemas: Schema) -> Schema:
    """The schema of an output clause over some inputs: the type of each value.

    Example:
        >>> from penstock import col
        >>> print(output_schema({"half": col.x / 2.0}, "Functor", schema_of("float64 x")))
        tuple<float64 half>
    """
    if not columns:
        raise UserError(Diagnostic(message="no output attributes are given", span=caller_span()))
    scope = Scope(schemas=schemas, definition=standard().get(kind), span=caller_span())
    built = {name: lift(value).build(scope) for name, value in columns.items()}
    made = TupleType(tuple(TypedName(a, typing.check_type(e.type, scope.span)) for a, e in built.items()))
    return schema_of(made)
