"""Functions of the user's, called row by row: light rows made of columns, and columns made of what comes back.

Rows are made in C, a piece of the batch at a time, so that few are alive at once. They are the receiver's own: values
that can change are made anew from the columns for every operator. What a piece gives becomes columns at once: Python's
own types are looked at by column and Arrow checks the rest; only where that fails is each value looked at (`conformer`),
which gives the same or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.rows import conformer, row_class, row_maker
from penstock.codegen.kernels.column_operations import typed, values
from penstock.codegen.rows.frames import Frame, concatenated
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column, to_column
from penstock.ir.arrow import arrow_type
from penstock.ir.types import OptionalType, Primitive, Schema, TupleType, Type, is_float, is_integer, is_string

PIECE = 4096
"""How many rows are alive at once."""

Call = Callable[[Any], Any]
Columns = list[Column]


def rows_of(frame: Frame, schema: Schema) -> Iterator[list[Any]]:
    """The rows of a frame, piece by piece."""
    new, cls = tuple.__new__, row_class(schema)
    columns = [(frame[a.name], a.type) for a in schema.attributes]
    for start in range(0, len(frame), PIECE):
        size = min(PIECE, len(frame) - start)
        lists = [_own(column[start : start + size], type_) for column, type_ in columns]
        tuples = zip(*lists, strict=True) if lists else repeat((), size)
        yield list(map(new, repeat(cls), tuples))


def _own(column: Column, type_: Type) -> list[Any]:
    found = values(column, type_)
    return list(map(row_maker(type_), found)) if isinstance(type_, TupleType) else found


def map_rows(frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> Frame:
    """The frame of what a function gives for each row."""
    pieces: list[Columns] = []
    is_same = inputs == outputs
    for rows in rows_of(frame, inputs):
        made = _called(call, rows, outputs)
        if not is_same or made != rows or any(a is not b for a, b in zip(made, rows, strict=True)):
            is_same = False
        pieces.append(columns_of(made, outputs))
    return frame if is_same else frame.to([], _whole(pieces, outputs))


def _called(call: Call, rows: list[Any], outputs: Schema) -> list[Any]:
    made: list[Any] = []
    try:
        made.extend(map(call, rows))
    except Exception:
        columns_of(made, outputs)  # what was given before fails first, if it does not fit
        raise
    return made


def filter_rows(frame: Frame, call: Call, inputs: Schema) -> Frame:
    """The rows for which a function is true."""
    return frame.where(passes(frame, call, inputs))


def passes(frame: Frame, call: Call, inputs: Schema) -> Array:
    """For each row, whether a function is true."""
    found = (map(bool, map(call, rows)) for rows in rows_of(frame, inputs))
    return np.fromiter(chain.from_iterable(found), bool, len(frame))


def flat_map_rows(frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> Frame:
    """The frame of all that a function gives for the rows, each in the place of its row, one behind the other."""
    at, columns = given_rows(frame, call, inputs, outputs)
    return _placed(frame, at, columns)


def given_rows(frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> tuple[Array, dict[str, Column]]:
    """All that a function gives for the rows, and for which row each is."""
    pieces: list[Columns] = []
    counts: list[int] = []
    for rows in rows_of(frame, inputs):
        made = _listed(call, rows, outputs)
        counts += map(len, made)
        pieces.append(columns_of(list(chain.from_iterable(made)), outputs))
    return np.repeat(np.arange(len(frame)), np.array(counts, np.int64)), _whole(pieces, outputs)


def _listed(call: Call, rows: list[Any], outputs: Schema) -> list[list[Any]]:
    made: list[list[Any]] = []
    try:
        for row in rows:
            made.append([])
            made[-1].extend(call(row) or ())
    except Exception:
        columns_of(list(chain.from_iterable(made)), outputs)
        raise
    return made


def _placed(frame: Frame, at: Array, columns: dict[str, Column]) -> Frame:
    """Rows in the places of those that they were made of, each with its turn."""
    starts = np.searchsorted(at, at)
    made = Frame(frame.places.take(at), columns, frame.marks)
    return made.turned(np.arange(len(at)) - starts, 0)  # type: ignore[arg-type] # an array is a sequence


def _whole(pieces: list[Columns], schema: Schema) -> dict[str, Column]:
    if not pieces:
        return {a.name: typed([], a.type) for a in schema.attributes}
    parts = zip(*pieces, strict=True)
    return {a.name: concatenated(list(part)) for a, part in zip(schema.attributes, parts, strict=True)}


def columns_of(made: list[Any], schema: Schema) -> Columns:
    """What a function of the user's gave, as columns of a schema.

    Raises:
        ConformError: Something does not fit the schema.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> [c.tolist() for c in columns_of([{"x": 1}, {"x": 2}], parse_schema("int8 x"))]
        [[1, 2]]
    """
    lists = _by_attribute(made, schema)
    if lists is not None:
        columns = [_column(found, a.type) for found, a in zip(lists, schema.attributes, strict=True)]
        if all(column is not None for column in columns):
            return columns
    conform = conformer(schema)
    rows = list(map(conform, made))
    if not rows:
        return [typed([], a.type) for a in schema.attributes]
    return [typed(list(v), a.type) for v, a in zip(zip(*rows, strict=True), schema.attributes, strict=True)]


def _by_attribute(made: list[Any], schema: Schema) -> list[Sequence[Any]] | None:
    """The values of each attribute, if all results are of one plain form that has just these."""
    kinds, width = set(map(type, made)), len(schema.names)
    if not width or not kinds:
        return None
    if kinds <= {tuple, list, row_class(schema)}:
        return list(zip(*made, strict=True)) if set(map(len, made)) == {width} else None
    if kinds == {dict} and set(map(len, made)) == {width}:
        try:
            return [list(map(itemgetter(name), made)) for name in schema.names]
        except KeyError:
            return None
    (kind, *others) = kinds
    if not others and getattr(kind, "__module__", "") == "penstock.api.rows" and set(schema.names) <= set(kind._fields):
        return [list(map(attrgetter(name), made)) for name in schema.names]
    return None


def _column(found: Sequence[Any], type_: Type) -> Column | None:
    """The column of values that are all of the type's own class in Python and fit it; None if that is not so."""
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    kinds = set(map(type, found))
    if inner is not type_:
        kinds.discard(type(None))
    if not isinstance(inner, Primitive) or inner.bound is not None or not kinds <= _own_class(inner):
        return None
    try:
        return to_column(pa.array(found, arrow_type(type_)), type_)
    except (OverflowError, ValueError):
        return None


def _own_class(type_: Primitive) -> set[type]:
    """The classes of values that need nothing but a check of their range."""
    if is_integer(type_):
        return {int}
    if is_float(type_):
        # A float that is too great for 32 bits is infinite to Arrow, and an error to us.
        return {float} if type_.name == "float64" else set()
    if is_string(type_):
        return {str}
    return {bool} if type_.name == "boolean" else set()


def mend_map(made: Frame, left: Array, frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> Frame:
    """A frame with the rows that left the normal case as the function itself gives them."""
    at = np.flatnonzero(left)
    if not len(at):
        return made
    redone = map_rows(frame.take(at), call, inputs, outputs)
    return made.to([], {name: _put(made[name], at, redone[name]) for name in outputs.names})


def mend_filter(kept: Array, left: Array, frame: Frame, call: Call, inputs: Schema) -> Array:
    """Which rows stay, those that left the normal case by the function itself."""
    at = np.flatnonzero(left)
    if not len(at):
        return kept
    mended = kept.copy()
    mended[at] = passes(frame.take(at), call, inputs)
    return mended


def mend_flat_map(
    sites: Sequence[tuple[Array | None, Frame]], left: Array, frame: Frame, call: Call, inputs: Schema, outputs: Schema
) -> Frame:
    """All that a function gives: at each of its sites for some rows, and what the function itself gives for the rest."""
    at = np.flatnonzero(left)
    parts: list[tuple[Array, dict[str, Column]]] = []
    for where, made in sites:
        rows = np.flatnonzero(~left if where is None else where & ~left)
        some = made.take(rows)
        parts.append((rows, {name: some[name] for name in outputs.names}))
    if len(at):
        rows, columns = given_rows(frame.take(at), call, inputs, outputs)
        parts.append((at[rows], columns))
    whole = np.concatenate([rows for rows, _ in parts])
    order = np.argsort(whole, kind="stable")
    columns = {name: _taken(concatenated([c[name] for _, c in parts]), order) for name in outputs.names}
    return _placed(frame, whole[order], columns)


def _put(column: Column, at: Array, values: Column) -> Column:
    if isinstance(column, np.ndarray):
        mended = column.copy()
        mended[at] = values
        return mended
    positions = np.arange(len(column))
    positions[at] = len(column) + np.arange(len(at))
    return _taken(pa.concat_arrays([column, values]), positions)


def _taken(column: Column, chosen: Array) -> Column:
    return column[chosen] if isinstance(column, np.ndarray) else column.take(pa.array(chosen))
