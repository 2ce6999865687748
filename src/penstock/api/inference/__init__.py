"""The operator model of a Python function or class, from its source.

Everything is unknown unless it is proven, with the reason in words. A declared model always wins.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("rstring sym, float64 price")
    >>> from penstock.api.sources.timed_items import after
    >>> model = infer_model(len, Role.MAP, inputs=schema, outputs=(schema,))
    >>> model.state.value, model.selectivity.value, str(model.why[0])
    ('unknown', 'exactly one', 'state: its source cannot be read')
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum
from typing import Any

from penstock.api.inference.forwarding import forwarded
from penstock.api.inference.frames import is_generator, walk_scope
from penstock.api.inference.judgement import Findings, judge
from penstock.api.inference.names.syntax_trees import FunctionTree, function_tree
from penstock.api.inference.paths import Count, count_emissions, returned_count
from penstock.ir.models import Flag, Forwarding, OperatorModel, Selectivity, State, Why
from penstock.ir.types import Schema, Type


class Role(Enum):
    """How a function is used."""

    MAP = "map"
    FILTER = "filter"
    FLAT_MAP = "flat map"
    PROCESS = "process"


_GIVES = {Role.MAP: "one", Role.FILTER: "none", Role.FLAT_MAP: "many", Role.PROCESS: "many"}


def infer_model(
    function: Any,
    role: Role,
    *,
    inputs: Schema,
    outputs: tuple[Schema, ...],
    owner: type | None = None,
    given: Mapping[str, Type | None] | None = None,
) -> OperatorModel:
    """The model of a function of one tuple, or of the method `process` of `owner`, as far as it is proven.

    Args:
        function: Called for each tuple.
        role: How it is called.
        inputs: The schema of its input.
        outputs: The schemas of its outputs.
        owner: The class, where it is a method.
        given: The types of the parameters that the invocation sets, None where that is not known.
    """
    findings = judge(function, gives=_GIVES[role], inputs=inputs, owner=owner, given=given)
    tree = function_tree(function)
    state, key, why = _state(findings)
    selectivity, reason = _selectivity(tree, role, findings)
    copies = _forwards(findings, role, inputs, outputs)
    return OperatorModel(
        state=state,
        partition_by=(key,) if key else (),
        selectivity=selectivity,
        forwarding=Forwarding.ALWAYS if copies else Forwarding.UNKNOWN,
        forwards=copies,
        side_effects=findings.has_effects,
        why=(*why, *reason),
    )


def _state(findings: Findings) -> tuple[State, frozenset[str], tuple[Why, ...]]:
    if findings.reasons:
        return State.UNKNOWN, frozenset(), tuple(Why(Flag.STATE, reason) for reason in findings.reasons)
    if findings.key is None:
        return State.STATELESS, frozenset(), ()
    return State.PARTITIONED, findings.key, ()


def _selectivity(tree: FunctionTree | None, role: Role, findings: Findings) -> tuple[Selectivity, tuple[Why, ...]]:
    if role is Role.MAP:
        return Selectivity.EXACTLY_ONE, ()
    if role is Role.FILTER:
        return Selectivity.AT_MOST_ONE, ()
    if tree is None:
        return Selectivity.UNKNOWN, (Why(Flag.SELECTIVITY, "its source cannot be read"),)
    if findings.leaks_submit or not findings.submits <= {id(n) for n in walk_scope(tree.body)}:
        return Selectivity.UNKNOWN, (Why(Flag.SELECTIVITY, "it submits tuples from other places than its own body"),)
    count = _emitted(tree, role, findings.submits)
    if count == Count(1, 1):
        return Selectivity.EXACTLY_ONE, ()
    if count.most <= 1:
        return Selectivity.AT_MOST_ONE, ()
    return Selectivity.UNKNOWN, (Why(Flag.SELECTIVITY, "it may give more than one tuple for a tuple"),)


def _emitted(tree: FunctionTree, role: Role, submits: frozenset[int]) -> Count:
    submitted = count_emissions(tree.body, submits)
    if is_generator(tree.body):
        return submitted
    returns = [returned_count(n.value) for n in walk_scope(tree.body) if isinstance(n, ast.Return)]
    total = returned_count(None) if not isinstance(tree.body[-1], ast.Return) else returns[-1]
    for count in returns:
        total = total | count
    return total + submitted if role is Role.PROCESS else total


def _forwards(findings: Findings, role: Role, inputs: Schema, outputs: tuple[Schema, ...]) -> frozenset[str]:
    if role is Role.FILTER:
        return frozenset(inputs.names) - findings.changed
    if not outputs or findings.leaks_submit:
        return frozenset()
    return frozenset.intersection(*(forwarded(findings, inputs, output) for output in outputs))
