"""Brings Arrow columns of others (Parquet, Spark, pandas) into the types of attributes, where that loses nothing.

Example:
    >>> from penstock.ir.types import INT32, parse_type
    >>> conform_column(pa.array([1, 2]), INT32).type
    DataType(int32)
    >>> import datetime
    >>> noon = pa.array([[datetime.datetime(1970, 1, 1, 12)]], pa.list_(pa.timestamp("us")))
    >>> conform_column(noon, parse_type("list<timestamp>")).to_pylist()
    [[43200000000000]]
    >>> conform_column(pa.array([[1, None]]), parse_type("list<int32>"))
    Traceback (most recent call last):
    ValueError: there is a null within a value, where int32 is not optional
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.values import DECIMAL_CONTEXTS, from_arrow_array, to_arrow_array
from penstock.ir.arrow import arrow_type
from penstock.ir.types import (
    TIMESTAMP,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    is_decimal,
)


def conform_column(array: pa.Array, type_: Type) -> pa.Array:
    """A column in the Arrow type of an attribute; nulls stay nulls, but for those within a value, which have no place.

    Raises:
        ArrowException: A value cannot be brought into the type.
        ValueError: Likewise, of an enumeration, or within a value.
    """
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    if inner == TIMESTAMP and pa.types.is_timestamp(array.type):
        return array.cast(pa.timestamp("ns", array.type.tz)).cast(pa.int64())
    if isinstance(inner, Primitive) and is_decimal(inner):
        create = DECIMAL_CONTEXTS[inner.name].create_decimal
        return to_arrow_array([None if v is None else create(Decimal(str(v))) for v in array.to_pylist()], inner)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), arrow_type(inner))
    match inner:
        case SetType(element=element):
            return _as_sets(_conform_list(array, ListType(element=element)), inner)
        case ListType():
            return _conform_list(array, inner)
        case MapType():
            return _conform_map(array, inner)
        case TupleType():
            return _conform_struct(array, inner)
    found = in_nanoseconds(array).cast(arrow_type(inner))
    if isinstance(inner, EnumType):
        _check_symbols(found, inner)
    return found


def _conform_list(array: pa.Array, type_: ListType) -> pa.Array:
    if not pa.types.is_list(array.type):
        array = array.cast(pa.list_(_element_type(array.type, type_)))
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    elements = _within(array.flatten(), type_.element)
    return pa.ListArray.from_arrays(_offsets(lengths), elements, type=arrow_type(type_), mask=_mask(array))


def _element_type(found: pa.DataType, type_: ListType) -> pa.DataType:
    """The type of the elements of a list of another make, such as one of a fixed size."""
    return getattr(found, "value_type", arrow_type(type_.element))


def _conform_map(array: pa.Array, type_: MapType) -> pa.Array:
    if not pa.types.is_map(array.type):
        array = array.cast(arrow_type(type_))
    # Keys and items of a slice are those of the whole.
    whole = array.take(pa.array(np.arange(len(array))))
    keys, items = _within(whole.keys, type_.key), _within(whole.items, type_.value)
    mask = _mask(whole)
    return pa.MapArray.from_arrays(_rebased(whole.offsets), keys, items, type=arrow_type(type_), mask=mask)


def _conform_struct(array: pa.Array, type_: TupleType) -> pa.Array:
    if not pa.types.is_struct(array.type):
        array = array.cast(arrow_type(type_))
    names = [field.name for field in array.type]
    columns = dict(zip(names, array.flatten(), strict=True))
    is_there = None if array.null_count == 0 else array.is_valid()
    made = []
    for attribute in type_.attributes:
        if attribute.name not in columns:
            raise ValueError(f"there is no `{attribute.name}` in {array.type}")
        made.append(_within(columns[attribute.name], attribute.type, is_there))
    return pa.StructArray.from_arrays(made, fields=list(arrow_type(type_)), mask=_mask(array))


def _within(array: pa.Array, type_: Type, is_there: pa.Array | None = None) -> pa.Array:
    """A column within others; nulls have no place in it, but where the value is not there that it is a part of."""
    found = conform_column(array, type_)
    if found.null_count and not isinstance(type_, OptionalType):
        nulls = found.is_null() if is_there is None else pc.and_(found.is_null(), is_there)
        if pc.any(nulls).as_py():
            raise ValueError(f"there is a null within a value, where {type_} is not optional")
    return found


def _as_sets(lists: pa.Array, type_: SetType) -> pa.Array:
    found = from_arrow_array(lists, ListType(element=type_.element))
    return to_arrow_array([None if v is None else _set(v) for v in found], type_)


def _set(values: list[Any]) -> set[Any]:
    try:
        return set(values)
    except TypeError:
        raise ValueError("a set has no lists, sets or maps as elements") from None


def _offsets(lengths: pa.Array) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))]), pa.int32())


def _rebased(offsets: pa.Array) -> pa.Array:
    return pa.array(offsets.to_numpy() - offsets[0].as_py(), pa.int32())


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


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
    if known.false_count:
        stranger = found.filter(pc.invert(known))[0].as_py()
        raise ValueError(f"`{stranger}` is not a symbol of {type_}")
