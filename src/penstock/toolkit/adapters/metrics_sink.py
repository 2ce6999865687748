"""MetricsSink: sets custom metrics from the values of tuples.

Each expression of `metrics` sets one metric, named by `names`, or after the operator and the expression's place.
Metrics start at `initialValues`, or 0, and hold the value of the last tuple.
"""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import INT64, RSTRING
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.runtime import Context, Submit


class MetricsSinkRuntime(LogicRuntime):
    """Writes to the environment's metrics."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        values = operator.param("metrics")
        given = self.constants("names")
        self._names = given or [v.name if isinstance(v, Attribute) else f"metric{i}" for i, v in enumerate(values)]
        initial = self.constants("initialValues") or [0] * len(values)
        self._metrics = context.environment.metrics
        self._metrics.update(zip(self._names, initial, strict=True))

    def taker(self, port: int) -> Submit:
        """A function that sets the metrics."""
        names, metrics, make = self._names, self._metrics, self.row(self.operator.param("metrics"))

        def update(tuple_: Tuple) -> None:
            metrics.update(zip(names, make(tuple_), strict=True))  # type: ignore[arg-type]

        return update

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Add the values of the metrics."""
        super().snapshot_into(whole, parts)
        whole["metrics"] = {name: self._metrics[name] for name in self._names}

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Set the metrics again."""
        super().restore_from(whole, parts)
        self._metrics.update(whole["metrics"])


def _check(operator: Operator, found: Diagnostics) -> None:
    count = len(operator.param("metrics"))
    for param in ("names", "descriptions", "initialValues"):
        values = operator.param(param)
        if values and len(values) != count:
            message = f"`{param}` of a MetricsSink has a value for each of its {count} metrics, found {len(values)}"
            found.error(message, values[0].span or operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="MetricsSink",
    doc="Sets custom metrics to values computed from each tuple.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        ParamSpec(name="metrics", types=(INT64,), required=True, many=True, doc="What each metric is set to."),
        ParamSpec(
            name="names",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            many=True,
            doc="Of the metrics; without it the attribute's name, or `metric` and a number.",
        ),
        ParamSpec(
            name="descriptions", kind=ParamKind.CONSTANT, types=(RSTRING,), many=True, doc="Of the metrics, for people."
        ),
        ParamSpec(
            name="initialValues",
            kind=ParamKind.CONSTANT,
            types=(INT64,),
            many=True,
            doc="Of the metrics; 0 without it.",
        ),
    ),
    model=_model,
    check=_check,
    runtime=MetricsSinkRuntime,
)
