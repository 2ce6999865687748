"""Brings Arrow columns of others (Parquet, Spark, pandas) into the types of attributes, where that loses nothing.

Example:
    >>> from penstock.ir.types import INT32, parse_type
    >>> conform_column(pa.array([1, 2]), INT32).type
    DataType(int32)
    >>> import datetime
    >>> noon = pa.array([[datetime.datetime(1970, 1, 1, 12)]], pa.list_(pa.timestamp("us")))
    >>> conform_column(noon, parse_type("list<timestamp>")).to_pylist()
    [[43200000000000]]
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.values import DECIMAL_CONTEXTS, to_arrow_array
from penstock.ir.arrow import arrow_type
from penstock.ir.types import TIMESTAMP, EnumType, OptionalType, Primitive, SetType, Type, is_decimal


def conform_column(array: pa.Array, type_: Type) -> pa.Array:
    """A column in the Arrow type of an attribute; nulls stay nulls.

    Raises:
        ArrowException: A value cannot be brought into the type.
        ValueError: Likewise, of an enumeration.
    """
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    if inner == TIMESTAMP and pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp("ns", array.type.tz)).cast(pa.int64())
    if isinstance(inner, Primitive) and is_decimal(inner):
        create = DECIMAL_CONTEXTS[inner.name].create_decimal
        return to_arrow_array([None if v is None else create(Decimal(str(v))) for v in array.to_pylist()], inner)
    if isinstance(inner, SetType):
        return to_arrow_array([None if v is None else set(v) for v in array.to_pylist()], inner)
    found = in_nanoseconds(array).cast(arrow_type(inner))
    if isinstance(inner, EnumType):
        _check_symbols(found, inner)
    return found


def in_nanoseconds(array: pa.Array) -> pa.Array:
    """A column whose points of time, however deep they lie, count nanoseconds."""
    wanted = _finest(array.type)
    return array if wanted == array.type else array.cast(wanted)


def _finest(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type_):
        return pa.timestamp("ns", type_.tz)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(type_.value_field.with_type(_finest(type_.value_type)))
    if pa.types.is_map(type_):
        return pa.map_(_finest(type_.key_type), type_.item_field.with_type(_finest(type_.item_type)))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_finest(field.type)) for field in type_])
    return type_


def _check_symbols(found: pa.Array, type_: EnumType) -> None:
    known = pc.is_in(found, pa.array([*type_.symbols, None], pa.string()))
    if not pc.all(known).as_py():
        stranger = found.filter(pc.invert(known))[0].as_py()
        raise ValueError(f"`{stranger}` is not a symbol of {type_}")
