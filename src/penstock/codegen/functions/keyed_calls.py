"""Classes of the user's with an instance for each key, whose instances lie in a table between batches.

The loop is that of `class_calls`; before it the instances of the batch's keys are loaded (`instance_table`), and when
the state is asked for they are written back. A class that has become columns is taken in rounds (`class_rounds`), and
the loop takes only what is checked or leaves; where it has few keys, all tuples of a key at once (`class_scans`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from penstock.codegen.functions.class_calls import ClassCalls, Given, Times, calls_by_key, joined
from penstock.codegen.functions.class_rounds import Step, Taken, take_in_rounds
from penstock.codegen.functions.class_scans import take_in_scans
from penstock.codegen.functions.instance_table import InstanceTable, memory_of
from penstock.codegen.functions.row_calls import rows_of
from penstock.codegen.kernels.key_tables import Outline, TabledState
from penstock.codegen.rows.frames import Frame, concatenated, taken
from penstock.codegen.rows.places import Array
from penstock.expr.environment import Clock
from penstock.expr.vector.frame import Column
from penstock.toolkit.core.runtime import Runtime


class KeyedCalls(ClassCalls, TabledState):
    """The state of an operator that is a `KeyedOperator`, and the loop or the rounds over it.

    Args:
        runtime: Of the operator, perhaps within one that checks its model on the first tuples; not connected yet.
        clock: That the instances see.
        held: The instances between batches.
    """

    def __init__(self, runtime: Runtime, clock: Clock, held: InstanceTable) -> None:
        super().__init__(runtime, clock)
        self._held = held
        self._instances: Any = getattr(runtime, "inner", runtime)
        self.tables = [held.table]

    def process(self, times: Times, frames: Sequence[Frame]) -> list[Frame]:
        """The frames that the operator gives by each output port for those of its input ports."""
        for frame, names in zip(frames, self._instances.key_names, strict=True):
            self._load(frame, names)
        return super().process(times, frames)

    def _load(self, frame: Frame, names: Sequence[str]) -> None:
        if len(frame):
            self._held.load([frame[name] for name in names])

    def process_by_key(self, times: Times, frame: Frame, step: Step, scans: Mapping[str, str] | None = None) -> Frame:
        """The frame that a class gives that has become columns; the loop takes what is checked or leaves.

        Args:
            times: The application's time at each row.
            frame: The rows.
            step: The class as a function.
            scans: How its attributes come about, if few keys can be taken at once.
        """
        when = times(frame)
        checked = min(getattr(self._runtime, "to_check", 0), len(frame))
        found = [self._call_some(frame, when, np.arange(checked))]
        rest = np.arange(checked, len(frame))
        if len(rest):
            self._settle()
            # Behind rounds few keys may have many rows left.
            for take in (self._take_scans, self._take_rounds, self._take_scans):
                done = take(frame.take(rest), when[rest], step, scans)
                if done is not None:
                    # The instances that the loop knows lie in the table now.
                    self._calls = calls_by_key(self._settled)
                    found.append((rest[done.at], dict(zip(self._outputs[0].names, done.columns, strict=True))))
                    rest = rest[done.left]
            found.append(self._call_some(frame, when, rest))
        at, columns = in_order_of_rows(found)
        given = Given(frame.places, np.bincount(at, minlength=len(frame)), joined([]), frame.marks)
        return given.frame(0, columns)

    def _take_scans(self, rows: Frame, when: Array, step: Step, scans: Mapping[str, str] | None) -> Taken | None:
        return None if scans is None else take_in_scans(self._held, rows, when, step, scans)

    def _take_rounds(self, rows: Frame, when: Array, step: Step, scans: Mapping[str, str] | None) -> Taken | None:
        return take_in_rounds(self._held, rows, when, step)

    def _call_some(self, frame: Frame, when: Array, rows: Array) -> tuple[Array, dict[str, Column]]:
        """What a class with one output gives for some rows in the loop, and for which row each tuple is."""
        some = frame.take(rows)
        self._load(some, self._held.form.names)
        if self._is_light():
            counts, columns = self._call_light(some, when[rows])
            return np.repeat(rows, counts), columns
        counts, _, (columns,) = self._call(chain.from_iterable(rows_of(some, self._inputs[0])), when[rows].tolist())
        return np.repeat(rows, counts), columns

    def forget_expired(self, now_ns: int) -> int:
        """Drop the instances whose time to live is over, of those that lie in the table, too."""
        ttl_ns = self._instances.ttl_ns
        return super().forget_expired(now_ns) + (0 if ttl_ns is None else self._held.forget_old(now_ns, ttl_ns))

    # State.

    def whole(self) -> dict[str, Any]:
        """What belongs to no key: the form of the table, how many instances there have been, what is still checked."""
        watched = self._runtime.snapshot_watch() if hasattr(self._runtime, "snapshot_watch") else {}
        return {"form": self._held.form, "born": self._instances.born, "watched": watched}

    def restore_whole(self, whole: Mapping[str, Any]) -> None:
        """Take over what belongs to no key."""
        self._instances.born = whole["born"]
        if hasattr(self._runtime, "restore_watch"):
            self._runtime.restore_watch(whole["watched"])

    def outline(self) -> Outline:
        """The state without the rows of the table, which is up to date."""
        self._held.flush()
        return super().outline()

    def snapshot(self) -> Any:
        """The state as plain data."""
        self._held.flush()
        return TabledState.snapshot(self)

    def restore(self, state: Any) -> None:
        """Go on from a state; one that another version of the class has left, or a memory, is taken over by objects."""
        if isinstance(state, dict) and state["whole"]["form"] == self._held.form:
            TabledState.restore(self, state)
        else:
            super().restore(memory_of(state))
            self._held.adopt()


def in_order_of_rows(found: Sequence[tuple[Array, dict[str, Column]]]) -> tuple[Array, dict[str, Column]]:
    """Tuples that were given in several ways, each with its row, as one."""
    parts = [part for part in found if len(part[0])] or found[:1]
    if len(parts) == 1:
        return parts[0]
    at = np.concatenate([rows for rows, _ in parts])
    order = np.argsort(at, kind="stable")
    return at[order], {name: taken(concatenated([c[name] for _, c in parts]), order) for name in parts[0][1]}
