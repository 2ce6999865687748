"""The state of a job between two batches, by operator: what any plan of its program can go on from.

Introduction:
    An engine keeps state by PE and channel, because that is how it works. Between two batches nothing is under way, so
    the state of a PE is no more than that of its operators, and of the streams that have ended. Taken apart so
    (`collect_state`), it can be dealt out to other PEs, and by key group to other channels (`deal_state`).

Formulation:
    An operator's state is in one of two forms. A *memory* is that of the reference's runtime (`toolkit.core.memory`):
    Python objects, some of them by key. *Columns* are that of a generated kernel (`codegen.kernels.key_tables`): tables
    with a row for each key. A kernel folds what a runtime keeps, so columns cannot become a memory, nor the other way
    round: an operator keeps the form that its state has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.toolkit.core.memory import Memory

Columns = dict[str, Any]
"""`{"tables": [...], "whole": {...}}`, see `codegen.kernels.key_tables`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """The state of an operator, on one channel or on all of them.

    Attributes:
        memory: That of a runtime, if it has any.
        columns: That of a kernel, if it has any.
        time_ns: How far time has come for it.
        has_ended: Whether it has finished.
        is_held: Whether it would have, but waits for a timer.
        late: The tuples that came too late.
        random: The state of the random numbers that it draws, if it has drawn any.
        metrics: What its code has counted.
    """

    memory: Memory | None = None
    columns: Columns | None = None
    time_ns: int = 0
    has_ended: bool = False
    is_held: bool = False
    late: int = 0
    random: Any = None
    metrics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """The state of a job between two batches.

    Attributes:
        application: The name of its program.
        batch: How many batches have been written: the number of the next one.
        groups: How many key groups there are.
        operators: By id, sinks included; one without an entry is as it was in the beginning.
        ended: The streams that have ended.
        sources: Where the sources stand, as their planner says; None before the first batch.
        has_ended: Whether all sources have ended.
        totals: The counts of all batches so far, dead letters included, and what the file of letters holds.
    """

    application: str
    batch: int
    groups: int
    operators: dict[str, OperatorState] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()
    sources: dict[str, Any] | None = None
    has_ended: bool = False
    totals: dict[str, Any] = field(default_factory=dict)

    @property
    def time_ns(self) -> int:
        """How far time has come."""
        return max((state.time_ns for state in self.operators.values()), default=0)
