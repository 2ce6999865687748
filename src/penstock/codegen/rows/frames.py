"""Frames: the rows of a stream, for one batch, as columns with their places.

A column is a numpy array where the machine computes with the type, an Arrow array otherwise (`expr.vector.frame`). A
frame copies nothing before it must: a column of selected rows is made when somebody asks for it, from the column of the
frame that the selection began with. Window markers are kept apart from the rows, each with its place.

Example:
    >>> frame = Frame(Places(np.arange(3)), {"x": np.array([1, 2, 3])})
    >>> odd = frame.where(frame["x"] % 2 == 1)
    >>> odd["x"].tolist(), odd.places.item.tolist()
    ([1, 3], [0, 2])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.rows.places import Array, Level, Places, merge
from penstock.expr.values import to_arrow_array
from penstock.expr.vector.frame import Column, to_array, to_column
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import Schema


class _Cell:
    """A column, or the rows of it that somebody may ask for."""

    __slots__ = ("chosen", "column")

    def __init__(self, column: Column, chosen: Array | None = None) -> None:
        self.column = column
        self.chosen = chosen

    def value(self) -> Column:
        """The column, made on the first call."""
        if self.chosen is not None:
            self.column, self.chosen = taken(self.column, self.chosen), None
        return self.column


def taken(column: Column, chosen: Array) -> Column:
    """The values of a column at some positions."""
    return column[chosen] if isinstance(column, np.ndarray) else column.take(pa.array(chosen))


class Frame:
    """The rows of a stream in one batch.

    Attributes:
        places: Where each row stands.
        marks: The places of window markers; None if nobody downstream wants to know.
    """

    __slots__ = ("_cells", "marks", "places")

    def __init__(self, places: Places, columns: Mapping[str, Column], marks: Places | None = None) -> None:
        self.places = places
        self.marks = marks
        self._cells = {name: c if isinstance(c, _Cell) else _Cell(c) for name, c in columns.items()}

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, name: str) -> Column:
        return self._cells[name].value()

    def where(self, mask: Array) -> Frame:
        """The rows for which a mask holds."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def take(self, chosen: Array) -> Frame:
        """The rows at some positions, given in ascending order."""
        again: dict[int, Array] = {}
        cells = {name: _chosen(cell, chosen, again) for name, cell in self._cells.items()}
        return Frame(self.places.take(chosen), cells, self.marks)

    def at(self, places: Places, marks: Places | None) -> Frame:
        """The same rows in other places."""
        return Frame(places, self._cells, marks)

    def to(self, copied: Sequence[str] = (), made: Mapping[str, Column] | None = None) -> Frame:
        """The same rows with other columns: `made`, beside those of the old ones that are `copied`."""
        cells = {name: self._cells[name] for name in copied}
        return Frame(self.places, {**cells, **(made or {})}, self.marks)

    def branch(self, *levels: Level) -> Frame:
        """The same rows and markers on one of several ways that the depth-first order has to choose from."""
        marks = None if self.marks is None else self.marks.under(*levels)
        return Frame(self.places.under(*levels), self._cells, marks)

    def turned(self, turns: Sequence[int], mark: int) -> Frame:
        """The same rows, each with its turn among all that a loop sent on; markers have theirs by the way they take."""
        marks = None if self.marks is None else self.marks.under(mark)
        return Frame(self.places.under(np.array(turns, np.int64)), self._cells, marks)

    def marked(self, marks: Places | None) -> Frame:
        """The same rows with other markers."""
        return Frame(self.places, self._cells, marks)

    def batch(self, schema: Schema, dead: Collection[str] = ()) -> pa.RecordBatch:
        """The rows as Arrow memory, nothing of attributes that are dead."""
        if not schema.attributes:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(self), pa.struct([])))
        arrays = [
            pa.nulls(len(self)) if a.name in dead else to_array(self[a.name], a.type, len(self))
            for a in schema.attributes
        ]
        if dead:
            return pa.RecordBatch.from_arrays(arrays, names=list(schema.names))
        return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))


def _chosen(cell: _Cell, chosen: Array, again: dict[int, Array]) -> _Cell:
    if cell.chosen is None:
        return _Cell(cell.column, chosen)
    # Rows of rows: the columns of one selection share the composed positions, and nothing in between is ever made.
    if id(cell.chosen) not in again:
        again[id(cell.chosen)] = cell.chosen[chosen]
    return _Cell(cell.column, again[id(cell.chosen)])


def merged(frames: Sequence[Frame], names: Sequence[str]) -> Frame:
    """Several streams as one, in the sequential order, with the columns of these names."""
    places, order = merge([f.places for f in frames])
    columns = {name: taken(concatenated([f[name] for f in frames]), order) for name in names}
    marks = [f.marks for f in frames if f.marks is not None]
    return Frame(places, columns, merge(marks)[0] if marks else None)


def picked(frame: Frame, at: Sequence[int], rows: Sequence[tuple[Any, ...]], schema: Schema) -> Frame:
    """The frame of rows that a loop has made, each in the place of the row it was made of.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> frame = Frame(Places(np.arange(2)), {})
        >>> picked(frame, [1, 1], [(5,), (6,)], parse_schema("int8 x"))["x"].tolist()
        [5, 6]
    """
    lists = zip(*rows, strict=True) if rows else ([] for _ in schema.attributes)
    columns = {
        a.name: to_column(to_arrow_array(list(values), a.type), a.type)
        for a, values in zip(schema.attributes, lists, strict=True)
    }
    return Frame(frame.places.take(np.array(at, np.int64)), columns, frame.marks)


def concatenated(columns: Sequence[Any]) -> Column:
    """Columns one after the other."""
    if all(isinstance(c, np.ndarray) for c in columns):
        return np.concatenate(columns)
    return pa.concat_arrays(columns)
