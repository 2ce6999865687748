"""Functions of the user's, called row by row: light rows made of columns, and columns made of what comes back.

Rows are made in C, one when it is needed, from lists of a piece of the batch. They are the receiver's own: values
that can change are made anew from the columns for every operator. What a piece gives becomes columns at once:
Python's own types are looked at by column and Arrow checks the rest; only where that fails is each value looked at
(`conformer`), which gives the same or says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.rows import conformer, row_class, row_maker
from penstock.codegen.functions.collecting import Collected
from penstock.codegen.functions.light_calls import LightCall, lighten
from penstock.codegen.kernels.column_operations import typed, values
from penstock.codegen.rows.frames import Frame, concatenated
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column, to_column
from penstock.ir.arrow import arrow_type
from penstock.ir.types import OptionalType, Primitive, Schema, TupleType, Type, has_collection, is_integer, is_string

PIECE = 4096
"""How many rows become columns at once."""

Call = Callable[[Any], Any]
Columns = list[Column]


def _settled(call: Call) -> Call:
    """The function alone, if nothing is left to be checked of its model."""
    return getattr(call, "settled", call)


def rows_of(frame: Frame, schema: Schema, start: int = 0) -> Iterator[Iterator[Any]]:
    """The rows of a frame, piece by piece; a row is made when it is asked for.

    So it is gone when its call is done, and Python's collector does not see thousands of them.
    """
    new, cls = tuple.__new__, row_class(schema)
    columns = [(frame[a.name], a.type) for a in schema.attributes]
    for at in range(start, len(frame), PIECE):
        count = min(PIECE, len(frame) - at)
        lists = [own_values(column[at : at + count], type_) for column, type_ in columns]
        yield map(new, repeat(cls), zip(*lists, strict=True) if lists else repeat((), count))


def own_values(column: Column, type_: Type) -> list[Any]:
    """The values of a column that a function may change."""
    found = values(column, type_)
    return list(map(row_maker(type_), found)) if isinstance(type_, TupleType) else found


def map_rows(frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> Frame:
    """The frame of what a function gives for each row; the same frame if that is every row itself."""
    call = _settled(call)
    light = lighten(call, "map", inputs, outputs)
    if light is not None and light.gives is not None:
        return _map_parts(frame, light, light.gives, inputs, outputs)
    found, start = Collected(outputs), 0
    pieces: list[Columns] = []
    # A row that comes back may still hold a list, a set or a map that the function has changed.
    if light is None and inputs == outputs and inputs.attributes and not has_collection(inputs):
        same = _count_same(frame, call, inputs, found)
        if same == len(frame):
            return frame
        pieces, start = [[frame[name][:same] for name in inputs.names], found.columns()], same + 1
    for arguments, arity in _arguments(frame, light, inputs, start):
        found.call("whole", call if light is None else light.call, arguments, arity)
        pieces.append(found.columns())
    return frame.to([], whole_columns(pieces, outputs))


def _map_parts(frame: Frame, light: LightCall, gives: Schema, inputs: Schema, outputs: Schema) -> Frame:
    """The frame of a map some of whose attributes are columns that came."""
    pieces: list[Columns] = []
    found = Collected(gives)
    for arguments, arity in _arguments(frame, light, inputs):
        found.call("parts", light.call, arguments, arity)
        pieces.append(found.columns())
    if inputs == outputs and all(light.copies.get(name) == name for name in inputs.names):
        return frame
    copied = [name for name, source in light.copies.items() if name == source]
    renamed = {name: frame[source] for name, source in light.copies.items() if name != source}
    return frame.to(copied, renamed | whole_columns(pieces, gives))


def _arguments(
    frame: Frame, light: LightCall | None, inputs: Schema, start: int = 0
) -> Iterator[tuple[Iterable[Any], int | None]]:
    """For each piece of a frame what a function takes for its rows, and how many values that is; None is a row."""
    if light is None:
        yield from ((rows, None) for rows in rows_of(frame, inputs, start))
        return
    columns = [(frame[name], inputs.attribute(name).type) for name in light.reads]
    for at in range(start, len(frame), PIECE):
        count = min(PIECE, len(frame) - at)
        lists = [own_values(column[at : at + count], type_) for column, type_ in columns]
        if len(lists) == 1:
            yield lists[0], 1
        else:
            yield zip(*lists, strict=True) if lists else repeat((), count), len(lists)


def _count_same(frame: Frame, call: Call, inputs: Schema, found: Collected) -> int:
    """For how many rows in the beginning a function gives the row itself; what it gives for the next is collected."""
    same = 0
    for row in chain.from_iterable(rows_of(frame, inputs)):
        value = call(row)
        if value is not row:
            found.call("whole", lambda _, value=value: value, [row], None)
            break
        same += 1
    return same


@cache
def make_own(outputs: Schema) -> Call:
    """The function that makes a result ours at once: whoever gave it may go on changing it, and what is in it.

    Numbers and texts of Python's own cannot change, so they wait for their column; anything else is looked at now. An
    array of NumPy without dimensions, which a class adds to in place, counts as a number too.
    """
    conform, names = conformer(outputs), outputs.names
    if holds_changeable(outputs) or not names:
        return conform
    only, pick, fixed = names[0], itemgetter(*names), _FIXED

    def own(value: Any) -> Any:
        kind = type(value)
        if kind is dict and len(value) == len(names):
            try:
                parts = pick(value) if len(names) > 1 else (value[only],)
            except KeyError:
                return conform(value)
        elif kind is tuple or _is_row(kind):
            parts = value
        else:
            return conform(value)
        for part in parts:
            if type(part) not in fixed:
                return conform(value)
        return parts

    return own


_FIXED = frozenset({int, float, str, bool, bytes, Decimal, type(None)})
"""The classes of values that never change."""


def holds_changeable(schema: Schema) -> bool:
    """Whether rows hold values that whoever gave them may go on changing."""
    return has_collection(schema) or any(t == Primitive("blob") for a in schema.attributes for t in a.type.walk())


def _is_row(kind: Any) -> bool:
    """Whether a class is that of our rows."""
    return bool(kind.__module__ == "penstock.api.rows" and kind.__name__ == "Row")


def filter_rows(frame: Frame, call: Call, inputs: Schema) -> Frame:
    """The rows for which a function is true."""
    return frame.where(passes(frame, call, inputs))


def passes(frame: Frame, call: Call, inputs: Schema) -> Array:
    """For each row, whether a function is true."""
    call = _settled(call)
    light = lighten(call, "filter", inputs, inputs)
    call = call if light is None else light.call
    kept: list[bool] = []
    for arguments, arity in _arguments(frame, light, inputs):
        # Not by `bool`, which would be one more call for each row.
        if arity is None or arity == 1:
            kept += [True if call(value) else False for value in arguments]  # noqa: SIM210
        else:
            kept += [True if call(*values) else False for values in arguments]  # noqa: SIM210
    return np.frombuffer(bytes(kept), bool)


def flat_map_rows(frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> Frame:
    """The frame of all that a function gives for the rows, each in the place of its row, one behind the other."""
    at, columns = given_rows(frame, call, inputs, outputs)
    return _placed(frame, at, columns)


def given_rows(frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> tuple[Array, dict[str, Column]]:
    """All that a function gives for the rows, and for which row each is."""
    call = _settled(call)
    light = lighten(call, "flat map", inputs, outputs)
    gives = outputs if light is None or light.gives is None else light.gives
    found, form = Collected(gives), "many" if light is None or light.gives is None else "many parts"
    pieces: list[Columns] = []
    counts: list[Array] = []
    for arguments, arity in _arguments(frame, light, inputs):
        found.call(form, call if light is None else light.call, arguments, arity)
        counts.append(np.diff(found.ends, prepend=0))
        pieces.append(found.columns())
    at = np.repeat(np.arange(len(frame)), np.concatenate(counts) if counts else 0)
    copies = {} if light is None else {name: _taken(frame[source], at) for name, source in light.copies.items()}
    return at, copies | whole_columns(pieces, gives)


def _placed(frame: Frame, at: Array, columns: dict[str, Column]) -> Frame:
    """Rows in the places of those that they were made of, each with its turn."""
    starts = np.searchsorted(at, at)
    made = Frame(frame.places.take(at), columns, frame.marks)
    return made.turned(np.arange(len(at)) - starts, 0)  # type: ignore[arg-type] # an array is a sequence


def whole_columns(pieces: list[Columns], schema: Schema) -> dict[str, Column]:
    """The columns of all pieces, one behind the other, by attribute."""
    if not pieces:
        return {a.name: typed([], a.type) for a in schema.attributes}
    parts = zip(*pieces, strict=True)
    return {a.name: concatenated(list(part)) for a, part in zip(schema.attributes, parts, strict=True)}


def columns_of(made: list[Any], schema: Schema) -> Columns:
    """The results of a user's function, as columns of a schema.

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
    # Not by `zip(*made)`: an iterator for each row is work for Python's collector.
    if kinds <= {tuple, list, row_class(schema)}:
        return [list(map(itemgetter(i), made)) for i in range(width)] if set(map(len, made)) == {width} else None
    if kinds == {dict} and set(map(len, made)) == {width}:
        try:
            return [list(map(itemgetter(name), made)) for name in schema.names]
        except KeyError:
            return None
    kind: Any
    (kind, *others) = kinds
    if not others and _is_row(kind) and set(schema.names) <= set(kind._fields):
        return [list(map(attrgetter(name), made)) for name in schema.names]
    return None


def _column(found: Sequence[Any], type_: Type) -> Column | None:
    """The column of values that are all of the type's own class in Python and fit it; None if that is not so."""
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    kinds = set(map(type, found))
    if inner is not type_:
        kinds.discard(type(None))
    if not isinstance(inner, Primitive) or inner.bound is not None or not kinds <= _own_classes(inner):
        return None
    try:
        return to_column(pa.array(found, arrow_type(type_)), type_)
    except (OverflowError, ValueError):
        return None


def _own_classes(type_: Primitive) -> set[type]:
    """The classes of values that need nothing but Arrow's check."""
    if is_integer(type_) or type_.name == "timestamp":
        return {int}
    if is_string(type_):
        return {str}
    return _OWN_CLASSES.get(type_.name, set())


# Not float32: what is too great for it is infinite to Arrow, and an error to us.
_OWN_CLASSES: dict[str, set[type]] = {"float64": {float, int}, "boolean": {bool}, "blob": {bytes}}


def mend_map(made: Frame, left: Array, frame: Frame, call: Call, inputs: Schema, outputs: Schema) -> Frame:
    """A frame with the rows that left the normal case as the function itself gives them."""
    at = np.flatnonzero(left)
    if not len(at):
        return made
    redone = map_rows(frame.take(at), call, inputs, outputs)
    return made.to([], {name: put(made[name], at, redone[name]) for name in outputs.names})


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
    """All that a function gives: at each of its sites for some rows, and by the function itself for the rest."""
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


def put(column: Column, at: Array, values: Column) -> Column:
    """A column with other values at some positions."""
    if isinstance(column, np.ndarray):
        mended = column.copy()
        mended[at] = values
        return mended
    positions = np.arange(len(column))
    positions[at] = len(column) + np.arange(len(at))
    return _taken(pa.concat_arrays([column, values]), positions)


def _taken(column: Column, chosen: Array) -> Column:
    return column[chosen] if isinstance(column, np.ndarray) else column.take(pa.array(chosen))
