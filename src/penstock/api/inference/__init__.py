"""The operator model of a Python function or class, from its source.

Conservative: what cannot be proven stays unknown, with the reason in words. A declared model always wins.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("rstring sym, float64 price")
    >>> from textwrap import dedent
    >>> model = infer_model(dedent, Role.MAP, inputs=schema, outputs=(schema,))
    >>> model.state.value, model.selectivity.value
    ('stateless', 'exactly one')
"""

from __future__ import annotations

import ast
from enum import Enum
from typing import Any

from penstock.api.inference.copies import forwarded
from penstock.api.inference.effects import Effects, function_effects
from penstock.api.inference.paths import Count, count_emissions, returned_count, submits_elsewhere
from penstock.api.inference.sources import FunctionTree, function_tree
from penstock.ir.models import Forwarding, OperatorModel, Selectivity, State
from penstock.ir.types import Schema, has_collection


class Role(Enum):
    """How a function is used."""

    MAP = "map"
    FILTER = "filter"
    FLAT_MAP = "flat map"
    PROCESS = "process"


def infer_model(
    function: Any, role: Role, *, inputs: Schema, outputs: tuple[Schema, ...], owner: type | None = None
) -> OperatorModel:
    """What can be proven of a function of one tuple, or of the method `process` of `owner`."""
    effects = function_effects(function, owner=owner, has_collections=has_collection(inputs))
    tree = function_tree(function)
    state, key, why = _state(effects)
    selectivity, reason = _selectivity(tree, role)
    copies = _forwards(tree, role, inputs, outputs, owner)
    if tree is not None and owner is not None and submits_elsewhere(tree, owner):
        selectivity, copies = Selectivity.UNKNOWN, frozenset()
        reason = ("selectivity: it submits tuples from other methods than `process`",)
    return OperatorModel(
        state=state,
        partition_by=(key,) if key else (),
        selectivity=selectivity,
        forwarding=Forwarding.ALWAYS if copies else Forwarding.UNKNOWN,
        forwards=copies,
        side_effects=effects.side_effects,
        why=(*why, *reason),
    )


def _state(effects: Effects) -> tuple[State, frozenset[str], tuple[str, ...]]:
    if effects.reasons:
        return State.UNKNOWN, frozenset(), tuple(f"state: {reason}" for reason in effects.reasons)
    key = effects.key()
    if key is None:
        return State.STATELESS, frozenset(), ()
    if not key:
        return State.UNKNOWN, frozenset(), ("state: no attribute is part of the key of every access to its state",)
    return State.PARTITIONED, key, ()


def _selectivity(tree: FunctionTree | None, role: Role) -> tuple[Selectivity, tuple[str, ...]]:
    if role is Role.MAP:
        return Selectivity.EXACTLY_ONE, ()
    if role is Role.FILTER:
        return Selectivity.AT_MOST_ONE, ()
    if tree is None:
        return Selectivity.UNKNOWN, ("selectivity: its source cannot be read",)
    count = _emitted(tree, role)
    if count == Count(1, 1):
        return Selectivity.EXACTLY_ONE, ()
    if count.most <= 1:
        return Selectivity.AT_MOST_ONE, ()
    return Selectivity.UNKNOWN, ("selectivity: it may give more than one tuple for a tuple",)


def _emitted(tree: FunctionTree, role: Role) -> Count:
    nodes = [n for s in tree.body for n in ast.walk(s)]
    submitted = count_emissions(tree.body)
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in nodes):
        return submitted
    returns = [returned_count(n.value) for n in nodes if isinstance(n, ast.Return)]
    total = returned_count(None) if not isinstance(tree.body[-1], ast.Return) else returns[-1]
    for count in returns:
        total = total | count
    return total + submitted if role is Role.PROCESS else total


def _forwards(
    tree: FunctionTree | None, role: Role, inputs: Schema, outputs: tuple[Schema, ...], owner: type | None
) -> frozenset[str]:
    if role is Role.FILTER:
        return frozenset(inputs.names)
    parameters = tree.parameters[1:] if tree is not None and owner is not None else tree.parameters if tree else ()
    if tree is None or not parameters or not outputs:
        return frozenset()
    return frozenset.intersection(*(forwarded(tree, parameters[0], inputs.names, o.names) for o in outputs))
