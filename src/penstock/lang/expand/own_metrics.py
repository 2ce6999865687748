"""Custom metrics belong to the operator that makes them.

Where several operators make metrics, two of them may use one name: a composite that counts what passes is invoked
twice, say. There the names in the code of each operator get the operator's id in front, so that `seen` of the operator
`A.Count` is `A.Count.seen`. A program in which one operator alone makes metrics stays as it is. Functions belong to no
operator: the metrics that they make are common to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.expr import typing
from penstock.expr.analysis import calls_of
from penstock.ir.expressions import Call, Expression, Literal
from penstock.ir.graph import Operator
from penstock.lang.expand.change_calls import change_calls
from penstock.toolkit.analysis.effects import operator_parts

_CREATE = "createCustomMetric"
_OF_ONE = frozenset(
    {_CREATE, "hasCustomMetric", "setCustomMetricValue", "incrementCustomMetricValue", "getCustomMetricValue"}
)
_NAMES = "getCustomMetricNames"


def separate_metrics(operators: Sequence[Operator]) -> list[Operator]:
    """The operators of an application, with metrics of their own."""
    makers = [o for o in operators if any(call.function == _CREATE for call in calls_of(*operator_parts(o)))]
    return list(operators) if len(makers) < 2 else [_with_own_metrics(o) for o in operators]


def _with_own_metrics(operator: Operator) -> Operator:
    prefix = f"{operator.id}."

    def change(call: Call) -> Expression | None:
        if call.function == _NAMES and not call.arguments:
            return typing.call(_NAMES, [typing.literal(prefix)], call.span)
        if call.function not in _OF_ONE:
            return None
        name, *others = call.arguments
        return replace(call, arguments=(_prefixed(prefix, name), *others))

    return change_calls(operator, change)


def _prefixed(prefix: str, name: Expression) -> Expression:
    if isinstance(name, Literal) and isinstance(name.value, str):
        return Literal(type=name.type, value=prefix + name.value, span=name.span)
    return typing.binary("+", Literal(type=name.type, value=prefix), name)
