"""Custom metrics: named integers that an operator sets and people watch."""

from __future__ import annotations

from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function
from penstock.ir.system_enumerations import INPUT_PORT_METRICS, OUTPUT_PORT_METRICS


@function(
    "<string T> stateful void createCustomMetric(T name, T description, enum{Gauge, Counter, Time} kind)",
    "<string T> stateful void createCustomMetric(T name, T description, enum{Gauge, Counter, Time} kind, int64 value)",
    needs_environment=True,
)
def create(environment: Environment, name: str, description: str, kind: str, value: int = 0) -> None:
    """Make a metric; one of that name must not be there yet."""
    if name in environment.metrics:
        raise EvaluationError(f"there is already a custom metric `{name}`")
    environment.metrics[name] = value


@function("<string T> stateful boolean hasCustomMetric(T name)", needs_environment=True)
def has(environment: Environment, name: str) -> bool:
    """Whether there is a metric of a name."""
    return name in environment.metrics


@function("stateful list<rstring> getCustomMetricNames()", needs_environment=True)
def names(environment: Environment) -> list[str]:
    """The names of all metrics."""
    return list(environment.metrics)


@function("stateful list<rstring> getCustomMetricNames(rstring prefix)", needs_environment=True, internal=True)
def names_behind(environment: Environment, prefix: str) -> list[str]:
    """The names of the metrics that begin with a prefix, without it."""
    return [name.removeprefix(prefix) for name in environment.metrics if name.startswith(prefix)]


@function("<string T> stateful void setCustomMetricValue(T name, int64 value)", needs_environment=True)
def set_value(environment: Environment, name: str, value: int) -> None:
    """Set a metric."""
    environment.metrics[_existing(environment, name)] = value


@function("<string T> stateful void incrementCustomMetricValue(T name, int64 amount)", needs_environment=True)
def increment(environment: Environment, name: str, amount: int) -> None:
    """Add to a metric."""
    environment.metrics[_existing(environment, name)] += amount


@function("<string T> stateful void getCustomMetricValue(T name, mutable int64 value)", needs_environment=True)
def read(environment: Environment, name: str, value: int) -> tuple[None, int]:
    """Read a metric into a variable."""
    return None, environment.metrics[_existing(environment, name)]


@function("<string T> stateful int64 getCustomMetricValue(T name)", needs_environment=True)
def get(environment: Environment, name: str) -> int:
    """The value of a metric."""
    return environment.metrics[_existing(environment, name)]


@function(
    f"stateful void getInputPortMetricValue(uint32 port, enum{{{INPUT_PORT_METRICS}}} name, mutable int64 value)",
    f"stateful void getOutputPortMetricValue(uint32 port, enum{{{OUTPUT_PORT_METRICS}}} name, mutable int64 value)",
)
def port_metric(port: int, name: str, value: int) -> tuple[None, int]:
    """Read a metric of a port of the operator in whose code it is called: how many items it has received or sent."""
    raise EvaluationError("metrics of ports are asked for in the code of an operator, not in a function")


def _existing(environment: Environment, name: str) -> str:
    if name not in environment.metrics:
        raise EvaluationError(f"there is no custom metric `{name}`; make it with createCustomMetric")
    return name
