"""The model of an instance of a Python operator: declared, or inferred from the source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.api.inference import Role, infer_model
from penstock.ir.expressions import Attribute
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, State


def model_of(
    function: Any,
    role: str,
    declared: OperatorModel | None,
    operator: Operator,
    *,
    owner: type | None = None,
    hooks: tuple[str, ...] = (),
) -> OperatorModel:
    """The model of an instance.

    A declared model is completed by the invocation: where it says partitioned without a key, the key is the
    `partitionBy` parameter. A source or a sink is partitioned by `partitionBy` if that is given. Otherwise a sink stays
    unknown: what it does outside cannot be seen.

    Args:
        function: What is called for each tuple.
        role: How it is called.
        declared: By the author; wins over everything inferred.
        operator: The instance.
        owner: The class, where the function is its method.
        hooks: The methods beside `process` that the class overrides.
    """
    given = frozenset(v.name for v in operator.param("partitionBy") if isinstance(v, Attribute))
    if declared is not None:
        if declared.state is State.PARTITIONED and not declared.partition_by and given:
            declared = replace(declared, partition_by=(given,) * max(1, len(operator.inputs)))
        return replace(declared, waits_for_markers=declared.waits_for_markers or "on_punctuation" in hooks)
    if role == "source":
        return OperatorModel(state=State.PARTITIONED, partition_by=(given,)) if given else OperatorModel()
    if role == "sink":
        if given:
            return OperatorModel(state=State.PARTITIONED, partition_by=(given,), side_effects=True)
        why = "state: a sink's effects cannot be seen; `partitionBy` says that those of different keys are independent"
        return OperatorModel(side_effects=True, why=(why,))
    if len(operator.inputs) != 1:
        why = "state: an operator with several inputs declares its model"
        return OperatorModel(waits_for_markers="on_punctuation" in hooks, why=(why,))
    schemas = tuple(port.schema for port in operator.outputs)
    model = infer_model(function, Role(role), inputs=operator.inputs[0].schema, outputs=schemas, owner=owner)
    return _with_hooks(model, hooks)


def _with_hooks(model: OperatorModel, hooks: tuple[str, ...]) -> OperatorModel:
    """An operator that acts on punctuation or at the end does so for all tuples at once: its state is unknown."""
    if not hooks:
        return model
    why = tuple(f"state: it acts in `{name}`, outside of the processing of a tuple" for name in hooks)
    waits = "on_punctuation" in hooks
    return replace(model, state=State.UNKNOWN, partition_by=(), waits_for_markers=waits, why=(*model.why, *why))
