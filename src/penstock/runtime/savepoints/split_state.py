"""The state of an operator on several channels: put together, and split by key group.

Where the channels of an operator disagree on whether it has ended, because some still wait for a timer, it has not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.base.diagnostics import UserError
from penstock.ir.graph import Operator
from penstock.ir.models import State
from penstock.ir.types import Type
from penstock.parallel.key_groups import Table
from penstock.parallel.routing import group_of_values
from penstock.runtime.savepoints.job_state import OperatorState
from penstock.runtime.savepoints.state_columns import group_keys, join_columns, split_columns
from penstock.toolkit.core import memory
from penstock.toolkit.core.memory import Memory


def join_states(operator: Operator, states: Sequence[OperatorState]) -> OperatorState:
    """The state of an operator that has run on several channels.

    Raises:
        UserError: It holds something that belongs to no key, and that differs between channels.
    """
    first = states[0]
    if len(states) == 1:
        return first
    with _naming(operator):
        # What an operator without state holds are constants, and copies that it can do without.
        mine = states[:1] if operator.model.state is State.STATELESS else states
        columns = [state.columns for state in mine if state.columns is not None]
        return replace(
            first,
            memory=memory.join(state.memory for state in mine),
            columns=join_columns(columns) if columns else None,
            time_ns=max(state.time_ns for state in states),
            has_ended=all(state.has_ended for state in states),
            is_held=any(state.is_held for state in states),
            late=sum(state.late for state in states),
            random=next((state.random for state in states if state.random is not None), None),
            metrics={name: value for state in states for name, value in state.metrics.items()},
        )


def split_state(
    operator: Operator, state: OperatorState, key: Sequence[str], table: Table, channels: int
) -> list[OperatorState]:
    """The state of an operator on each of its channels.

    Args:
        operator: The operator.
        state: Its state.
        key: The attributes that it is routed by; without any, channels take turns.
        table: For each key group the channel that holds it.
        channels: How many there are.

    Raises:
        UserError: The state holds something that belongs to no key.
    """
    # A channel that has ended waits for nothing.
    state = replace(state, late=0) if channels > 1 else state
    if channels == 1 or operator.model.state is State.STATELESS or not key:
        return [state] * channels
    types = attribute_types(operator)
    with _naming(operator):
        memories = _split_memory(state.memory, key, table, channels)
        columns: Sequence[Any] = [None] * channels
        if state.columns is not None:
            held = np.array(table)
            chosen = [held[group_keys(t, key, types, len(table))] for t in state.columns["tables"]]
            columns = split_columns(state.columns, chosen, channels)
    return [replace(state, memory=m, columns=c) for m, c in zip(memories, columns, strict=True)]


def group_finder(key: Sequence[str], groups: int) -> Callable[[Mapping[str, Any]], int]:
    """The function that tells the key group of the values of attributes."""
    return lambda values: group_of_values([values[name] for name in key], groups)


def attribute_types(operator: Operator) -> dict[str, Type]:
    """The types of the attributes that come to an operator, by name; those of the first port go first."""
    return {a.name: a.type for port in reversed(operator.inputs) for a in port.schema.attributes}


def _split_memory(whole: Memory | None, key: Sequence[str], table: Table, channels: int) -> list[Memory | None]:
    if whole is None:
        return [None] * channels
    find = group_finder(key, len(table))
    found = memory.split(whole, lambda values: table[find(values)])
    # Constants are for all channels, those without keys, too.
    empty: Memory | None = (dict(whole[0]), {}) if whole[0] else None
    return [found.get(channel, empty) for channel in range(channels)]


class _naming:
    """Lets a message about state name its operator."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, UserError):
            text = str(error).removeprefix("error: ")
            raise UserError(f"operator `{self._operator.id}` cannot run on other channels: {text}") from None
