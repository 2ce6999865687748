"""Functions written for `mapInArrow` and `mapInPandas`, and UDFs, as operators."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.pyspark_code.nested_values import value_for_udf
from penstock.api.pyspark_code.pandas_blocks import conform_values, from_arrow, from_frame, to_frame
from penstock.api.rows import ConformError
from penstock.base.diagnostics import UserError
from penstock.ir.arrow import arrow_schema
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, OperatorModel, Selectivity, State, Why
from penstock.ir.types import OptionalType, Schema, TupleType
from penstock.toolkit.core.block_runtime import BlockRuntime, Given
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.formats.spark_columns import to_rows

DATA_TYPES = "pyspark.sql.types"
"""The module with PySpark's `Row`, and with the type that a UDF returns."""

UNKNOWN = "it may look at several rows, or remember some; `stateless=True` says that it does not"


class _MapIn(BlockRuntime):
    """Calls a function of an iterator of batches, with one batch: a block."""

    def __init__(self, function: Any, of: str, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._function, self._of = function, of

    def take_block(self, block: pa.RecordBatch) -> Given:
        """What the function gives stands behind the last row."""
        is_pandas = self._of == "pandas"
        given = self._function(iter([(to_frame if is_pandas else to_rows)(block, self.inputs)]))
        if not isinstance(given, Iterable):
            raise ConformError(f"the function gives an iterator of batches, got {type(given).__name__}")
        for found in given:
            yield block.num_rows - 1, (from_frame if is_pandas else from_arrow)(found, self.outputs)


def map_in(function: Any, of: str, name: str, *, stateless: bool) -> OperatorDefinition:
    """The definition of a function for `mapInArrow` or `mapInPandas`.

    Args:
        function: It.
        of: `arrow` or `pandas`.
        name: Of the operator.
        stateless: Whether it looks at one row at a time and remembers nothing.
    """
    if not callable(function):
        raise UserError(f"a function of an iterator of batches is wanted, found {function!r}")
    state = State.STATELESS if stateless else State.UNKNOWN
    why = () if stateless else (Why(Flag.STATE, UNKNOWN),)
    return OperatorDefinition(
        name=name,
        namespace="",
        doc=function.__doc__ or "",
        inputs=(1, 1),
        outputs=(1, 1),
        facts=Facts(takes_blocks=True),
        model=lambda operator: OperatorModel(state=state, why=why),
        runtime=lambda operator, context: _MapIn(function, of, operator, context),
    )


_ROWS, _ARROW_ROWS, _SERIES, _ITERATORS = 100, 101, 200, 204
"""PySpark's kinds of UDFs: of values, of values that travel by Arrow, of series, and of iterators of series."""


Call = Callable[[pa.RecordBatch, Schema, tuple[str, ...]], Iterator[Any]]
"""Gives the values of a UDF for the rows of a block."""


class _WithUdf(BlockRuntime):
    """Adds a column that a UDF makes of others."""

    def __init__(self, call: Call, name: str, columns: tuple[str, ...], operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._call, self._name, self._columns = call, name, columns

    def take_block(self, block: pa.RecordBatch) -> Given:
        """Each row stands where it stood."""
        values = list(self._call(block, self.inputs, self._columns))
        if len(values) != block.num_rows:
            raise ConformError(f"the UDF gives a value for each row, got {len(values)} for {block.num_rows}")
        made = conform_values(values, self.outputs.attribute(self._name))
        columns = [made if name == self._name else block.column(name) for name in self.outputs.names]
        yield np.arange(block.num_rows), pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self.outputs))


def with_udf(udf: Any, name: str, columns: tuple[str, ...], kind: str) -> OperatorDefinition:
    """The definition of a UDF that gives one more attribute.

    Args:
        udf: It.
        name: Of the attribute.
        columns: The attributes that it takes.
        kind: The name of the operator's kind.
    """
    # The UDF itself does not travel: once PySpark has used it, it holds an object of Java's.
    call = call_udf(udf)
    return OperatorDefinition(
        name=kind,
        namespace="",
        doc=getattr(udf, "__doc__", None) or "",
        inputs=(1, 1),
        outputs=(1, 1),
        facts=Facts(takes_blocks=True),
        model=lambda operator: OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE),
        runtime=lambda operator, context: _WithUdf(call, name, columns, operator, context),
    )


def call_udf(udf: Any) -> Call:
    """A function that gives the values of a UDF for the rows of a block.

    Raises:
        UserError: It is none, or of a kind that gives no value for each row.
    """
    function, kind = getattr(udf, "func", None), getattr(udf, "evalType", None)
    if function is not None and kind in (_ROWS, _ARROW_ROWS):
        # PySpark is at hand where one of its UDFs is, but is imported by the back end alone.
        return partial(_of_values, function, vars(sys.modules[DATA_TYPES])["Row"])
    calls = {_SERIES: _of_series, _ITERATORS: _of_iterators}
    if function is None or kind not in calls:
        hint = "make it with pyspark's `udf` or `pandas_udf`; one that aggregates has no value for each row"
        raise UserError(f"a scalar UDF of PySpark is wanted, found {udf!r}", hint=hint)
    return partial(calls[kind], function)


def _of_values(
    function: Any, row: Any, block: pa.RecordBatch, schema: Schema, columns: tuple[str, ...]
) -> Iterator[Any]:
    rows = to_rows(block, schema)
    lists = []
    for name in columns:
        column = _naive(rows.column(rows.schema.get_field_index(name)))
        convert = value_for_udf(schema.attribute(name).type, row) if pa.types.is_nested(column.type) else None
        found = column.to_pylist()
        lists.append(found if convert is None else [None if v is None else convert(v) for v in found])
    return map(function, *lists) if lists else (function() for _ in range(block.num_rows))


def _naive(column: pa.Array) -> pa.Array:
    return column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column


def _of_series(function: Any, block: pa.RecordBatch, schema: Schema, columns: tuple[str, ...]) -> Iterator[Any]:
    return _values(function(*_series(block, schema, columns)))


def _of_iterators(function: Any, block: pa.RecordBatch, schema: Schema, columns: tuple[str, ...]) -> Iterator[Any]:
    given = _series(block, schema, columns)
    for series in function(iter([given[0] if len(columns) == 1 else tuple(given)])):
        yield from _values(series)


def _series(block: pa.RecordBatch, schema: Schema, columns: tuple[str, ...]) -> list[Any]:
    """The columns as a pandas UDF takes them: tuples are a frame."""
    frame = to_frame(block, schema)
    found = []
    for name in columns:
        type_ = schema.attribute(name).type
        inner = type_.inner if isinstance(type_, OptionalType) else type_
        found.append(_tuples_as_frame(frame[name], inner.names) if isinstance(inner, TupleType) else frame[name])
    return found


def _tuples_as_frame(tuples: Any, names: tuple[str, ...]) -> Any:
    import pandas as pd

    columns = {name: [None if t is None else t[name] for t in tuples] for name in names}
    # Integers with nulls would become floats.
    made = {
        name: pd.Series(v, dtype=object if None in v and int in map(type, v) else None) for name, v in columns.items()
    }
    return pd.DataFrame(made)


def _values(given: Any) -> Iterator[Any]:
    """The values that a pandas UDF gave: tuples come as a frame."""
    return iter(given.to_dict("records") if hasattr(given, "to_dict") and given.ndim == 2 else given)
