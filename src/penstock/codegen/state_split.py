"""Takes the state of a generated PE apart by key, and puts such parts together again.

Introduction:
    A PE in a parallel region has a state for each channel. To start it again with another number of channels, the
    states of all channels are joined, and split by the channel that each key has then.

Formulation:
    The state of an operator with a kernel is tables with a row for each key (`tables`); that of a logic clause is maps
    that are asked for one key at a time (`toolkit.keyed_state`), beside variables that never change, of which every
    part gets a copy. Times and ends of streams are those of the whole PE.

When it does not apply:
    An operator whose model does not call its state partitioned: a count of all tuples, a variable that is no map.

Preserves:
    `join_states` of what `split_state` gives is the state, but for the order of keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.codegen import tables
from penstock.codegen.columns import typed
from penstock.codegen.generate import Generated
from penstock.codegen.tables import GroupOf
from penstock.diagnostics import UserError
from penstock.ir.graph import Operator
from penstock.ir.statements import Function
from penstock.toolkit.keyed_state import Shape, state_shapes

State = dict[str, Any]
"""What `GeneratedPE.remember` gives."""


def split_state(generated: Generated, state: State, group_of: GroupOf) -> dict[int, State]:
    """The states of groups of keys.

    Args:
        generated: The PE's module.
        state: Of the PE, or of one of its channels.
        group_of: The groups of many keys, given the columns of their attributes by name.

    Raises:
        UserError: Some state belongs to no key.
    """
    parts = {
        id_: _split_operator(generated, id_, remembered, group_of) for id_, remembered in state["operators"].items()
    }
    groups = sorted({group for found in parts.values() for group in found})
    blank = {id_: _nothing(generated, id_, remembered) for id_, remembered in state["operators"].items()}
    return {
        group: {**state, "operators": {id_: found.get(group, blank[id_]) for id_, found in parts.items()}}
        for group in groups
    }


def join_states(generated: Generated, states: Sequence[State]) -> State:
    """The state that holds the keys of several; no key may be in two of them.

    Raises:
        UserError: They hold something that belongs to no key, or differ in what never changes.
    """
    first = states[0]
    together = {}
    for id_ in first["operators"]:
        found = [state["operators"][id_] for state in states]
        shapes = _shapes(generated, id_) if id_ in generated.variables else None
        together[id_] = tables.joined(found) if shapes is None else _joined(found, shapes)
    time_ns = max(state["time_ns"] for state in states)
    return {**first, "time_ns": time_ns, "operators": together}


def _split_operator(generated: Generated, id_: str, remembered: Any, group_of: GroupOf) -> dict[int, Any]:
    if id_ not in generated.variables:
        return tables.split(remembered, group_of)
    operator, shapes = _operator(generated, id_), _shapes(generated, id_)
    constants = {name: value for name, value in remembered.items() if name not in shapes}
    found: dict[int, dict[str, Any]] = {}
    for name, shape in shapes.items():
        entries = remembered[name]
        for key, group in zip(entries, _groups(operator, shape, list(entries), group_of), strict=True):
            own = found.setdefault(int(group), {**constants, **{other: {} for other in shapes}})
            own[name][key] = entries[key]
    return found


def _groups(operator: Operator, shape: Shape, keys: Sequence[Any], group_of: GroupOf) -> Sequence[int]:
    """The groups of the keys of a map."""
    parts = [shape.wrap(key) for key in keys]
    schema = operator.inputs[0].schema
    columns = {
        name: typed([part[i] for part in parts], schema.attribute(name).type) for i, name in enumerate(shape.names)
    }
    return [int(group) for group in np.asarray(group_of(columns))] if keys else []


def _nothing(generated: Generated, id_: str, remembered: Any) -> Any:
    """The state of an operator that has seen no keys."""
    if id_ not in generated.variables:
        kept = np.zeros(0, np.int64)
        return {"tables": [tables.rows_at(table, kept) for table in remembered["tables"]], "whole": {}}
    return {name: {} if name in _shapes(generated, id_) else value for name, value in remembered.items()}


def _joined(found: Sequence[Mapping[str, Any]], shapes: Mapping[str, Shape]) -> dict[str, Any]:
    together = {name: dict(value) if name in shapes else value for name, value in found[0].items()}
    for other in found[1:]:
        for name, value in other.items():
            if name in shapes:
                together[name].update(value)
            elif value != together[name]:
                raise UserError(f"the states differ in `{name}`, which belongs to no key, so they cannot be joined")
    return together


def _shapes(generated: Generated, id_: str) -> dict[str, Shape]:
    functions: Sequence[Function] = generated.part.plan.application.functions
    found = state_shapes(_operator(generated, id_), functions)
    if found is None:
        raise UserError(f"the state of `{id_}` belongs to no key, so it cannot be split by key")
    return found


def _operator(generated: Generated, id_: str) -> Operator:
    return generated.part.plan.application.operator[id_]
