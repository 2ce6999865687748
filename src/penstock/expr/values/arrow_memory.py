"""Values to and from Arrow memory, as `penstock.ir.arrow` lays them out.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("uint32 uid, set<int8> marks, optional<rstring> note")
    >>> batch = batch_from_rows([(7, {3, 1}, None)], schema)
    >>> rows_from_batch(batch, schema)
    [(7, {1, 3}, None)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from penstock.expr.values.default import default_value
from penstock.expr.values.order import ascending
from penstock.ir.arrow import arrow_schema, arrow_type
from penstock.ir.types import (
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    is_complex,
    is_decimal,
    is_float,
    is_integer,
)

Row = tuple[Any, ...]


def to_arrow_array(values: Iterable[Any], type_: Type) -> pa.Array:
    """The Arrow array of values of a type.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> to_arrow_array([{2, 1}], parse_type("set<int8>")).to_pylist()
        [[1, 2]]
    """
    found = values if isinstance(values, list) else list(values)
    match type_:
        case OptionalType(inner=inner):
            return to_arrow_array(found, inner)
        case Primitive() if is_decimal(type_) or is_complex(type_):
            return pa.array([None if v is None else str(v) for v in found], pa.string())
        case ListType(element=element):
            return _list_array(found, element, type_, list)
        case SetType(element=element):
            return _list_array(found, element, type_, ascending(element))
        case MapType():
            return _map_array(found, type_)
        case TupleType():
            return _struct_array(found, type_)
    return pa.array(found, arrow_type(type_))


def _mask(values: list[Any]) -> pa.Array | None:
    return pa.array([v is None for v in values]) if None in values else None


def _offsets(values: list[Any]) -> pa.Array:
    lengths = (0 if v is None else len(v) for v in values)
    return pa.array(accumulate(lengths, initial=0), pa.int32())


def _list_array(values: list[Any], element: Type, type_: Type, in_order: Callable[[Any], list[Any]]) -> pa.Array:
    items = to_arrow_array(list(chain.from_iterable(in_order(v) for v in values if v is not None)), element)
    return pa.ListArray.from_arrays(_offsets(values), items, type=arrow_type(type_), mask=_mask(values))


def _map_array(values: list[Any], type_: MapType) -> pa.Array:
    present = [v for v in values if v is not None]
    keys = to_arrow_array(list(chain.from_iterable(present)), type_.key)
    items = to_arrow_array(list(chain.from_iterable(v.values() for v in present)), type_.value)
    return pa.MapArray.from_arrays(_offsets(values), keys, items, type=arrow_type(type_), mask=_mask(values))


def _struct_array(values: list[Any], type_: TupleType) -> pa.Array:
    filler = default_value(type_)
    filled = [filler if v is None else v for v in values]
    children = [to_arrow_array([v[i] for v in filled], a.type) for i, a in enumerate(type_.attributes)]
    if not children:
        return pa.array([None if v is None else {} for v in values], arrow_type(type_))
    return pa.StructArray.from_arrays(children, fields=list(arrow_type(type_)), mask=_mask(values))


def from_arrow_array(array: pa.Array | pa.ChunkedArray, type_: Type) -> list[Any]:
    """The values of an Arrow array.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> from_arrow_array(pa.array(["1.50"]), parse_type("decimal64"))
        [Decimal('1.50')]
    """
    if array.null_count == 0 and (is_integer(type_) or is_float(type_) or type_ == Primitive("boolean")):
        # Several times faster than to_pylist, which makes a scalar object for each value.
        return array.to_numpy(**({} if isinstance(array, pa.ChunkedArray) else {"zero_copy_only": False})).tolist()  # type: ignore[no-any-return]
    convert = _from_python(type_)
    found = array.to_pylist()
    return found if convert is None else [None if v is None else convert(v) for v in found]


def _from_python(type_: Type) -> Callable[[Any], Any] | None:
    """A converter of the values of Arrow's `to_pylist` into ours; None where they are alike."""
    match type_:
        case OptionalType(inner=inner):
            return _from_python(inner)
        case Primitive() if is_decimal(type_):
            return Decimal
        case Primitive() if is_complex(type_):
            return complex
        case ListType(element=element):
            convert = _nullable(_from_python(element))
            return None if convert is None else partial(_list_from_python, convert)
        case SetType(element=element):
            convert = _nullable(_from_python(element))
            return set if convert is None else lambda found: set(_list_from_python(convert, found))
        case MapType(key=key, value=value):
            return _map_from_python(_nullable(_from_python(key)), _nullable(_from_python(value)))
        case TupleType(attributes=attributes):
            return _tuple_from_python([_nullable(_from_python(a.type)) for a in attributes])
    return None


def _list_from_python(convert: Callable[[Any], Any], found: list[Any]) -> list[Any]:
    return [convert(v) for v in found]


def _nullable(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    def nullable(value: Any) -> Any:
        return None if value is None or convert is None else convert(value)

    return None if convert is None else nullable


def _map_from_python(
    key: Callable[[Any], Any] | None, value: Callable[[Any], Any] | None
) -> Callable[[list[tuple[Any, Any]]], dict[Any, Any]]:
    if key is None and value is None:
        return dict
    to_key, to_value = key or (lambda k: k), value or (lambda v: v)
    return lambda pairs: {to_key(k): to_value(v) for k, v in pairs}


def _tuple_from_python(converts: Sequence[Callable[[Any], Any] | None]) -> Callable[[dict[str, Any]], Row]:
    if all(convert is None for convert in converts):
        return lambda found: tuple(found.values())
    filled = [convert or (lambda value: value) for convert in converts]
    return lambda found: tuple(convert(v) for convert, v in zip(filled, found.values(), strict=True))


def rows_from_batch(batch: pa.RecordBatch, schema: TupleType) -> list[Row]:
    """The tuples of a record batch, columns taken in the schema's order.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> rows_from_batch(pa.record_batch({"a": [1, 2]}), parse_schema("int64 a"))
        [(1,), (2,)]
    """
    if not schema.attributes:
        return [()] * batch.num_rows
    columns = [from_arrow_array(batch.column(i), a.type) for i, a in enumerate(schema.attributes)]
    return list(zip(*columns, strict=True))


def batch_from_rows(rows: Iterable[Row], schema: TupleType) -> pa.RecordBatch:
    """The record batch of tuples.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> batch_from_rows([(1, "x")], parse_schema("int32 a, rstring b")).num_rows
        1
    """
    found = list(rows)
    if not schema.attributes:
        return pa.RecordBatch.from_struct_array(_struct_array(list(found), schema))
    columns: Iterable[Sequence[Any]] = zip(*found, strict=True) if found else ([] for _ in schema.attributes)
    arrays = [to_arrow_array(list(c), a.type) for c, a in zip(columns, schema.attributes, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))
