"""The words that expressions over columns begin with: `col`, `lhs`, `rhs`, `fn`, `agg`, `when`, `record`.

    col.price, col["price"]                an attribute of the input
    lhs.price, rhs.price                   the two sides of a join
    fn.lower(fn.trim(col.sym))             any standard function of SPL, by its name
    agg.sum(col.volume), agg.last(col.ts)  in `aggregate` only

Example:
    >>> from penstock.api.columns import Scope
    >>> from penstock.ir.types import parse_schema
    >>> scope = Scope(schemas=(parse_schema("float64 price, int32 volume"),))
    >>> str((col.price * col.volume).build(scope).type)
    'float64'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

from penstock.api.columns import Column, Scope, lift
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Attribute, Expression, InputTuple
from penstock.toolkit.core.output_calls import output_call


@dataclass(frozen=True, slots=True)
class When:
    """A test that waits for its two values."""

    test: Column

    def then(self, value: Any) -> Then:
        """What to give where the test holds; `otherwise` must follow."""
        return Then(self.test, lift(value))


@dataclass(frozen=True, slots=True)
class Then:
    """A test and its first value, waiting for the second."""

    test: Column
    value: Column

    def otherwise(self, value: Any) -> Column:
        """What to give where the test does not hold."""
        test, a, b = self.test, self.value, lift(value)
        return Column(lambda s: typing.conditional(test.build(s), a.build(s), b.build(s), s.span))


_LATER = object()
"""Stands for values that `then` and `otherwise` will give; None is a value itself."""


@overload
def when(test: Column) -> When: ...
@overload
def when(test: Column, then: Any, otherwise: Any) -> Column: ...
def when(test: Column, then: Any = _LATER, otherwise: Any = _LATER) -> When | Column:
    """`then` where the test holds, else `otherwise`; only that side is evaluated.

    Example:
        >>> when(col.volume > 0, col.price / col.volume, 0.0)
        <penstock.api.columns.Column object at ...>
        >>> when(col.volume > 0).then(col.price / col.volume).otherwise(0.0)
        <penstock.api.columns.Column object at ...>
    """
    waiting = When(test)
    if then is _LATER:
        return waiting
    return waiting.then(then).otherwise(otherwise)


def record(**values: Any) -> Column:
    """A nested tuple of named values."""
    columns = {name: lift(value) for name, value in values.items()}
    return Column(lambda s: typing.tuple_literal(list(columns), [c.build(s) for c in columns.values()], s.span))


class Columns:
    """Names the attributes of an input port: `col.price`, or `col["price"]` for names that Python forbids."""

    def __init__(self, port: int | None = None) -> None:
        self._port = port

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Column:
        return Column(lambda scope: _attribute(scope, name, self._port))

    def __call__(self) -> Column:
        """The whole tuple as a value."""
        port = self._port or 0
        return Column(lambda scope: InputTuple(type=scope.schemas[port], port=port, span=scope.span))


col = Columns()
lhs = Columns(0)
rhs = Columns(1)


class Functions:
    """The standard functions by name: `fn.lower(col.sym)`."""

    def __getattr__(self, name: str) -> Callable[..., Column]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Column:
            columns = [lift(a) for a in arguments]
            return Column(lambda scope: typing.call(name, [c.build(scope) for c in columns], scope.span))

        return call


fn = Functions()

_AGGREGATES = {
    "avg": "Average",
    "mean": "Average",
    "stddev": "SampleStdDev",
    "stddev_pop": "PopulationStdDev",
    "count_distinct": "CountDistinct",
    "min_by": "MinBy",
    "max_by": "MaxBy",
    "collect_list": "Collect",
    "collect_set": "CollectDistinct",
}


class Aggregates:
    """The output functions of the operator at hand: `agg.sum(col.volume)`, or `agg.Sum` as SPL spells it."""

    def __getattr__(self, name: str) -> Callable[..., Column]:
        if name.startswith("__"):
            raise AttributeError(name)
        spelled = _AGGREGATES.get(name) or "".join(part[:1].upper() + part[1:] for part in name.split("_"))

        def call(*arguments: Any) -> Column:
            columns = [lift(a) for a in arguments]
            return Column(lambda scope: _output_call(scope, spelled, [c.build(scope) for c in columns]))

        return call


agg = Aggregates()


def submission_value(name: str, default: Any = None, *, type: str = "rstring") -> Column:
    """A value that `--set NAME=VALUE` gives when the application is submitted."""
    arguments = [name] if default is None else [name, str(default)]
    text = fn.getSubmissionTimeValue(*arguments)
    return text if type == "rstring" else text.cast(type)


def _output_call(scope: Scope, name: str, arguments: list[Expression]) -> Expression:
    if scope.definition is None or not scope.definition.output_functions:
        what = "this operator" if scope.definition is None else f"`{scope.definition.name}`"
        raise UserError(Diagnostic(message=f"{what} has no output functions", span=scope.span))
    return output_call(scope.definition, name, arguments, scope.span)


def _attribute(scope: Scope, name: str, port: int | None) -> Expression:
    ports = range(len(scope.schemas)) if port is None else [port]
    having = [p for p in ports if name in scope.schemas[p].position]
    if len(having) == 1:
        type_ = scope.schemas[having[0]].attribute(name).type
        return Attribute(type=type_, name=name, port=having[0], span=scope.span)
    if having:
        hint = f"write `lhs.{name}` or `rhs.{name}`"
        raise UserError(Diagnostic(message=f"both inputs have an attribute `{name}`", span=scope.span, hint=hint))
    known = [n for p in ports for n in scope.schemas[p].names]
    message = f"there is no attribute `{name}`; the input has {{{', '.join(known)}}}"
    raise UserError(Diagnostic(message=message, span=scope.span, hint=did_you_mean(name, known)))
