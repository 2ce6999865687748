"""The parameters of a Python operator: the keyword parameters of its function or constructor."""

from __future__ import annotations

import inspect
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.ir.types import BOOLEAN, FLOAT64, INT64, RSTRING, ListType, Type
from penstock.toolkit.core.definition import ParamKind, ParamSpec

PARTITION_BY = ParamSpec(
    name="partitionBy",
    kind=ParamKind.ATTRIBUTES,
    many=True,
    doc="The attributes by which the operator's state is partitioned.",
)


def parameters_of(value: Any, *, skip: int = 0) -> tuple[ParamSpec, ...]:
    """The keyword parameters of a function or constructor; `partitionBy` is known to every Python operator."""
    signature = inspect.signature(value, eval_str=False)
    named = list(signature.parameters.values())[skip:]
    given = [p for p in named if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return (*(_param(p, value) for p in given if p.name not in ("partitionBy", "environment")), PARTITION_BY)


def _param(parameter: inspect.Parameter, value: Any) -> ParamSpec:
    type_ = _annotated_type(parameter, value)
    many = isinstance(type_, ListType)
    element = type_.element if isinstance(type_, ListType) else type_
    return ParamSpec(
        name=parameter.name,
        kind=ParamKind.CONSTANT,
        types=() if element is None else (element,),
        required=parameter.default is parameter.empty,
        many=many,
    )


_ANNOTATIONS: dict[str, Type] = {
    "int": INT64,
    "float": FLOAT64,
    "str": RSTRING,
    "bool": BOOLEAN,
    "list[int]": ListType(INT64),
    "list[float]": ListType(FLOAT64),
    "list[str]": ListType(RSTRING),
}


def _annotated_type(parameter: inspect.Parameter, value: Any) -> Type | None:
    if parameter.annotation is parameter.empty:
        return None
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    if not isinstance(annotation, str) and getattr(annotation, "__args__", None):
        text = str(annotation)
    if text not in _ANNOTATIONS:
        owner = getattr(value, "__name__", type(value).__name__)
        raise UserError(
            f"parameter `{parameter.name}` of `{owner}` is annotated `{text}`",
            hint=f"an operator's parameters are {', '.join(_ANNOTATIONS)}, or not annotated",
        )
    return _ANNOTATIONS[text]
