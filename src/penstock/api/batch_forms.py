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

Columns of numbers are not copied on their way in; they are read-only.

Example:
    >>> import pyarrow as pa
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("int64 n")
    >>> call = take_form(lambda columns: {"n": columns["n"] * 2}, "numpy", "map", schema)
    >>> call(pa.RecordBatch.from_pydict({"n": [1, 2]})).to_pydict()
    {'n': [2, 4]}
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from penstock.api.rows import ConformError
from penstock.base.diagnostics import UserError, did_you_mean
from penstock.ir.arrow import arrow_type
from penstock.ir.types import OptionalType, Schema, TypedName

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


def take_form(call: Callable[..., Any], form: BatchForm, role: str, outputs: Schema | None) -> BatchCall:
    """A function of record batches that calls a user's function in its own form.

    Args:
        call: The user's function, its parameters bound.
        form: What it takes and gives.
        role: `map`, `flat map`, `filter` or `sink`.
        outputs: The schema of what a map or flat map gives.
    """
    enter = _ENTER[form]
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


def _to_pandas(batch: pa.RecordBatch) -> Any:
    # A block for each column, so that no column is copied to stand beside another one.
    return batch.to_pandas(split_blocks=True)


def _to_polars(batch: pa.RecordBatch) -> Any:
    return _polars().from_arrow(batch)


def _to_numpy(batch: pa.RecordBatch) -> dict[str, np.ndarray]:
    return {
        name: column.to_numpy(zero_copy_only=False)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }


_ENTER: dict[BatchForm, Callable[[pa.RecordBatch], Any]] = {
    "arrow": lambda batch: batch,
    "pandas": _to_pandas,
    "polars": _to_polars,
    "numpy": _to_numpy,
}


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
    if hasattr(series.array, "__arrow_array__"):
        return _from_column(pa.chunked_array([pa.array(series)]), attribute)
    return _from_values(series.to_numpy(), attribute)


def _from_values(values: Any, attribute: TypedName) -> pa.Array:
    type_ = arrow_type(attribute.type)
    try:
        array = np.asarray(values)
        found = pa.array(array) if array.dtype.kind in "biuf" else pa.array(values, type_, from_pandas=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: {error}") from error
    return _from_column(found, attribute)


def _from_column(column: pa.Array | pa.ChunkedArray, attribute: TypedName) -> pa.Array:
    """The column in the attribute's type, if every value fits it."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    try:
        found = whole.cast(arrow_type(attribute.type))
    except (pa.ArrowException, ValueError) as error:
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: {error}") from error
    if found.null_count and not isinstance(attribute.type, OptionalType):
        raise ConformError(f"attribute `{attribute.name}` of type {attribute.type}: a value is missing")
    return found


def _assembled(columns: list[pa.Array], outputs: Schema) -> pa.RecordBatch:
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ConformError(f"columns of different lengths: {', '.join(map(str, sorted(lengths)))}")
    return pa.RecordBatch.from_arrays(columns, names=list(outputs.names))


def _mask(given: Any, rows: int) -> np.ndarray:
    """Which rows a filter keeps."""
    values = given.to_numpy(zero_copy_only=False) if isinstance(given, pa.Array | pa.ChunkedArray) else given
    mask = np.asarray(values)
    if mask.dtype != np.bool_:
        raise ConformError(f"a batch filter gives booleans, got {mask.dtype}")
    if mask.shape != (rows,):
        raise ConformError(f"a batch filter gives one boolean for each row, got {mask.size} for {rows}")
    return mask
