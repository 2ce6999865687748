"""The model of an instance of a Python operator: declared, or inferred from the source, and its key."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.api.inference import Role, infer_model
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.ir.expressions import Attribute
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, OperatorModel, State, Why
from penstock.ir.types import ListType, Type

HINT = "if you know better, say so: `partition_by=...`, or `model=OperatorModel(state=State.STATELESS, ...)`"
MOST_REASONS = 5

ONCE_FOR_ALL = ("on_punctuation", "finish")
"""Hooks that act for the tuples of all keys at once."""


def model_of(
    function: Any,
    role: str,
    declared: OperatorModel | None,
    operator: Operator,
    *,
    owner: type | None = None,
    hooks: tuple[str, ...] = (),
    batch: bool = False,
    partition_by: str | Sequence[str] = (),
) -> OperatorModel:
    """The model of an instance.

    A key that is given, by the parameter `partitionBy` or else by the author, says that the state of different keys is
    independent. It is believed where nothing is known of the state, and refused where it contradicts what is known.
    A sink without one stays unknown: what it does outside cannot be seen.

    Args:
        function: What is called for each tuple.
        role: How it is called.
        declared: By the author; wins over everything inferred.
        operator: The instance.
        owner: The class, where the function is its method.
        hooks: The methods beside `process` that the class overrides.
        batch: Whether the function takes whole batches.
        partition_by: The key that the author gives, a name or several.
    """
    key = _key(operator, partition_by)
    if declared is not None:
        model = replace(declared, waits_for_markers=declared.waits_for_markers or "on_punctuation" in hooks)
    elif role == "source":
        model = OperatorModel()
    elif role == "sink":
        why = "a sink's effects cannot be seen; `partitionBy` says that those of different keys are independent"
        model = OperatorModel(side_effects=True, why=(Why(Flag.STATE, why),))
    else:
        model = _inferred(function, role, operator, owner, hooks, batch)
    return _with_key(model, key, operator, () if declared is not None else hooks) if key else model


def _inferred(
    function: Any, role: str, operator: Operator, owner: type | None, hooks: tuple[str, ...], batch: bool
) -> OperatorModel:
    if len(operator.inputs) != 1:
        why = "an operator with several inputs declares its model"
        return OperatorModel(waits_for_markers="on_punctuation" in hooks, why=(Why(Flag.STATE, why),))
    schemas = tuple(port.schema for port in operator.outputs)
    inputs = operator.inputs[0].schema
    if batch and role != "sink":
        # Which is checked on the first rows of a run.
        why = "`batch` declares that what it gives for a row does not depend on others"
        selectivity = infer_model(function, Role(role), inputs=inputs, outputs=schemas).selectivity
        return OperatorModel(state=State.STATELESS, selectivity=selectivity, why=(Why(Flag.STATE, why),))
    if batch:
        return OperatorModel(why=(Why(Flag.STATE, "it takes whole batches, in which other tuples show"),))
    given = _given(owner if owner is not None else function, operator)
    model = infer_model(function, Role(role), inputs=inputs, outputs=schemas, owner=owner, given=given)
    return _with_hint(_with_hooks(model, hooks))


def _with_hint(model: OperatorModel) -> OperatorModel:
    """The model with what to do about an unknown state behind the first reasons for it."""
    if model.state is not State.UNKNOWN:
        return model
    reasons = [why for why in model.why if why.flag is Flag.STATE]
    others = [why for why in model.why if why.flag is not Flag.STATE]
    return replace(model, why=(*reasons[:MOST_REASONS], Why(Flag.STATE, HINT), *others))


def _given(called: Any, operator: Operator) -> dict[str, Type | None]:
    """The types of the parameters that the engine passes; of the environment nothing is known."""
    given: dict[str, Type | None] = {}
    for name, parameter in inspect.signature(called).parameters.items():
        values = operator.param(name)
        if name == "environment":
            given[name] = None
        elif values:
            is_list = str(parameter.annotation).startswith("list[") or len(values) > 1
            given[name] = ListType(values[0].type) if is_list else values[0].type
    return given


def _key(operator: Operator, partition_by: str | Sequence[str]) -> frozenset[str]:
    """The key that the invocation gives, or else the author; every port must have its attributes."""
    given = [v.name for v in operator.param("partitionBy") if isinstance(v, Attribute)]
    names = given or ([partition_by] if isinstance(partition_by, str) else list(partition_by or ()))
    ports = operator.inputs or operator.outputs
    for name in names:
        missing = next((port.schema for port in ports if name not in port.schema.position), None)
        if missing is not None:
            message = f"`{operator.id}` cannot be partitioned by `{name}`: an input has {{{', '.join(missing.names)}}}"
            raise UserError(Diagnostic(message=message, span=operator.span, hint=did_you_mean(name, missing.names)))
    return frozenset(names)


def _with_key(model: OperatorModel, key: frozenset[str], operator: Operator, hooks: tuple[str, ...]) -> OperatorModel:
    """The model under a key that is given.

    Raises:
        UserError: The key contradicts what is known of the state.
    """
    once = [name for name in hooks if name in ONCE_FOR_ALL]
    if once:
        raise _refusal(operator, key, f"it acts in `{once[0]}`, once for all keys", "write a KeyedOperator")
    for own in model.partition_by if model.state is State.PARTITIONED else ():
        if not key <= own:
            text = f"its state is kept by {_listing(own)}"
            raise _refusal(
                operator, key, text, f"partition it by {_listing(own)}, or keep its state by {_listing(key)}"
            )
    why = tuple(reason for reason in model.why if reason.flag is not Flag.STATE)
    return replace(model, state=State.PARTITIONED, partition_by=(key,) * max(1, len(operator.inputs)), why=why)


def _refusal(operator: Operator, key: frozenset[str], why: str, hint: str) -> UserError:
    message = f"`{operator.id}` cannot be partitioned by {_listing(key)}: {why}"
    return UserError(Diagnostic(message=message, span=operator.span, hint=hint))


def _listing(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _with_hooks(model: OperatorModel, hooks: tuple[str, ...]) -> OperatorModel:
    """An operator that acts on punctuation or at the end does so for all tuples at once: its state is unknown."""
    if not hooks:
        return model
    why = tuple(Why(Flag.STATE, f"it acts in `{name}`, outside of the processing of a tuple") for name in hooks)
    waits = "on_punctuation" in hooks
    return replace(model, state=State.UNKNOWN, partition_by=(), waits_for_markers=waits, why=(*model.why, *why))
