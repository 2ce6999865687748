"""Instances by key in columns: the tuples of a batch in rounds, one tuple of each key in a round.

Introduction:
    A `KeyedOperator` whose `process` is understood (`class_columns`) is a function over columns, of the attributes of
    instances and of tuples. In a round it takes one tuple of every key that has one left. So what it does for a key is
    done in order, tuple after tuple, and sums are to the bit what Python's are.

Formulation:
    Let n_k be the number of tuples of key k in a batch. With keys in descending order of n_k, round r is for the first
    m_r of them, those with n_k > r. The tuples are laid out round after round, in the order of keys; so all that a
    round takes is a slice: of the columns of tuples, and of the first m_r attributes.

    A key leaves at a round if a row of it leaves the normal case there. It also leaves before its first round if an
    attribute is of another kind than the code is for, and where the rounds end because too few keys are left. Its
    tuples from there on are taken by its instance in the loop of `class_calls`, in their order.

Algorithm:
    Counting sort by key: O(b + k) for b tuples and k keys, and one call of the function a round.

Preserves:
    Instances lie in a table (`instance_table`) before and after a batch: what goes on with them cannot tell which way
    they came.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.functions.instance_table import Attributes, InstanceTable
from penstock.codegen.functions.left import ARROW
from penstock.codegen.functions.row_calls import put
from penstock.codegen.kernels.keys import by_key, present_keys
from penstock.codegen.rows.frames import Frame, concatenated, taken
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column

KEYS_PER_LINE = 6
"""How many keys a round must have for each line of the function: what it costs is what so many calls cost."""

LEAST_ROWS = 500
"""How many rows a batch must have: to lay them out costs as much as that many calls, however few they are."""

Site = tuple[Array | None, list[Column]]
"""The rows for which a tuple is given, all if there is no mask, and its columns."""

Step = Callable[["Round"], tuple[Array | None, list[Column], list[Site]]]
"""Takes a round; gives the rows that leave, the attributes after it, and the tuples."""


class Round:
    """The rows of a round, as a generated function sees them: the columns of tuples, and those of attributes."""

    __slots__ = ("_batch", "_own", "_start", "_stop")

    def __init__(self, batch: Callable[[str], Column], own: dict[str, Column], start: int, stop: int) -> None:
        self._batch, self._own, self._start, self._stop = batch, own, start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, name: str) -> Column:
        found = self._own.get(name)
        return self._batch(name)[self._start : self._stop] if found is None else found


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """The rows of a batch that were taken in rounds.

    Attributes:
        at: For each tuple that was given, the row that it was given for, in order.
        columns: Of these tuples.
        left: The rows that are left for the loop, in order.
    """

    at: Array
    columns: list[Column]
    left: Array


def held(value: Any, rows: int, kind: str) -> Column:
    """The column of an attribute, of a value that is the same in all rows, or that could not be None.

    Example:
        >>> held(2, 3, "int").tolist(), held(None, 2, "float?").to_pylist()
        ([2, 2, 2], [None, None])
    """
    if isinstance(value, np.ndarray):
        return pa.array(value)
    if kind in ("bool", "int", "float"):
        return np.full(rows, value)
    return pa.repeat(pa.scalar(value, ARROW[kind.rstrip("?")]), rows)


def take_in_rounds(held: InstanceTable, frame: Frame, when: Array, step: Step) -> Taken | None:
    """Take a batch in rounds; None if it has too few keys or rows for that.

    Args:
        held: The instances.
        frame: The rows.
        when: The application's time at each, in ns.
        step: The class as a function.
    """
    attributes = held.form.attributes
    assert attributes is not None
    if len(frame) < LEAST_ROWS:
        return None
    present, codes = present_keys(held.table.find([frame[name] for name in held.form.names]), len(held.table))
    layout = Layout(codes, len(present), max(1, KEYS_PER_LINE * attributes.lines))
    if not layout.rounds:
        return None
    own, is_strange = held.begin(present)
    run = _Run(layout, frame, [taken(column, layout.keys) for column in own], attributes)
    run.start(is_strange[layout.keys])
    for number in range(layout.rounds):
        run.take(number, step)
    columns, until = run.finish()
    back = np.argsort(layout.keys)
    held.end(present, until[back] > 0, [taken(column, back) for column in columns])
    return run.given()


class Layout:
    """The rows of a batch in the order of rounds.

    Args:
        codes: The number of each row's key, from 0 on.
        count: How many keys there are.
        fewest: How many keys a round must have.

    Attributes:
        first: The first row of each key.
        keys: The numbers of keys in the order of a round: those with the most rows first.
        sizes: How many rows each round has.
        starts: Where each begins in the order of rounds.
        rounds: How many rounds there are.
        rows: The rows in that order, those of rounds that do not take place left out.
    """

    def __init__(self, codes: Array, count: int, fewest: int) -> None:
        by_number = by_key(codes, count)
        counts = np.bincount(codes, minlength=count)
        begins = np.cumsum(counts) - counts
        self.first: Array = by_number[begins]
        self.keys: Array = np.argsort(-counts, kind="stable")
        self._position = np.empty(count, np.int64)
        self._position[self.keys] = np.arange(count)
        sizes = count - np.cumsum(np.bincount(counts))[:-1]
        self.rounds = int(np.count_nonzero(sizes >= fewest))
        self.starts: Array = np.cumsum(sizes) - sizes
        self.sizes: list[int] = sizes.tolist()
        self._rank = np.empty(len(codes), np.int64)
        self._rank[by_number] = np.arange(len(codes)) - np.repeat(begins, counts)
        self._codes = codes
        self.laid: int = int(sizes[: self.rounds].sum())
        self.counts: Array = counts[self.keys]

    @cached_property
    def place(self) -> Array:
        """The position of each row in the order of rounds."""
        return self.starts[self._rank] + self._position[self._codes]

    @cached_property
    def rows(self) -> Array:
        """The rows in the order of rounds."""
        found = np.empty(len(self.place), np.int64)
        found[self.place] = np.arange(len(found))
        return found[: self.laid]

    def left(self, until: Array) -> Array:
        """For each row, whether it is left for the loop, given the round at which each key leaves."""
        return self._rank >= until[self._position[self._codes]]


@dataclass(slots=True)
class _Run:
    """The rounds of a batch.

    Attributes:
        own: The attributes of the keys that are still under way.
        until: For each key, the round at which it leaves.
    """

    layout: Layout
    frame: Frame
    own: list[Column]
    attributes: Attributes
    until: Array = field(init=False)
    _names: list[str] = field(init=False)
    _done: list[list[Column]] = field(default_factory=list)
    _saved: list[tuple[Array, list[Column]]] = field(default_factory=list)
    _sites: list[list[Site]] = field(default_factory=list)
    _columns: dict[str, Column] = field(default_factory=dict)

    def start(self, is_strange: Array) -> None:
        """Begin, without the keys whose instances are strange."""
        self._names = [f"self.{name}" for name in self.attributes.kinds]
        self.until = np.minimum(self.layout.counts, self.layout.rounds)
        self.until[is_strange] = 0

    def take(self, number: int, step: Step) -> None:
        """Take a round."""
        size, start = self.layout.sizes[number], int(self.layout.starts[number])
        self._put_aside(size)
        round_ = Round(self._column, dict(zip(self._names, self.own, strict=True)), start, start + size)
        left, after, sites = step(round_)
        if left is not None and left.any():
            leaving = np.flatnonzero(left & (self.until[:size] > number))
            self.until[leaving] = number
            self._saved.append((leaving, [taken(column, leaving) for column in self.own]))
        self.own = after
        self._sites.append(sites)

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = taken(self.frame[name], self.layout.rows)
        return self._columns[name]

    def _put_aside(self, size: int) -> None:
        """Leave the keys behind that have no row in the next round."""
        if self.own and size < len(self.own[0]):
            self._done.append([column[size:] for column in self.own])
            self.own = [column[:size] for column in self.own]

    def finish(self) -> tuple[list[Column], Array]:
        """The attributes after the last round of each key, and how many rounds it has taken."""
        parts = [self.own, *reversed(self._done)]
        columns = [concatenated(list(column)) for column in zip(*parts, strict=True)]
        for leaving, before in self._saved:
            columns = [put(column, leaving, old) for column, old in zip(columns, before, strict=True)]
        return columns, self.until

    def given(self) -> Taken:
        """All tuples that were given, in the order of the rows that they were given for."""
        is_left = self.layout.left(self.until)
        left, rows = np.flatnonzero(is_left), self.layout.rows
        parts: list[tuple[Array, list[Column]]] = []
        for sites in zip(*self._sites, strict=True):
            columns = [concatenated(list(column)) for column in zip(*(made for _, made in sites), strict=True)]
            if sites[0][0] is None and not is_left[rows].any():
                if len(self._sites[0]) == 1:
                    return Taken(
                        np.flatnonzero(~is_left), [taken(c, self.layout.place[~is_left]) for c in columns], left
                    )
                parts.append((rows, columns))
                continue
            mask = ~is_left[rows]
            if sites[0][0] is not None:
                mask &= np.concatenate([where for where, _ in sites])
            chosen = np.flatnonzero(mask)
            parts.append((rows[chosen], [taken(column, chosen) for column in columns]))
        at = np.concatenate([rows for rows, _ in parts])
        order = np.argsort(at, kind="stable")
        joined = [concatenated(list(column)) for column in zip(*(columns for _, columns in parts), strict=True)]
        return Taken(at[order], [taken(column, order) for column in joined], left)
