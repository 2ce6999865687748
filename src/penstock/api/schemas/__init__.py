"""Schemas from what Python users have at hand: SPL text, named tuples, dataclasses, dicts, Arrow's and Spark's schemas.

| given | for example | null |
|---|---|---|
| text | `"rstring sym, optional<float64> price"` | `optional<T>` |
| a NamedTuple or a dataclass | `class Trade(NamedTuple): sym: str; price: float \\| None` | `T \\| None` |
| a dict of types | `{"sym": str, "volume": "int32"}` | `T \\| None`, `"optional<T>"` |
| a `pyarrow.Schema` | `pa.schema([pa.field("sym", pa.string(), nullable=False)])` | a nullable field |
| a Spark `StructType` | `StructType([StructField("sym", StringType(), False)])` | a nullable field |

What has no type here (a date, an interval) is refused by the name of its field.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.api.schemas.arrow import arrow_attributes
from penstock.api.schemas.problems import FieldProblem
from penstock.api.schemas.spark import is_struct_type, struct_attributes
from penstock.api.schemas.type_hints import attributes_of, is_record, type_of
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.types import Schema, TupleType, TypedName, parse_schema

__all__ = ["SchemaLike", "schema_of", "type_of"]

SchemaLike = str | Schema | type | Mapping[str, Any] | Any
"""SPL text, a `Schema`, a class with annotated fields, types by name, a `pyarrow.Schema`, a Spark `StructType`."""

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def schema_of(value: SchemaLike) -> Schema:
    """The schema that a user means.

    Raises:
        UserError: It is none, or it has a field that a stream cannot have; the message names the field.

    Example:
        >>> from typing import NamedTuple
        >>> Trade = NamedTuple("Trade", [("sym", str), ("prices", list[float]), ("note", str | None)])
        >>> print(schema_of(Trade))
        tuple<rstring sym, list<float64> prices, optional<rstring> note>
        >>> print(schema_of({"sym": str, "volume": "int32"}))
        tuple<rstring sym, int32 volume>
        >>> print(schema_of(pa.schema([pa.field("x", pa.int8(), nullable=False), ("y", pa.list_(pa.string()))])))
        tuple<int8 x, optional<list<optional<rstring>>> y>
    """
    try:
        schema = _found(value)
        _check_names(schema)
    except FieldProblem as problem:
        raise UserError(Diagnostic(message=str(problem), span=caller_span(), hint=problem.hint)) from None
    return schema


def _found(value: Any) -> Schema:
    if isinstance(value, TupleType):
        return value
    if isinstance(value, str):
        return _parsed(value)
    if isinstance(value, pa.Schema):
        return TupleType(arrow_attributes(value))
    if is_struct_type(value):
        return TupleType(struct_attributes(value))
    if isinstance(value, type) and is_record(value):
        return TupleType(attributes_of(value))
    if isinstance(value, Mapping):
        return TupleType(tuple(TypedName(name, type_of(hint, str(name))) for name, hint in value.items()))
    hint = "give SPL text, a NamedTuple class, a dataclass, a dict of types, a pyarrow.Schema or a Spark StructType"
    if dataclasses.is_dataclass(value) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        hint = f"give the class, {type(value).__name__}"
    raise UserError(Diagnostic(message=f"{value!r} is not a schema", span=caller_span(), hint=hint))


def _parsed(text: str) -> Schema:
    try:
        return parse_schema(text)
    except ValueError as error:
        hint = 'types come first, as in "rstring sym, float64 price"'
        raise UserError(Diagnostic(message=str(error), span=caller_span(), hint=hint)) from None


def _check_names(schema: Schema) -> None:
    for part in schema.walk():
        if not isinstance(part, TupleType):
            continue
        for name, times in Counter(a.name for a in part.attributes).items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                hint = "a name has letters, digits and underscores, and begins with no digit: rename the field"
                raise FieldProblem(str(name), "its name is not one that a stream can have", hint)
            if times > 1:
                raise FieldProblem(name, f"there are {times} fields of this name", "rename all but one")
