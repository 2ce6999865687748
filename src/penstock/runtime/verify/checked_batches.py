"""Batch functions of the user's, checked on their first rows: what one gives for a row must not depend on others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.expr.values import rows_from_batch, text_form
from penstock.ir.graph import Operator
from penstock.ir.models import State
from penstock.reference.failure import OperatorFailed, reason_of

ROWS_ALONE = 8
"""How many rows of a batch are given to the function alone, beside its first and its second half."""

CLOSE = 1e-9
"""How much floats may differ: libraries sum in another order where there are other numbers of rows."""


class CheckedBatchCall:
    """A batch function that is called again with parts of a batch; after so many rows it is the function alone.

    Args:
        operator: The instance.
        call: A function of record batches that gives a record batch, or a mask for a filter.
        role: `map`, `filter` or `flat map`.
        limit: How many rows are checked.
    """

    def __init__(self, operator: Operator, call: Callable[[pa.RecordBatch], Any], role: str, limit: int) -> None:
        self._operator, self._call, self._role, self._left = operator, call, role, limit
        if operator.model.state is not State.STATELESS or operator.model.side_effects:
            self._left = 0  # it cannot be called twice

    def __call__(self, batch: pa.RecordBatch) -> Any:
        """The result of the function for a batch."""
        given = self._call(batch)
        if self._left > 0:
            self._left -= batch.num_rows
            for start, length in _parts(batch.num_rows):
                self._check(batch.slice(start, length), _values(given, self._role, start, length, batch.num_rows))
        return given

    def _check(self, part: pa.RecordBatch, wanted: list[Any] | None) -> None:
        """Call the function with a part of the rows and compare; what a flat map gives for a part is not known."""
        try:
            given = self._call(part)
        except Exception as error:
            self._fail(part, f"it failed when it was called with {_rows(part.num_rows)} of a batch: {reason_of(error)}")
        found = _values(given, self._role, 0, part.num_rows, part.num_rows)
        if wanted is None or found is None:
            return
        for i, (ours, theirs) in enumerate(zip(wanted, found, strict=False)):
            if not _is_close(ours, theirs):
                differs = f"it gave {ours!r} for it in a batch, and {theirs!r} with {_rows(part.num_rows)} of the batch"
                self._fail(part.slice(i, 1), differs)

    def _fail(self, rows: pa.RecordBatch, found: str) -> None:
        text = f"it takes batches, so what it gives for a row must not depend on other rows, but {found}"
        schema = self._operator.inputs[0].schema
        raise OperatorFailed(self._operator, text, text_form(schema)(rows_from_batch(rows.slice(0, 1), schema)[0]))


def _rows(count: int) -> str:
    return "one row" if count == 1 else f"{count} rows"


def _parts(count: int) -> list[tuple[int, int]]:
    """The parts of a batch that the function is called with again, as their first row and their length.

    Example:
        >>> _parts(1), _parts(4)
        ([(0, 1)], [(0, 2), (2, 2), (0, 1), (1, 1), (2, 1), (3, 1)])
    """
    half = count // 2
    halves = [(0, half), (half, count - half)] if half > 1 else []
    return [*halves, *((int(i), 1) for i in np.unique(np.linspace(0, count - 1, ROWS_ALONE, dtype=int)))]


def _values(given: Any, role: str, start: int, length: int, rows: int) -> list[Any] | None:
    """What the function gave for some rows, None where that cannot be told."""
    if role == "filter":
        return [bool(keep) for keep in given[start : start + length]]
    if given.num_rows != rows:
        return None
    return list(given.slice(start, length).to_pylist())


def _is_close(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=CLOSE) or (math.isnan(ours) and math.isnan(theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_is_close(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_is_close, ours, theirs))
    return bool(ours == theirs)
