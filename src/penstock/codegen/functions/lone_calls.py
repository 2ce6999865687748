"""An `Operator`, of which there is one instance, by columns where it keeps sums, extremes or last values.

Its tuples are those of a single key, so they are taken all at once (`class_scans`) from what the instance holds, and
what it holds then is set on it. The instance itself stays the state, and takes in the loop of `class_calls` what is
checked, what leaves the normal case, and all tuples if it holds what columns cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from penstock.codegen.functions.class_calls import ClassCalls, Given, Times, joined
from penstock.codegen.functions.class_rounds import LEAST_ROWS, Step
from penstock.codegen.functions.class_scans import scan
from penstock.codegen.functions.instance_table import Attributes
from penstock.codegen.functions.keyed_calls import in_order_of_rows
from penstock.codegen.functions.left import to_kind
from penstock.codegen.functions.row_calls import rows_of
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import Array
from penstock.expr.environment import Clock
from penstock.expr.vector.frame import Column
from penstock.toolkit.core.runtime import Runtime


class LoneCalls(ClassCalls):
    """The state of an operator with one instance, and the scan or the loop over a batch.

    Args:
        runtime: Of the operator, perhaps within one that checks its model on the first tuples; not connected yet.
        clock: That the instance sees.
        attributes: Of the instance.
    """

    def __init__(self, runtime: Runtime, clock: Clock, attributes: Attributes) -> None:
        super().__init__(runtime, clock)
        self._attributes = attributes

    def process_at_once(self, times: Times, frame: Frame, step: Step, scans: Mapping[str, str]) -> Frame:
        """The frame that the class gives for a batch.

        Args:
            times: The application's time at each row.
            frame: The rows.
            step: The class as a function.
            scans: How its attributes come about.
        """
        when = times(frame)
        checked = min(getattr(self._runtime, "to_check", 0), len(frame))
        found = [self._call_some(frame, when, np.arange(checked))]
        rest = np.arange(checked, len(frame))
        if len(rest) >= LEAST_ROWS:
            self._settle()
            at, columns, left = self._scan(frame.take(rest), step, scans)
            found.append((rest[at], columns))
            rest = rest[left]
        if len(rest):
            found.append(self._call_some(frame, when, rest))
        at, columns = in_order_of_rows(found)
        given = Given(frame.places, np.bincount(at, minlength=len(frame)), joined([]), frame.marks)
        return given.frame(0, columns)

    def _scan(self, frame: Frame, step: Step, scans: Mapping[str, str]) -> tuple[Array, dict[str, Column], Array]:
        """What is given, for which rows, and which rows are left."""
        instance, own = self._settled.instance, self._attributes
        held, is_strange = self._held(instance)
        done, after, took = scan(frame, np.zeros(len(frame), np.int64), held, is_strange, own.kinds, scans, step)
        if took[0]:
            for name, column in zip(own.kinds, after, strict=True):
                (value,) = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
                setattr(instance, name, value)
        return done.at, dict(zip(self._outputs[0].names, done.columns, strict=True)), done.left

    def _held(self, instance: Any) -> tuple[list[Column], Array]:
        """The attributes that change, as columns of one row, and whether the instance holds what columns cannot."""
        own = self._attributes
        is_strange = set(vars(instance)) - {"submit"} not in (set(own.names), set(own.made))
        columns: list[Column] = []
        for name, first in own.first.items():
            value = getattr(instance, name, None)
            if name in own.kinds:
                column, bad = to_kind([value], own.kinds[name])
                is_strange |= bad is not None and bool(bad[0])
                columns.append(column)
            else:
                # By its text, because 0.0 and -0.0 are equal, and NaN is not.
                is_strange |= (type(value), repr(value)) != (type(first), repr(first))
        order = [name for name in own.first if name in own.kinds]
        by_name = dict(zip(order, columns, strict=True))
        return [by_name[name] for name in own.kinds], np.array([is_strange])

    def _call_some(self, frame: Frame, when: Array, rows: Array) -> tuple[Array, dict[str, Column]]:
        """What the class gives for some rows in the loop, and for which row each tuple is."""
        some = frame.take(rows)
        if self._is_light():
            counts, columns = self._call_light(some, when[rows])
            return np.repeat(rows, counts), columns
        counts, _, (columns,) = self._call(chain.from_iterable(rows_of(some, self._inputs[0])), when[rows].tolist())
        return np.repeat(rows, counts), columns
