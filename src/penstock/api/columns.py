"""Expressions over the attributes of a stream, written in Python.

Operators and functions build larger expressions from the columns that `column_words` names. Nothing is typed until the
expression is given to a stream, which knows its schema; the tree is then the same as the one SPL makes.

    col.price * col.volume > 1000          comparison, arithmetic
    (col.sym == "IBM") & ~col.closed       `&`, `|`, `~` as in PySpark and Polars
    col.note.or_else("none")               optional values; also `.unwrap()` and `.is_null()`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from penstock.api.rows import conform_value
from penstock.base.diagnostics import Span, UserError
from penstock.expr import typing
from penstock.ir.expressions import Expression
from penstock.ir.types import TIMESTAMP, Schema, Type, parse_type
from penstock.toolkit.core.definition import OperatorDefinition


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
