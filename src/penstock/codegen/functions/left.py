"""The rows of a batch that leave the normal case, and operations over columns that find them.

Each operation gives what Python gives for every row that stays. `where` says which rows need it; the others cannot
leave by it, and what they get means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, mul, sub
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.codegen.rows.frames import taken
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column
from penstock.ir.arrow import arrow_type
from penstock.ir.types import Type

LEAST, GREATEST, EXACT = -(2**63), 2**63 - 1, 2**53
_PRODUCT = 9.2e18
"""A product that is this great as a float may be outside of 64 bits; none that is smaller is."""
_MANY = 2048
"""How many rows make it worth while to look for extremes first."""

ARROW = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "str": pa.string()}
_PYTHON = {"bool": bool, "int": int, "float": float, "str": str}
FILLERS: dict[str, Any] = {"bool": False, "int": 0, "float": 0.0, "str": ""}
_RAISED = object()

Where = Array | None


class Left:
    """The rows that have left.

    Attributes:
        rows: For each row, whether it has.

    Example:
        >>> left = Left(2)
        >>> left.add(np.array([1, 2**63 - 1]), 1).tolist()[0], left.rows.tolist()
        (2, [False, True])
    """

    def __init__(self, rows: int) -> None:
        self.rows = np.zeros(rows, bool)

    def note(self, bad: Array, where: Where = None) -> None:
        """Let rows leave."""
        if bad.any():
            self.rows |= bad if where is None else bad & where

    def leave(self, where: Where = None) -> None:
        """Let all rows of a path leave."""
        self.rows |= True if where is None else where

    def leave_first(self, call: Any) -> None:
        """Let the rows leave on which a function that is checked still has to be called."""
        self.rows[: getattr(call, "to_check", 0)] = True

    def add(self, a: Any, b: Any, where: Where = None) -> Array:
        """`a + b` of integers."""
        made = np.add(a, b)
        if not _fits(made, add, a, b):
            self.note(((a ^ made) & (b ^ made)) < 0, where)
        return made

    def subtract(self, a: Any, b: Any, where: Where = None) -> Array:
        """`a - b` of integers."""
        made = np.subtract(a, b)
        if not _fits(made, sub, a, b):
            self.note(((a ^ b) & (a ^ made)) < 0, where)
        return made

    def multiply(self, a: Any, b: Any, where: Where = None) -> Array:
        """`a * b` of integers."""
        made = np.multiply(a, b)
        if not _fits(made, mul, a, b):
            self.note(np.abs(np.multiply(a, b, dtype=np.float64)) >= _PRODUCT, where)
        return made

    def negate(self, a: Array, where: Where = None) -> Array:
        """`-a` of integers."""
        self.note(a == LEAST, where)
        return -a

    def absolute(self, a: Array, where: Where = None) -> Array:
        """`abs(a)` of integers."""
        self.note(a == LEAST, where)
        return np.abs(a)

    def divide(self, a: Any, b: Any, where: Where = None) -> Array:
        """`a / b` of floats."""
        self.note(np.equal(b, 0) | np.zeros(len(self.rows), bool), where)
        return np.divide(a, b)

    def floor_divide(self, a: Any, b: Any, where: Where = None) -> Array:
        """`a // b`."""
        return np.floor_divide(a, self._divisor(a, b, where))

    def modulo(self, a: Any, b: Any, where: Where = None) -> Array:
        """`a % b`."""
        return np.remainder(a, self._divisor(a, b, where))

    def _divisor(self, a: Any, b: Any, where: Where) -> Array:
        bad = np.equal(b, 0) | ((np.equal(a, LEAST)) & np.equal(b, -1))
        self.note(bad | np.zeros(len(self.rows), bool), where)
        return np.where(bad, 1, b)

    def exact(self, a: Array, where: Where = None) -> Array:
        """Integers as floats; those that are too great for an exact one leave."""
        self.note((a > EXACT) | (a < -EXACT), where)
        return a.astype(np.float64)

    def integers(self, a: Array, where: Where = None) -> Array:
        """Unsigned integers of 64 bits as signed ones."""
        self.note(a > GREATEST, where)
        return a.astype(np.int64)

    def truncate(self, a: Array, where: Where = None) -> Array:
        """`int(a)` of floats."""
        return self._to_integers(np.trunc(a), where)

    def floor(self, a: Array, where: Where = None) -> Array:
        """`math.floor(a)`."""
        return self._to_integers(np.floor(a), where)

    def ceil(self, a: Array, where: Where = None) -> Array:
        """`math.ceil(a)`."""
        return self._to_integers(np.ceil(a), where)

    def round_even(self, a: Array, where: Where = None) -> Array:
        """`round(a)`."""
        return self._to_integers(np.rint(a), where)

    def _to_integers(self, a: Array, where: Where) -> Array:
        # The comparison is false for NaN, too.
        good = (a >= -(2.0**63)) & (a < 2.0**63)
        self.note(~good, where)
        return np.where(good, a, 0.0).astype(np.int64)

    def sqrt(self, a: Array, where: Where = None) -> Array:
        """`math.sqrt(a)`."""
        self.note(a < 0, where)
        return np.sqrt(a)

    def present(self, column: pa.Array, kind: str, where: Where = None) -> Column:
        """Values that may be None, as what they are if they are not."""
        if column.null_count:
            self.note(is_null(column), where)
            column = column.fill_null(FILLERS[kind])
        return column if kind == "str" else column.to_numpy(zero_copy_only=False)

    def fit(self, a: Array, type_: Type) -> Array:
        """Integers as those of a type with fewer bits."""
        dtype = np.dtype(arrow_type(type_).to_pandas_dtype())
        bounds = np.iinfo(dtype)
        self.note((a < max(int(bounds.min), LEAST)) | (a > min(int(bounds.max), GREATEST)))
        return a.astype(dtype)

    def single(self, a: Array) -> Array:
        """Floats as those of 32 bits; what is too great for one leaves."""
        made = a.astype(np.float32)
        self.note(np.isinf(made) & ~np.isinf(a))
        return made

    def bounded(self, column: pa.Array, most: int) -> pa.Array:
        """Texts of at most some length."""
        self.note(flags(pc.greater(pc.utf8_length(column), most)))
        return column

    def nullable(self, column: Column, kind: str, type_: Type) -> pa.Array:
        """A column of an optional type."""
        made = column if isinstance(column, pa.Array) else pa.array(column)
        if kind in ("bool", "str"):
            if (most := getattr(getattr(type_, "inner", None), "bound", None)) is not None:
                self.note(flags(pc.greater(pc.utf8_length(made), most).fill_null(False)))
            return made
        held = made.fill_null(0).to_numpy(zero_copy_only=False)
        fitted = self.single(held) if kind == "float" and arrow_type(type_) == pa.float32() else held
        if kind == "int":
            fitted = self.fit(held, type_)
        return pa.array(fitted, arrow_type(type_), mask=is_null(made))

    def each(self, compute: Callable[..., Any], kind: str, where: Where, *columns: Column) -> Column:
        """An expression that Python evaluates row by row, for the rows that need it.

        Args:
            compute: The expression, as a function of the values in a row.
            kind: Of the result; `?` behind it if it may be None. A row with another result leaves, one that raises too.
            where: The rows that need it.
            columns: Of the values.
        """
        wanted = ~self.rows if where is None else where & ~self.rows
        chosen = None if wanted.all() else np.flatnonzero(wanted)
        some = columns if chosen is None else [taken(c, chosen) for c in columns]
        made, bad = _distinct(compute, kind, some[0]) if _is_text(some) else _computed(compute, kind, some)
        if bad is not None:
            if chosen is None:
                self.note(bad)
            else:
                self.rows[chosen[bad]] = True
        return made if chosen is None else _spread(made, chosen, len(self.rows), kind)


def _fits(made: Any, compute: Callable[[int, int], int], a: Any, b: Any) -> bool:
    """Whether the extremes of two sides already show that no result of theirs can be outside of 64 bits.

    Extremes are found many times as fast as each result is looked at, but for few rows that is all the same.
    """
    if not isinstance(made, np.ndarray) or made.size < _MANY or made.dtype != np.int64:
        return False
    sides = [(int(np.min(side)), int(np.max(side))) for side in (a, b)]
    ends = [compute(left, right) for left in sides[0] for right in sides[1]]
    return min(ends) >= LEAST and max(ends) <= GREATEST


def _is_text(columns: Sequence[Column]) -> bool:
    return len(columns) == 1 and isinstance(columns[0], pa.Array) and pa.types.is_string(columns[0].type)


def _distinct(compute: Callable[..., Any], kind: str, column: pa.Array) -> tuple[Column, Where]:
    """An expression of one text, evaluated once for each distinct one."""
    coded = column.dictionary_encode(null_encoding="encode")
    made, bad = _computed(compute, kind, [coded.dictionary])
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return taken(made, codes), None if bad is None else bad[codes]


def _computed(compute: Callable[..., Any], kind: str, columns: Sequence[Column]) -> tuple[Column, Where]:
    """An expression for every row, and which of them raised or gave something of another kind."""
    lists = [c.tolist() if isinstance(c, np.ndarray) else c.to_pylist() for c in columns]
    try:
        found = list(map(compute, *lists))
    except Exception:
        found = [_tried(compute, row) for row in zip(*lists, strict=True)]
    return to_kind(found, kind)


def _tried(compute: Callable[..., Any], row: tuple[Any, ...]) -> Any:
    try:
        return compute(*row)
    except Exception:
        return _RAISED


def to_kind(found: list[Any], kind: str) -> tuple[Column, Where]:
    """The column of values, and which of them are of another kind."""
    name, allowed = kind.rstrip("?"), {_PYTHON[kind.rstrip("?")]}
    allowed |= {type(None)} if kind.endswith("?") else set()
    bad = None
    if not set(map(type, found)) <= allowed:
        bad = np.array([type(v) not in allowed for v in found], bool)
    try:
        return _column(found if bad is None else _filled(found, bad, kind), kind), bad
    except (OverflowError, ValueError):  # an integer outside of 64 bits, or text that is not Unicode
        bad = np.array([type(v) not in allowed or not _can_hold(v, name) for v in found], bool)
        return _column(_filled(found, bad, kind), kind), bad


def _filled(found: list[Any], bad: Array, kind: str) -> list[Any]:
    filler = None if kind.endswith("?") else FILLERS[kind]
    return [filler if is_bad else v for v, is_bad in zip(found, bad.tolist(), strict=True)]


def _can_hold(value: Any, name: str) -> bool:
    try:
        pa.scalar(value, ARROW[name])
    except (OverflowError, ValueError):
        return False
    return True


def _column(found: list[Any], kind: str) -> Column:
    made = pa.array(found, ARROW[kind.rstrip("?")])
    return made if kind.endswith("?") or kind == "str" else made.to_numpy(zero_copy_only=False)


def _spread(made: Column, chosen: Array, rows: int, kind: str) -> Column:
    """A column for all rows of one that has values for some."""
    if isinstance(made, np.ndarray):
        whole = np.zeros(rows, made.dtype)
        whole[chosen] = made
        return whole
    filler = pa.array([None if kind.endswith("?") else FILLERS[kind]], made.type)
    positions = np.full(rows, len(made))
    positions[chosen] = np.arange(len(chosen))
    return pa.concat_arrays([made, filler]).take(pa.array(positions))


def flags(array: pa.Array) -> Array:
    """Truth values of Arrow's as numpy's."""
    return array.to_numpy(zero_copy_only=False)


def is_null(column: pa.Array) -> Array:
    """For each row, whether it is None."""
    return flags(column.is_null())


def is_true(column: Column, kind: str) -> Array:
    """For each row, whether a text, or a value that may be None, counts as true."""
    valid = column.is_valid()
    found = pc.not_equal(column.fill_null(FILLERS[kind]), pa.scalar(FILLERS[kind], column.type))
    return flags(pc.and_(valid, found))


def optional(column: pa.Array, kind: str) -> pa.Array:
    """A column of an optional attribute as its values are computed with."""
    return column.cast(ARROW[kind])


def compare_text(operator: str, a: Any, b: Any) -> Array:
    """A comparison of texts."""
    return flags(_COMPARISONS[operator](a, b))


_COMPARISONS = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def join_text(*parts: Any) -> pa.Array:
    """Texts one after the other."""
    return pc.binary_join_element_wise(*(pa.scalar(p) if isinstance(p, str) else p for p in parts), "")


def length(column: pa.Array) -> Array:
    """`len` of texts."""
    return pc.utf8_length(column).to_numpy(zero_copy_only=False).astype(np.int64)


def digits(a: Array) -> pa.Array:
    """`str` of integers."""
    return pa.array(a).cast(pa.string())


def has_text(column: pa.Array, text: str) -> Array:
    """Whether texts contain another."""
    return flags(pc.match_substring(column, text))


def begins(column: pa.Array, text: str) -> Array:
    """Whether texts begin with another."""
    return flags(pc.starts_with(column, text))


def ends(column: pa.Array, text: str) -> Array:
    """Whether texts end with another."""
    return flags(pc.ends_with(column, text))


def is_in(column: Column, table: Sequence[Any]) -> Array:
    """Whether values are among others."""
    if isinstance(column, np.ndarray):
        return np.isin(column, np.array(table, np.int64))
    return flags(pc.is_in(column, pa.array(table, pa.string())))


def least(a: Any, b: Any) -> Array:
    """`min(a, b)`: the second only if it is less, which NaN never is."""
    return np.where(np.less(b, a), b, a)


def greatest(a: Any, b: Any) -> Array:
    """`max(a, b)`."""
    return np.where(np.greater(b, a), b, a)


def pick(test: Array, then: Any, otherwise: Any, kind: str) -> pa.Array:
    """Texts, or values that may be None, by a test."""
    type_ = ARROW[kind]
    sides = [_arrow(side, type_) for side in (then, otherwise)]
    return pc.if_else(pa.array(test), *sides)


def _arrow(side: Any, type_: pa.DataType) -> Any:
    if isinstance(side, np.ndarray):
        return pa.array(side, type_)
    return side if isinstance(side, pa.Array) else pa.scalar(side, type_)
