"""Instances by key in columns where a batch has few keys: all tuples of a key at once.

Introduction:
    Rounds (`class_rounds`) take one tuple of each key at a time, so few keys make thin rounds. But what most classes
    keep are counts, sums, extrema and last values, and those of all tuples of a key are a running sum, a running
    maximum, a value handed down. They can be guessed, and a guess can be checked.

Formulation:
    Let f be the class as a function of attributes and a tuple, over columns (`class_columns`). With b_i the attributes
    before the tuple i of a key and a_i = f(b_i, t_i) those after it, the guess is right up to tuple n if b_0 is what
    the instance holds and a_i is b_(i+1), to the bit, for all i < n. So whatever the guess was, what is given for the
    tuples up to the first difference is what Python gives; the others are left for the loop of `class_calls`, from the
    attributes that are right.

Example:
    For `self.count += 1; self.total += t.x` f is called with -0.0 and 0 as attributes, which tells what is added for
    each tuple; the guess is the running sums of that; and f is called once more with the guess.

When it does not apply:
    Where an attribute is computed from its own value in another way (`scan_kinds`), and where keys have few tuples.

Algorithm:
    `PASSES` guesses at most, each the better for attributes that depend on others; O(b) for b tuples, and a call of
    NumPy for each key and attribute.

Preserves:
    What `class_rounds` preserves: what the class gives to the bit, and the attributes of its instances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.codegen.functions.class_rounds import LEAST_ROWS, Round, Site, Step, Taken
from penstock.codegen.functions.instance_table import InstanceTable
from penstock.codegen.functions.left import ARROW
from penstock.codegen.kernels.keys import by_key, present_keys
from penstock.codegen.rows.frames import Frame, concatenated, taken
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column

ROWS_PER_KEY = 32
"""How many tuples a key must have on average."""

KEYS_PER_LINE = 24
"""How many keys a batch may have for each line of the function: with more of them rounds are thick enough."""

PASSES = 3

SUM, HIGHEST, LOWEST, HANDED_DOWN = "sum", "highest", "lowest", "handed down"
"""How an attribute comes about: what is added up, the extremes of values, and values that stay until the next one."""

_SUMS: dict[str, Any] = {"float": -0.0, "int": 0}
_EXTREMES: dict[tuple[str, str], Any] = {
    (HIGHEST, "float"): -np.inf,
    (HIGHEST, "int"): -(2**63),
    (LOWEST, "float"): np.inf,
    (LOWEST, "int"): 2**63 - 1,
}
_PROBES: dict[str, tuple[Any, Any]] = {"float": (0.0, 1.0), "int": (0, 1), "bool": (False, True), "str": ("", "a")}


def take_in_scans(held: InstanceTable, frame: Frame, when: Array, step: Step, scans: Mapping[str, str]) -> Taken | None:
    """Take a batch key by key; None if it has too many keys, or too few rows, for that.

    Args:
        held: The instances.
        frame: The rows.
        when: The application's time at each, in ns.
        step: The class as a function.
        scans: How each attribute comes about.
    """
    attributes = held.form.attributes
    assert attributes is not None
    if len(frame) < LEAST_ROWS:
        return None
    present, codes = present_keys(held.table.find([frame[name] for name in held.form.names]), len(held.table))
    if len(present) > min(len(frame) // max(1, ROWS_PER_KEY), KEYS_PER_LINE * attributes.lines):
        return None
    own, is_strange = held.begin(present)
    done, columns, took = scan(frame, codes, own, is_strange, attributes.kinds, scans, step)
    held.end(present, took, columns)
    return done


def scan(
    frame: Frame,
    codes: Array,
    own: list[Column],
    is_strange: Array,
    kinds: Mapping[str, str],
    scans: Mapping[str, str],
    step: Step,
) -> tuple[Taken, list[Column], Array]:
    """Take a batch key by key.

    Args:
        frame: The rows.
        codes: The number of each row's key, from 0 on.
        own: The attributes of each key that change.
        is_strange: Whether the instance of each key holds what columns cannot.
        kinds: Of the attributes.
        scans: How each comes about.
        step: The class as a function.

    Returns:
        What was taken, the attributes of each key after it, and whether it has taken any row.
    """
    run = _Scan(frame, codes, own, kinds, scans, step)
    run.guess()
    return run.finish(is_strange)


class _Scan:
    """A batch whose rows lie key by key."""

    def __init__(
        self,
        frame: Frame,
        codes: Array,
        own: list[Column],
        kinds: Mapping[str, str],
        scans: Mapping[str, str],
        step: Step,
    ) -> None:
        self._frame, self._own, self._kinds, self._scans, self._step = frame, own, kinds, scans, step
        count = len(own[0])
        self._rows: Array = by_key(codes, count)
        self._counts: Array = np.bincount(codes, minlength=count)
        self._ends: Array = np.cumsum(self._counts)
        self._starts: Array = self._ends - self._counts
        self._key: Array = np.repeat(np.arange(count), self._counts)
        self._first: Array = np.zeros(len(frame), bool)
        self._first[self._starts] = True
        self._columns: dict[str, Column] = {}
        self._before: list[Column] = [taken(column, self._key) for column in own]
        self._left: Array | None = None
        self._after: list[Column] = []
        self._sites: list[Site] = []

    def _call(self, before: list[Column]) -> tuple[Array | None, list[Column], list[Site]]:
        named = {f"self.{name}": column for name, column in zip(self._kinds, before, strict=True)}
        return self._step(Round(self._column, named, 0, len(self._rows)))

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = taken(self._frame[name], self._rows)
        return self._columns[name]

    # The guess.

    def guess(self) -> None:
        """Find the attributes before each row, or as many of them as can be found."""
        for _ in range(PASSES):
            found = [self._probe(which) for which in (0, 1)]
            self._before = [
                self._scanned(i, [after[i] for after in found]) for i in range(len(self._before))
            ]  # fmt: skip
            self._left, self._after, self._sites = self._call(self._before)
            if not self._is_wrong().any():
                return

    def _probe(self, which: int) -> list[Column]:
        """The attributes after each row if they had been such that they do not count."""
        before = []
        for i, (name, kind) in enumerate(self._kinds.items()):
            value = _neutral(self._scans[name], kind, which)
            before.append(_repeated(value, kind, len(self._rows)) if value is not _NOTHING else self._before[i])
        return self._call(before)[1]

    def _scanned(self, i: int, found: list[Column]) -> Column:
        """An attribute before each row, given what two probes have made of it."""
        name, kind = list(self._kinds.items())[i]
        how, held, made = self._scans[name], self._own[i], found[0]
        if how == HANDED_DOWN:
            return self._handed_down(held, kind, found)
        if kind.endswith("?"):
            return self._extremes_or_none(how, held, kind, made)
        into = np.add if how == SUM else np.maximum if how == HIGHEST else np.minimum
        values, first = _as_numpy(made), _as_numpy(held)
        before = np.empty(len(values), values.dtype)
        with np.errstate(all="ignore"):
            for key, start, end in self._keys():
                before[start] = first[key]
                before[start + 1 : end] = values[start : end - 1]
                into.accumulate(before[start:end], out=before[start:end])
        return before

    def _extremes_or_none(self, how: str, held: Column, kind: str, made: Column) -> Column:
        """Extremes that begin as None; a row that gives none counts as one that is never extreme."""
        never = _EXTREMES[how, kind.rstrip("?")]
        values, was = (pc.fill_null(pa.array(c), never).to_numpy(zero_copy_only=False) for c in (made, held))
        before = np.empty(len(values), values.dtype)
        into = np.maximum if how == HIGHEST else np.minimum
        is_none = np.ones(len(values), bool)
        empty = pa.array(made).is_null().to_numpy(zero_copy_only=False)
        none_held = pa.array(held).is_null().to_numpy(zero_copy_only=False)
        for key, start, end in self._keys():
            before[start], is_none[start] = was[key], none_held[key]
            before[start + 1 : end], is_none[start + 1 : end] = values[start : end - 1], empty[start : end - 1]
            into.accumulate(before[start:end], out=before[start:end])
            np.logical_and.accumulate(is_none[start:end], out=is_none[start:end])
        return pa.array(before, mask=is_none)

    def _handed_down(self, held: Column, kind: str, found: list[Column]) -> Column:
        """Values that stay until a row sets another: a row keeps what was there if it keeps both that were tried."""
        rows = np.arange(len(self._rows))
        tried = [_repeated(_neutral(HANDED_DOWN, kind, which), kind, len(rows)) for which in (0, 1)]
        keeps = ~(_differ(found[0], tried[0]) | _differ(found[1], tried[1]))
        # Behind the values of the rows stand those that the keys hold.
        latest = np.where(keeps, -1, rows)
        source = np.empty(len(rows), np.int64)
        source[1:] = latest[:-1]
        source[self._first] = -1
        # The last row of the key that has set it: a running maximum, which begins anew with each key.
        base = self._starts[self._key]
        source = np.maximum.accumulate(np.where(source < 0, base - 1, source))
        source = np.where(source < base, len(rows) + self._key, source)
        return taken(concatenated([_like(found[0], held), held]), source)

    def _keys(self) -> Iterator[tuple[int, int, int]]:
        return zip(range(len(self._starts)), self._starts.tolist(), self._ends.tolist(), strict=True)

    # The check.

    def _is_wrong(self) -> Array:
        """The rows before which the attributes are not those after the row before."""
        wrong = np.zeros(len(self._rows), bool)
        for after, before in zip(self._after, self._before, strict=True):
            wrong[1:] |= _differ(after[:-1], before[1:])
        return wrong & ~self._first

    def finish(self, is_strange: Array) -> tuple[Taken, list[Column], Array]:
        """What was given for rows whose attributes are right, and the attributes of the keys behind them."""
        stops = self._is_wrong()
        if self._left is not None:
            stops |= self._left
        stops[self._starts[is_strange]] = True
        # For each row whether its key has stopped, at it or before.
        stopped = np.cumsum(stops)
        before_key = np.where(self._starts > 0, stopped[self._starts - 1], 0)
        is_left = stopped > before_key[self._key]
        taken_rows = self._counts - np.bincount(self._key[is_left], minlength=len(self._counts))
        last = self._starts + taken_rows - 1
        source = np.where(taken_rows > 0, last, len(self._rows) + np.arange(len(last)))
        columns = [
            taken(concatenated([_like(after, held), held]), source)
            for after, held in zip(self._after, self._own, strict=True)
        ]
        return self._given(is_left), columns, taken_rows > 0

    def _given(self, is_left: Array) -> Taken:
        parts: list[tuple[Array, list[Column]]] = []
        for mask, columns in self._sites:
            chosen = np.flatnonzero(~is_left if mask is None else mask & ~is_left)
            parts.append((self._rows[chosen], [taken(column, chosen) for column in columns]))
        at = np.concatenate([rows for rows, _ in parts])
        order = np.argsort(at, kind="stable")
        joined = [concatenated(list(column)) for column in zip(*(columns for _, columns in parts), strict=True)]
        left = np.sort(self._rows[is_left])
        return Taken(at[order], [taken(column, order) for column in joined], left)


_NOTHING = object()


def _neutral(how: str, kind: str, which: int) -> Any:
    """The value of an attribute that tells what a row does to it."""
    name = kind.rstrip("?")
    if how == HANDED_DOWN:
        return None if kind.endswith("?") and which == 0 else _PROBES[name][which]
    if how == SUM:
        return _SUMS[name]
    return None if kind.endswith("?") else _EXTREMES[how, name]


def _repeated(value: Any, kind: str, rows: int) -> Column:
    if kind in ("bool", "int", "float"):
        return np.full(rows, value, {"bool": np.bool_, "int": np.int64, "float": np.float64}[kind])
    return pa.repeat(pa.scalar(value, ARROW[kind.rstrip("?")]), rows)


def _as_numpy(column: Column) -> Array:
    return column if isinstance(column, np.ndarray) else column.to_numpy(zero_copy_only=False)


def _like(column: Column, other: Column) -> Column:
    """A column in the form of another, numpy's or Arrow's."""
    if isinstance(other, np.ndarray):
        return _as_numpy(column).astype(other.dtype, copy=False)
    found = pa.array(column) if isinstance(column, np.ndarray) else column
    return found if found.type == other.type else found.cast(other.type)


def _differ(left: Column, right: Column) -> Array:
    """For each row whether two columns differ: 0.0 and -0.0 do, NaN and NaN do not."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        differ = left != right
        if left.dtype == np.float64:
            differ = (differ | (np.signbit(left) != np.signbit(right))) & ~(np.isnan(left) & np.isnan(right))
        return differ
    one, other = pa.array(left), pa.array(right)
    none, other_none = (c.is_null().to_numpy(zero_copy_only=False) for c in (one, other))
    if pa.types.is_floating(one.type):
        values = (pc.fill_null(c, 0.0).to_numpy(zero_copy_only=False) for c in (one, other))
        return (none != other_none) | (_differ(*values) & ~none)
    same = pc.fill_null(pc.equal(one, other), False).to_numpy(zero_copy_only=False)
    return (none != other_none) | (~same & ~none)
