"""The forms in which a batch function takes its rows: Arrow, pandas, Polars or NumPy.

A batch function is told many rows at once and gives for each of them what it would give for it alone: that is what
`batch=` declares, and what is checked on the first rows of a run. Engines hand it as many rows as they have at hand,
the reference one at a time.

| form | takes | a map gives | a filter gives |
|---|---|---|---|
| `arrow` | `pyarrow.RecordBatch` | a `RecordBatch` or `Table` | a boolean array |
| `pandas` | `pandas.DataFrame` | a `DataFrame` | a boolean `Series` |
| `polars` | `polars.DataFrame` | a `DataFrame` | a boolean `Series` |
| `numpy` | a dict of arrays by attribute | such a dict | a boolean array |

Columns of numbers are not copied on their way in; they are read-only. The type of a column depends on its attribute
alone and never on the rows that come: optional numbers and booleans are nullable columns of pandas (`Int64`) and arrays
of objects in NumPy, because a NaN for a missing value would round the integers beside it.

Example:
    >>> import pyarrow as pa
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("int64 n")
    >>> call = take_form(lambda columns: {"n": columns["n"] * 2}, "numpy", "map", schema, schema)
    >>> call(pa.RecordBatch.from_pydict({"n": [1, 2]})).to_pydict()
    {'n': [2, 4]}
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from penstock.api.rows import ConformError, conform_value
from penstock.base.diagnostics import UserError, did_you_mean
from penstock.expr.values import from_arrow_array, to_arrow_array
from penstock.ir.arrow import arrow_type
from penstock.ir.types import (
    ListType,
    OptionalType,
    Primitive,
    Schema,
    Type,
    TypedName,
    is_decimal,
    is_integer,
    is_string,
)

BatchForm = Literal["arrow", "pandas", "polars", "numpy"]
FORMS: tuple[BatchForm, ...] = ("arrow", "pandas", "polars", "numpy")

BatchCall = Callable[[pa.RecordBatch], Any]


def check_form(batch: bool | str) -> BatchForm | None:
    """The form that a decorator's `batch` names, None for a function of single tuples.

    Raises:
        UserError: There is no such form, or the library that it needs is not there.
    """
    if batch is False or batch is None:
        return None
    form = "arrow" if batch is True else batch
    if form not in FORMS:
        hint = (did_you_mean(form, FORMS) if isinstance(form, str) else None) or f"one of {', '.join(FORMS)}"
        raise UserError(f"there is no batch form `{form}`", hint=hint)
    if form == "polars":
        _polars()
    return form


def take_form(
    call: Callable[..., Any], form: BatchForm, role: str, inputs: Schema, outputs: Schema | None
) -> BatchCall:
    """A function of record batches that calls a user's function in its own form.

    Args:
        call: The user's function, its parameters bound.
        form: What it takes and gives.
        role: `map`, `flat map`, `filter` or `sink`.
        inputs: The schema of what it takes.
        outputs: The schema of what a map or flat map gives.
    """
    enter = _enter(form, inputs)
    if role == "sink":
        return lambda batch: call(enter(batch))
    if role == "filter":
        return lambda batch: _mask(call(enter(batch)), batch.num_rows)
    assert outputs is not None
    leave = _LEAVE[form]
    return lambda batch: leave(call(enter(batch)), outputs)


def _polars() -> Any:
    try:
        return importlib.import_module("polars")
    except ImportError as error:
        message = "batch functions of Polars need the package `polars`, which is not installed"
        raise UserError(message, hint="pip install polars") from error


def _enter(form: BatchForm, inputs: Schema) -> Callable[[pa.RecordBatch], Any]:
    """The function that gives a batch its form."""
    if form == "arrow":
        return lambda batch: batch
    if form == "polars":
        return lambda batch: _polars().from_arrow(batch)
    nullable = {a.name: a.type for a in inputs.attributes if _has_missing_numbers(a.type)}
    if form == "pandas":
        return lambda batch: _to_pandas(batch, nullable)
    return lambda batch: {
        name: _objects(column) if name in nullable else column.to_numpy(zero_copy_only=False)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }


def _has_missing_numbers(type_: Type) -> bool:
    """Whether a number or a boolean may be missing, somewhere in a value."""
    return any(isinstance(part, OptionalType) and part.inner in _NULLABLE for part in type_.walk())


def _to_pandas(batch: pa.RecordBatch, nullable: dict[str, Type]) -> Any:
    import pandas as pd

    # A block for each column, so that no column is copied to stand beside another one.
    frame = batch.to_pandas(split_blocks=True)
    for name, type_ in nullable.items():
        dtype = _NULLABLE.get(type_.inner) if isinstance(type_, OptionalType) else None
        column = batch.column(name)
        frame[name] = _objects(column) if dtype is None else pd.api.types.pandas_dtype(dtype).__from_arrow__(column)
    return frame


def _objects(column: pa.Array) -> np.ndarray:
    made = np.empty(len(column), object)
    made[:] = column.to_pylist()
    return made


_NULLABLE: dict[Type, str] = {
    Primitive("boolean"): "boolean",
    Primitive("timestamp"): "Int64",
    Primitive("float32"): "Float32",
    Primitive("float64"): "Float64",
    **{Primitive(f"int{bits}"): f"Int{bits}" for bits in (8, 16, 32, 64)},
    **{Primitive(f"uint{bits}"): f"UInt{bits}" for bits in (8, 16, 32, 64)},
}
"""The types that pandas has columns with missing values for, and their names there."""


def _from_arrow(made: Any, outputs: Schema) -> pa.RecordBatch:
    if not isinstance(made, pa.RecordBatch | pa.Table):
        raise ConformError(f"a batch function returns a pyarrow RecordBatch, got {type(made).__name__}")
    _check_names(made.schema.names, outputs, ordered=True)
    return _assembled([_from_column(made.column(a.name), a) for a in outputs.attributes], outputs)


def _from_pandas(made: Any, outputs: Schema) -> pa.RecordBatch:
    import pandas as pd

    if not isinstance(made, pd.DataFrame):
        raise ConformError(f"a batch function of pandas returns a DataFrame, got {type(made).__name__}")
    _check_names(made.columns, outputs)
    return _assembled([_from_series(made[a.name], a) for a in outputs.attributes], outputs)


def _from_polars(made: Any, outputs: Schema) -> pa.RecordBatch:
    if not isinstance(made, _polars().DataFrame):
        raise ConformError(f"a batch function of Polars returns a DataFrame, got {type(made).__name__}")
    _check_names(made.columns, outputs)
    table = made.to_arrow()
    return _assembled([_from_column(table.column(a.name), a) for a in outputs.attributes], outputs)


def _from_numpy(made: Any, outputs: Schema) -> pa.RecordBatch:
    if not isinstance(made, dict):
        raise ConformError(f"a batch function of NumPy returns a dict of arrays, got {type(made).__name__}")
    _check_names(made, outputs)
    return _assembled([_from_values(made[a.name], a) for a in outputs.attributes], outputs)


_LEAVE: dict[BatchForm, Callable[[Any, Schema], pa.RecordBatch]] = {
    "arrow": _from_arrow,
    "pandas": _from_pandas,
    "polars": _from_polars,
    "numpy": _from_numpy,
}


def _check_names(names: Any, outputs: Schema, *, ordered: bool = False) -> None:
    """All attributes and no others; where columns have numbers, in order."""
    found = [str(name) for name in names]
    if found != list(outputs.names) if ordered else sorted(found) != sorted(outputs.names):
        raise ConformError(f"expected columns ({', '.join(outputs.names)}), got ({', '.join(found)})")


def _from_series(series: Any, attribute: TypedName) -> pa.Array:
    """A column of pandas; where its memory is NumPy's, NaN is a number and not a missing value."""
    if hasattr(series.array, "__arrow_array__") or hasattr(series.dtype, "tz"):
        return _from_column(pa.chunked_array([pa.array(series)]), attribute)
    return _from_values(series.to_numpy(), attribute)


def _from_values(values: Any, attribute: TypedName) -> pa.Array:
    try:
        # Arrow knows what is masked; an array that is made of it would not.
        array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        found = pa.array(array) if array.dtype.kind in "biufM" else _from_objects(values, attribute.type)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: {error}") from error
    return _from_column(found, attribute)


def _from_objects(values: Any, type_: Type) -> pa.Array:
    if is_decimal(_inner(type_)):
        values = [str(value) if isinstance(value, Decimal) else value for value in values]
    return pa.array(values, arrow_type(type_), from_pandas=False)


def _from_column(column: pa.Array | pa.ChunkedArray, attribute: TypedName) -> pa.Array:
    """The column in the attribute's type, if every value fits it."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole.type, pa.DictionaryType):
        whole = whole.dictionary_decode()
    try:
        found = _cast(whole, _inner(attribute.type))
    except (pa.ArrowException, ValueError, TypeError, ArithmeticError) as error:
        text = "a text is not a number" if isinstance(error, ArithmeticError) else error
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: {text}") from error
    if found.null_count and not isinstance(attribute.type, OptionalType):
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: a value is missing")
    return found


def _inner(type_: Type) -> Type:
    return type_.inner if isinstance(type_, OptionalType) else type_


def _cast(column: pa.Array, type_: Type) -> pa.Array:
    """The column in a type; where Arrow does not know what the type asks for, every value is looked at."""
    if _is_plain(type_):
        return _cast_plain(column, type_)
    if isinstance(type_, ListType) and type_.bound is None and _is_plain(type_.element):
        found = column.cast(_without_rules(arrow_type(type_)))
        if not found.flatten().null_count:
            return found.cast(arrow_type(type_))
    values, conform = from_arrow_array(column.cast(_without_rules(arrow_type(type_))), type_), conform_value(type_)
    return to_arrow_array([None if value is None else _conform(conform, value) for value in values], type_)


def _conform(conform: Callable[[Any], Any], value: Any) -> Any:
    try:
        return conform(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"got {value!r}") from error


def _is_plain(type_: Type) -> bool:
    """Whether all values of an Arrow type are values of this one."""
    return isinstance(type_, Primitive) and type_.bound is None and not is_decimal(type_)


def _cast_plain(column: pa.Array, type_: Type) -> pa.Array:
    """A column of plain values, which must be of their kind: a number for a number, a text for a text."""
    found = column.type
    if not (_is_like(found, type_) or kinds.is_null(found)):
        raise ValueError(f"got a column of {found}")
    if kinds.is_timestamp(found):
        column = column.cast(pa.timestamp("ns", found.tz))
    return column.cast(arrow_type(type_))


def _is_like(found: pa.DataType, type_: Type) -> bool:
    """Whether a column of this Arrow type may become one of a plain type."""
    name = str(arrow_type(type_))
    if type_ == Primitive("timestamp") and kinds.is_timestamp(found):
        return True
    if is_integer(type_) or name in ("int64", "float", "double"):
        return bool(kinds.is_integer(found) or kinds.is_floating(found))
    if is_string(type_) or name == "string":
        return bool(kinds.is_string(found) or kinds.is_large_string(found) or kinds.is_string_view(found))
    if name == "bool":
        return bool(kinds.is_boolean(found))
    return bool(kinds.is_binary(found) or kinds.is_large_binary(found) or kinds.is_binary_view(found))


def _without_rules(type_: pa.DataType) -> pa.DataType:
    """An Arrow type in which everything may be missing: within a missing tuple, Arrow sees its attributes missing."""
    if isinstance(type_, pa.MapType):
        return pa.map_(_without_rules(type_.key_type), _without_rules(type_.item_type))
    if isinstance(type_, pa.ListType):
        return pa.list_(_without_rules(type_.value_type))
    if isinstance(type_, pa.StructType):
        return pa.struct([pa.field(field.name, _without_rules(field.type)) for field in type_])
    return type_


def _assembled(columns: list[pa.Array], outputs: Schema) -> pa.RecordBatch:
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ConformError(f"columns of different lengths: {', '.join(map(str, sorted(lengths)))}")
    return pa.RecordBatch.from_arrays(columns, names=list(outputs.names))


def _mask(given: Any, rows: int) -> np.ndarray:
    """Which rows a filter keeps."""
    values = given.to_numpy(zero_copy_only=False) if isinstance(given, pa.Array | pa.ChunkedArray) else given
    mask = np.asarray(values)
    if mask.dtype == np.object_ and all(isinstance(keep, bool | np.bool_) for keep in mask.flat):
        mask = mask.astype(bool)
    if mask.dtype != np.bool_:
        raise ConformError(f"a batch filter gives booleans, got {_kind_of(mask)}")
    if mask.shape != (rows,):
        raise ConformError(f"a batch filter gives one boolean for each row, got {mask.size} for {rows}")
    return mask


def _kind_of(mask: np.ndarray) -> str:
    other = [keep for keep in mask.flat if not isinstance(keep, bool | np.bool_)] if mask.dtype == np.object_ else []
    return repr(other[0]) if other else str(mask.dtype)
