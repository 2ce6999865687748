"""Expressions over the attributes of a stream, written in Python.

`col.price` names an attribute of the input; operators and functions build larger expressions. Nothing is typed until
the expression is given to a stream, which knows its schema; the tree is then the same as the one SPL makes.

    col.price * col.volume > 1000          comparison, arithmetic
    (col.sym == "IBM") & ~col.closed       `&`, `|`, `~` as in PySpark and Polars
    fn.lower(fn.trim(col.sym))             any standard function of SPL, by its name
    agg.sum(col.volume), agg.last(col.ts)  in `aggregate` only
    lhs.price, rhs.price                   the two sides of a join
    col.note.or_else("none")               optional values; also `.unwrap()` and `.is_null()`

Example:
    >>> from penstock.ir.types import parse_schema
    >>> scope = Scope(schemas=(parse_schema("float64 price, int32 volume"),))
    >>> str((col.price * col.volume).build(scope).type)
    'float64'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, overload

from penstock.api.rows import conform_value
from penstock.diagnostics import Diagnostic, Span, UserError, did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Attribute, Expression, InputTuple
from penstock.ir.types import TIMESTAMP, Schema, Type, parse_type
from penstock.toolkit.definition import OperatorDefinition
from penstock.toolkit.output_calls import output_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What names mean where an expression is used.

    Attributes:
        schemas: Of the input ports.
        definition: Of the operator, for its output functions.
        span: Where the user's code stands.
    """

    schemas: tuple[Schema, ...]
    definition: OperatorDefinition | None = None
    span: Span | None = None


Build = Callable[[Scope], Expression]


class Column:
    """An expression that is not bound to a stream yet."""

    __hash__ = None  # type: ignore[assignment] # == builds an expression, so a column is no key
    __slots__ = ("_build",)

    def __init__(self, build: Build) -> None:
        self._build = build

    def build(self, scope: Scope) -> Expression:
        """The typed expression in a scope."""
        return self._build(scope)

    def __bool__(self) -> bool:
        raise TypeError("a column has no truth value; combine conditions with `&`, `|` and `~`, not `and`, `or`, `not`")

    def __add__(self, other: Any) -> Column:
        return _binary("+", self, other)

    def __radd__(self, other: Any) -> Column:
        return _binary("+", other, self)

    def __sub__(self, other: Any) -> Column:
        return _binary("-", self, other)

    def __rsub__(self, other: Any) -> Column:
        return _binary("-", other, self)

    def __mul__(self, other: Any) -> Column:
        return _binary("*", self, other)

    def __rmul__(self, other: Any) -> Column:
        return _binary("*", other, self)

    def __truediv__(self, other: Any) -> Column:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Any) -> Column:
        return _binary("/", other, self)

    def __mod__(self, other: Any) -> Column:
        return _binary("%", self, other)

    def __rmod__(self, other: Any) -> Column:
        return _binary("%", other, self)

    def __eq__(self, other: Any) -> Column:  # type: ignore[override] # builds an expression
        return _binary("==", self, other)

    def __ne__(self, other: Any) -> Column:  # type: ignore[override] # builds an expression
        return _binary("!=", self, other)

    def __lt__(self, other: Any) -> Column:
        return _binary("<", self, other)

    def __le__(self, other: Any) -> Column:
        return _binary("<=", self, other)

    def __gt__(self, other: Any) -> Column:
        return _binary(">", self, other)

    def __ge__(self, other: Any) -> Column:
        return _binary(">=", self, other)

    def __lshift__(self, other: Any) -> Column:
        return _binary("<<", self, other)

    def __rshift__(self, other: Any) -> Column:
        return _binary(">>", self, other)

    def __xor__(self, other: Any) -> Column:
        return _binary("^", self, other)

    def __and__(self, other: Any) -> Column:
        return _logical("&", self, other)

    def __rand__(self, other: Any) -> Column:
        return _logical("&", other, self)

    def __or__(self, other: Any) -> Column:
        return _logical("|", self, other)

    def __ror__(self, other: Any) -> Column:
        return _logical("|", other, self)

    def __invert__(self) -> Column:
        def build(scope: Scope) -> Expression:
            operand = self.build(scope)
            return typing.unary("!" if str(operand.type) == "boolean" else "~", operand, scope.span)

        return Column(build)

    def __neg__(self) -> Column:
        return Column(lambda scope: typing.unary("-", self.build(scope), scope.span))

    def __getitem__(self, key: Any) -> Column:
        if isinstance(key, slice):
            return self._slice(key)
        at = lift(key)
        return Column(lambda scope: typing.index(self.build(scope), at.build(scope), scope.span))

    def _slice(self, key: slice) -> Column:
        bounds = [None if bound is None else lift(bound) for bound in (key.start, key.stop)]

        def build(scope: Scope) -> Expression:
            lower, upper = (None if bound is None else bound.build(scope) for bound in bounds)
            return typing.slice_(self.build(scope), lower, upper, scope.span)

        return Column(build)

    def field(self, name: str) -> Column:
        """An attribute of a nested tuple."""
        return Column(lambda scope: typing.field(self.build(scope), name, scope.span))

    def cast(self, type_: str | Type) -> Column:
        """The value converted to a type, such as `"int64"`."""
        target = parse_type(type_) if isinstance(type_, str) else type_
        return Column(lambda scope: typing.cast(self.build(scope), target, scope.span))

    def is_in(self, values: Any) -> Column:
        """Whether the value is in a collection."""
        return _binary("in", self, values)

    def or_else(self, default: Any) -> Column:
        """The value of an optional, or the default where it is null."""
        return _binary("?:", self, default)

    def unwrap(self) -> Column:
        """The value of an optional; null is an error."""
        return Column(lambda scope: typing.unary("unwrap", self.build(scope), scope.span))

    def is_null(self) -> Column:
        """Whether an optional holds no value."""
        return _binary("==", self, None)


def lift(value: Any) -> Column:
    """A column of a Python value: a column stays as it is, anything else becomes a literal.

    Example:
        >>> str(lift([1.0, 2.0]).build(Scope(schemas=())).type)
        'list<float64>'
    """
    match value:
        case Column():
            return value
        case None | bool() | int() | float() | str() | bytes() | Decimal():
            return Column(lambda scope: typing.literal(value, span=scope.span))
        case datetime():
            return Column(lambda scope: typing.literal(conform_value(TIMESTAMP)(value), TIMESTAMP, scope.span))
        case list() | tuple():
            return _collection(typing.list_literal, value)
        case set() | frozenset():
            return _collection(typing.set_literal, sorted(value))
        case dict():
            keys, values = [lift(k) for k in value], [lift(v) for v in value.values()]
            return Column(
                lambda s: typing.map_literal([k.build(s) for k in keys], [v.build(s) for v in values], s.span)
            )
    raise UserError(f"{value!r} cannot stand in an expression", hint="use a column, a number, text, or a collection")


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


def _binary(operator: str, left: Any, right: Any) -> Column:
    a, b = lift(left), lift(right)
    return Column(lambda scope: typing.binary(operator, a.build(scope), b.build(scope), scope.span))


def _logical(operator: str, left: Any, right: Any) -> Column:
    """`&` and `|` are logical on booleans and bitwise on integers."""
    a, b = lift(left), lift(right)

    def build(scope: Scope) -> Expression:
        x, y = a.build(scope), b.build(scope)
        chosen = operator * 2 if str(x.type) == "boolean" else operator
        return typing.binary(chosen, x, y, scope.span)

    return Column(build)


def _collection(make: Callable[..., Expression], values: Any) -> Column:
    columns = [lift(v) for v in values]
    return Column(lambda scope: make([c.build(scope) for c in columns], scope.span))
