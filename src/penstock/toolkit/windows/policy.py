"""Window policies made ready to run: sizes evaluated, measures compiled.

A count is a number of tuples, a time becomes nanoseconds, and a delta has the function that reads the measured value
off a tuple. A delta on a timestamp may be given as a number: it then means seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.base.diagnostics import Diagnostics, Span, UserError
from penstock.expr.environment import Tuple
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute, Expression, InputTuple, Literal, Variable
from penstock.ir.graph import InputPort, Operator, Policy, PolicyKind, Window, WindowKind
from penstock.ir.types import FLOAT64, TIMESTAMP, is_integer, is_numeric
from penstock.toolkit.core.definition import ParamKind, ParamSpec

NANOSECONDS = 1_000_000_000

Measure = Callable[[Tuple], Any]
Compile = Callable[[Expression], Measure]
"""Turns an expression over a port's tuple into a function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyPolicy:
    """A policy with its numbers known.

    Attributes:
        kind: What is counted.
        size: Tuples, nanoseconds, or the greatest difference; 0 for punctuation.
        measure: Reads the value that a delta compares.
    """

    kind: PolicyKind
    size: Any = 0
    measure: Measure | None = None


EVERY_TUPLE = ReadyPolicy(kind=PolicyKind.COUNT, size=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyWindow:
    """A window with its numbers known; the trigger of a tumbling window is its eviction."""

    kind: WindowKind
    eviction: ReadyPolicy
    trigger: ReadyPolicy


def ready_age_ns(window: Window, evaluator: Evaluator) -> int | None:
    """For how long an idle partition is kept; none for ever.

    Raises:
        UserError: The age, known only now, from a submission-time value, is out of range.
    """
    if window.partition_age is None:
        return None
    return _age_ns(evaluator.constant(window.partition_age))


def _age_ns(seconds: Any) -> int:
    problem = _age_problem(seconds)
    if problem is not None:
        raise UserError(problem)
    return round(float(seconds) * NANOSECONDS)


AGE = ParamSpec(
    name="partitionAge",
    kind=ParamKind.CONSTANT,
    types=(FLOAT64,),
    doc="Seconds without a tuple after which what is held of a key is dropped; without it, it is kept for ever.",
)
"""The age of partitions as a parameter, of operators that have no window clause."""


def param_age_ns(operator: Operator, evaluator: Evaluator) -> int | None:
    """For how long an idle partition is kept, by the parameter; none for ever.

    Raises:
        UserError: The age, known only now, from a submission-time value, is out of range.
    """
    return next((_age_ns(evaluator.constant(value)) for value in operator.param(AGE.name)), None)


def check_param_age(operator: Operator, keys: Sequence[Expression], found: Diagnostics) -> None:
    """Report an age that is none, or that is not one of partitions."""
    for value in operator.param(AGE.name):
        where = value.span or operator.span
        if not keys:
            found.error("partitionAge needs a partitioned operator", where, hint="add `param partitionBy: k;`")
        elif isinstance(value, Literal) and (problem := _age_problem(value.value)) is not None:
            found.error(problem, where)


def _age_problem(seconds: Any) -> str | None:
    return None if seconds > 0 else f"the age of a partition must be positive, found partitionAge({seconds})"


def ready_window(window: Window, evaluator: Evaluator, compile_measure: Compile) -> ReadyWindow:
    """Evaluate the sizes of a window and compile its measures.

    Raises:
        UserError: A size known only now, from a submission-time value, is out of range.
    """
    slides = window.kind is WindowKind.SLIDING
    eviction = _ready(window.eviction, evaluator, compile_measure, may_be_empty=slides)
    if not slides:
        return ReadyWindow(kind=window.kind, eviction=eviction, trigger=eviction)
    trigger = EVERY_TUPLE if window.trigger is None else _ready(window.trigger, evaluator, compile_measure)
    return ReadyWindow(kind=window.kind, eviction=eviction, trigger=trigger)


def _ready(
    policy: Policy, evaluator: Evaluator, compile_measure: Compile, *, may_be_empty: bool = False
) -> ReadyPolicy:
    if policy.size is None:
        return ReadyPolicy(kind=policy.kind)
    size: Any = evaluator.constant(policy.size)
    problem = size_problem(policy.kind, size, may_be_empty=may_be_empty)
    if problem is not None:
        raise UserError(problem)
    if policy.kind is PolicyKind.TIME:
        return ReadyPolicy(kind=policy.kind, size=round(float(size) * NANOSECONDS))
    if policy.attribute is None:
        return ReadyPolicy(kind=policy.kind, size=int(size))
    if policy.attribute.type == TIMESTAMP and policy.size.type != TIMESTAMP:
        size = round(float(size) * NANOSECONDS)
    return ReadyPolicy(kind=policy.kind, size=size, measure=compile_measure(policy.attribute))


def fires_on_every_tuple(window: Window) -> bool:
    """Whether a sliding window has no trigger, or one that says the same: `count(1)`."""
    trigger = window.trigger
    return trigger is None or (
        trigger.kind is PolicyKind.COUNT and isinstance(trigger.size, Literal) and trigger.size.value == 1
    )


def size_problem(kind: PolicyKind, size: Any, *, may_be_empty: bool) -> str | None:
    """The problem with the size of a policy, if any; only a sliding window may hold no tuples at all.

    Example:
        >>> size_problem(PolicyKind.TIME, -1, may_be_empty=False)
        'the size of a window must be positive, found time(-1)'
    """
    may_be_zero = kind is PolicyKind.DELTA or (kind is PolicyKind.COUNT and may_be_empty)
    if size > 0 or (size == 0 and may_be_zero):
        return None
    return f"the size of a window must be positive, found {kind.value}({size})"


def check_window(operator: Operator, port: InputPort, found: Diagnostics) -> None:
    """Report what is wrong with the window of a port, whatever the operator."""
    window = port.window
    if window is None:
        return
    slides = window.kind is WindowKind.SLIDING
    for policy in (window.eviction, *((window.trigger,) if window.trigger else ())):
        _check_policy(policy, slides and policy is window.eviction, operator.span, found)
        if slides and policy.kind is PolicyKind.PUNCTUATION:
            found.error("a sliding window cannot use punctuation", operator.span, hint="use a tumbling window")
    if not slides and window.trigger is not None:
        found.error("a tumbling window has no trigger", operator.span, hint="use a sliding window")
    if window.partition_age is not None:
        _check_age(operator, window, window.partition_age, found)


def _check_age(operator: Operator, window: Window, age: Expression, found: Diagnostics) -> None:
    where = age.span or operator.span
    if operator.kind == "Join" and window.eviction.kind is PolicyKind.TIME:
        message = "the window of a Join that evicts by time has no partitions that could be idle"
        found.error(message, where, hint="remove partitionAge: what is older than the window leaves by itself")
    elif not window.partitioned:
        found.error("partitionAge needs a partitioned window", where, hint="write `partitioned` in the window clause")
    if any(isinstance(part, Attribute | InputTuple | Variable) for part in age.walk()):
        found.error("the age of a partition is fixed, but it depends on a tuple or a variable", where)
    elif isinstance(age, Literal) and (problem := _age_problem(age.value)) is not None:
        found.error(problem, where)


def _check_policy(policy: Policy, may_be_empty: bool, span: Span | None, found: Diagnostics) -> None:
    name, size = policy.kind.value, policy.size
    if policy.kind is PolicyKind.PUNCTUATION:
        return
    if size is None:
        found.error(f"the window policy {name} needs a size", span)
        return
    where = size.span or span
    if any(isinstance(part, Attribute | InputTuple | Variable) for part in size.walk()):
        found.error(f"the size of a window is fixed, but {name} depends on a tuple or a variable", where)
    problem = None
    if isinstance(size, Literal) and isinstance(size.value, int | float):
        problem = size_problem(policy.kind, size.value, may_be_empty=may_be_empty)
    if problem is not None:
        found.error(problem, where)
    if policy.kind is PolicyKind.COUNT and not is_integer(size.type):
        found.error(f"a window policy count takes an integer, found {size.type}", where)
    if policy.kind is PolicyKind.TIME and not is_numeric(size.type):
        found.error(f"a window policy time takes a number of seconds, found {size.type}", where)
    if policy.kind is PolicyKind.DELTA:
        _check_delta(policy, size, where, found)


def _check_delta(policy: Policy, size: Expression, span: Span | None, found: Diagnostics) -> None:
    if policy.attribute is None:
        found.error("a window policy delta needs an attribute", span)
        return
    measured = policy.attribute.type
    fits = measured == size.type or (is_numeric(size.type) and (is_numeric(measured) or measured == TIMESTAMP))
    if not fits or not (is_numeric(measured) or measured == TIMESTAMP):
        message = f"a window policy delta compares numbers or timestamps, found {measured} and {size.type}"
        found.error(message, policy.attribute.span or span)
