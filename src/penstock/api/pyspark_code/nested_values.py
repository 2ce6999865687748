"""Values with parts (lists, maps, tuples) as PySpark's functions see them, and as they give them.

| attribute | for functions of pandas | for UDFs of values | given by both |
|---|---|---|---|
| list, set | array of NumPy | list | any sequence |
| map | dict | dict | dict, or pairs |
| tuple | dict | `Row` | dict, `Row`, tuple |
| timestamp within one of these | `Timestamp` without a zone | `datetime` without a zone | likewise, or with a zone |

Conversions take Arrow's own Python values, and are None where these will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.ir.types import TIMESTAMP, ListType, MapType, OptionalType, SetType, TupleType, Type
from penstock.toolkit.formats.spark_columns import row_arrow_type

Convert = Callable[[Any], Any]


def value_for_pandas(type_: Type) -> Convert | None:
    """The conversion of a value for a function of pandas.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> value_for_pandas(parse_type("map<rstring, int32>"))([("a", 1)])
        {'a': 1}
    """
    import pandas as pd

    match type_:
        case OptionalType(inner=inner):
            return value_for_pandas(inner)
        case ListType(element=element) | SetType(element=element):
            convert = _or_none(value_for_pandas(element))
            return None if convert is None else lambda found: np.array([convert(v) for v in found])
        case MapType(key=key, value=value):
            return _map(value_for_pandas(key), value_for_pandas(value))
        case TupleType(attributes=attributes):
            parts = [(a.name, _or_none(value_for_pandas(a.type)) or _same) for a in attributes]
            return lambda found: {name: part(found[name]) for name, part in parts}
    return (lambda found: pd.Timestamp(found).tz_localize(None)) if type_ == TIMESTAMP else None


def value_for_udf(type_: Type, row: Callable[..., Any]) -> Convert | None:
    """The conversion of a value for a UDF of values.

    Args:
        type_: Of the value.
        row: PySpark's `Row`.
    """
    match type_:
        case OptionalType(inner=inner):
            return value_for_udf(inner, row)
        case ListType(element=element) | SetType(element=element):
            convert = _or_none(value_for_udf(element, row))
            return None if convert is None else lambda found: [convert(v) for v in found]
        case MapType(key=key, value=value):
            return _map(value_for_udf(key, row), value_for_udf(value, row))
        case TupleType(attributes=attributes):
            parts = [(a.name, _or_none(value_for_udf(a.type, row)) or _same) for a in attributes]
            # A row that is called makes rows with its values as names.
            make = row(*(name for name, _ in parts))
            return lambda found: make(*(part(found[name]) for name, part in parts))
    return (lambda found: found.replace(tzinfo=None)) if type_ == TIMESTAMP else None


def value_from_python(type_: Type) -> Convert | None:
    """The conversion of a value that a function gave into what Arrow takes for `nested_row_type`.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> value_from_python(parse_type("list<tuple<int32 a, map<rstring, int32> b>>"))([(1, {"k": 2})])
        [{'a': 1, 'b': [('k', 2)]}]
    """
    match type_:
        case OptionalType(inner=inner):
            return value_from_python(inner)
        case ListType(element=element) | SetType(element=element):
            inner = element.inner if isinstance(element, OptionalType) else element
            convert = _or_none(value_from_python(element)) or (_same if inner == TIMESTAMP else None)
            return None if convert is None else lambda given: [convert(v) for v in given]
        case MapType(key=key, value=value):
            as_key = _or_none(value_from_python(key)) or _same
            as_value = _or_none(value_from_python(value)) or _same
            return lambda given: [(as_key(k), as_value(v)) for k, v in _pairs(given)]
        case TupleType(attributes=attributes):
            names = [a.name for a in attributes]
            parts = [_or_none(value_from_python(a.type)) or _same for a in attributes]
            return lambda given: {
                name: part(v) for name, part, v in zip(names, parts, _values(given, names), strict=True)
            }
    return None


def nested_row_type(type_: Type) -> pa.DataType:
    """The Arrow type of what functions give for a type with parts; points of time as they have them."""
    return row_arrow_type(type_, "us")


def _map(key: Convert | None, value: Convert | None) -> Convert:
    as_key, as_value = _or_none(key) or _same, _or_none(value) or _same
    return lambda found: {as_key(k): as_value(v) for k, v in _pairs(found)}


def _pairs(given: Any) -> Any:
    return given.items() if isinstance(given, Mapping) else given


def _values(given: Any, names: list[str]) -> Any:
    """The values of a tuple: by name of a dict, of all else by position."""
    if isinstance(given, Mapping):
        return [given.get(name) for name in names]
    if len(given) != len(names):
        raise ValueError(f"expected {len(names)} values for ({', '.join(names)}), got {given!r}")
    return given


def _or_none(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
