"""Expressions over the attributes of a stream, written in Python.

Operators and functions build larger expressions from the columns that `column_words` names. Nothing is typed until the
expression is given to a stream, which knows its schema; the tree is then the same as the one SPL makes.

    col.price * col.volume > 1000          comparison, arithmetic
    (col.sym == "IBM") & ~col.closed       `&`, `|`, `~` as in PySpark and Polars
    col.note.or_else("none")               optional values; also `.unwrap()` and `.is_null()`
    (col.price * 2).alias("double")        names the output attribute that it becomes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from os import PathLike, fspath
from typing import Any

from penstock.api.rows import conform_value
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, Span, UserError
from penstock.expr import typing
from penstock.ir.expressions import Expression
from penstock.ir.types import TIMESTAMP, Schema, Type, parse_type
from penstock.toolkit.core.definition import OperatorDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The scope in which an expression is built: the schemas and output functions that its names refer to.

    Attributes:
        schemas: Of the input ports.
        definition: Of the operator, for its output functions.
        span: The place in the user's code.
    """

    schemas: tuple[Schema, ...]
    definition: OperatorDefinition | None = None
    span: Span | None = None


Build = Callable[[Scope], Expression]


class Column:
    """An expression that is not bound to a stream yet.

    Args:
        build: Makes the typed expression in a scope.
        text: The expression as one would write it.
        attribute: The attribute that it is, if it is nothing else.
        alias: The name that it was given.
        is_compound: Whether it is written in parentheses inside a larger expression.

    Example:
        >>> from penstock import col
        >>> col.price * col.volume > 1000
        <Column (col.price * col.volume) > 1000>
    """

    __hash__ = None  # type: ignore[assignment] # == builds an expression, so a column is no key
    __iter__ = None  # indexing builds an expression, so a loop over it would have no end
    __slots__ = ("_alias", "_attribute", "_build", "_is_compound", "_text")

    def __init__(
        self,
        build: Build,
        text: str = "...",
        *,
        attribute: str | None = None,
        alias: str | None = None,
        is_compound: bool = False,
    ) -> None:
        self._build = build
        self._text = text
        self._attribute = attribute
        self._alias = alias
        self._is_compound = is_compound

    def build(self, scope: Scope) -> Expression:
        """The typed expression in a scope.

        Example:
            >>> from penstock import col
            >>> from penstock.ir.types import parse_schema
            >>> str((col.x / 2).build(Scope(schemas=(parse_schema("float64 x"),))).type)
            'float64'
        """
        return self._build(scope)

    def alias(self, name: str) -> Column:
        """The same under a name: that of the output attribute which it becomes.

        Example:
            >>> from penstock import App, col
            >>> numbers = App().beacon("int32 x", iterations=3)
            >>> numbers.select((col.x * 2).alias("name")).schema.names
            ('name',)
        """
        return Column(self._build, f"{self.inner_text()}.alias({name!r})", alias=name)

    @property
    def given_name(self) -> str | None:
        """The name that `alias` gave it.

        Example:
            >>> from penstock import col
            >>> (col.price * 2).alias("double").given_name, col.price.given_name
            ('double', None)
        """
        return self._alias

    @property
    def attribute(self) -> str | None:
        """The attribute that it is, if it is nothing else.

        Example:
            >>> from penstock import col
            >>> col.price.attribute, (col.price * 2).attribute
            ('price', None)
        """
        return self._attribute

    @property
    def text(self) -> str:
        """The expression as one would write it.

        Example:
            >>> from penstock import col, fn
            >>> fn.upper(col.sym[0:3]).text
            'fn.upper(col.sym[0:3])'
        """
        return self._text

    def inner_text(self) -> str:
        """The text inside a larger expression.

        Example:
            >>> from penstock import col
            >>> (col.a + col.b).inner_text()
            '(col.a + col.b)'
        """
        return f"({self._text})" if self._is_compound else self._text

    def __repr__(self) -> str:
        return f"<Column {self._text}>"

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

        return Column(build, f"~{self.inner_text()}")

    def __neg__(self) -> Column:
        return Column(lambda scope: typing.unary("-", self.build(scope), scope.span), f"-{self.inner_text()}")

    def __getitem__(self, key: Any) -> Column:
        if isinstance(key, slice):
            return self._slice(key)
        at = lift(key)
        text = f"{self.inner_text()}[{at.text}]"
        return Column(lambda scope: typing.index(self.build(scope), at.build(scope), scope.span), text)

    def _slice(self, key: slice) -> Column:
        bounds = [None if bound is None else lift(bound) for bound in (key.start, key.stop)]

        def build(scope: Scope) -> Expression:
            lower, upper = (None if bound is None else bound.build(scope) for bound in bounds)
            return typing.slice_(self.build(scope), lower, upper, scope.span)

        written = ":".join("" if bound is None else bound.text for bound in bounds)
        return Column(build, f"{self.inner_text()}[{written}]")

    def field(self, name: str) -> Column:
        """An attribute of a nested tuple.

        Example:
            >>> from penstock import App, col
            >>> app = App()
            >>> points = app.from_rows([((1, 2),)], "tuple<int32 x, int32 y> at")
            >>> points.select(x=col.at.field("x")).collect()
            [Row(x=1)]
        """
        text = f"{self.inner_text()}.field({name!r})"
        return Column(lambda scope: typing.field(self.build(scope), name, scope.span), text)

    def cast(self, type_: str | Type) -> Column:
        """The value converted to a type, such as `"int64"`.

        Example:
            >>> from penstock import App, col
            >>> texts = App().from_rows([("41",), ("42",)], "rstring x")
            >>> texts.select(x=col.x.cast("int32") + 1).collect()
            [Row(x=42), Row(x=43)]
        """
        target = parse_type(type_) if isinstance(type_, str) else type_
        text = f"{self.inner_text()}.cast({str(type_)!r})"
        return Column(lambda scope: typing.cast(self.build(scope), target, scope.span), text)

    def is_in(self, values: Any) -> Column:
        """Whether the value is in a collection.

        Example:
            >>> from penstock import App, col
            >>> symbols = App().from_rows([("IBM",), ("HPQ",), ("T",)], "rstring sym")
            >>> symbols.filter(col.sym.is_in(["IBM", "T"])).collect()
            [Row(sym='IBM'), Row(sym='T')]
        """
        return _binary("in", self, values)

    def or_else(self, default: Any) -> Column:
        """The value of an optional, or the default where it is null.

        Example:
            >>> from penstock import App, col
            >>> numbers = App().from_rows([(1,), (None,)], "optional<int32> x")
            >>> numbers.select(x=col.x.or_else(0)).collect()
            [Row(x=1), Row(x=0)]
        """
        return _binary("?:", self, default, f"{self.inner_text()}.or_else({lift(default).text})")

    def unwrap(self) -> Column:
        """The value of an optional; null is an error.

        Example:
            >>> from penstock import App, col
            >>> numbers = App().from_rows([(1,), (None,)], "optional<int32> x")
            >>> numbers.filter(~col.x.is_null()).select(x=col.x.unwrap() + 1).collect()
            [Row(x=2)]
        """
        text = f"{self.inner_text()}.unwrap()"
        return Column(lambda scope: typing.unary("unwrap", self.build(scope), scope.span), text)

    def is_null(self) -> Column:
        """Whether an optional holds no value.

        Example:
            >>> from penstock import App, col
            >>> numbers = App().from_rows([(1,), (None,)], "optional<int32> x")
            >>> numbers.select(missing=col.x.is_null()).collect()
            [Row(missing=False), Row(missing=True)]
        """
        return _binary("==", self, None, f"{self.inner_text()}.is_null()")


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
            return Column(lambda scope: typing.literal(value, span=scope.span), repr(value))
        case datetime():
            nanoseconds = conform_value(TIMESTAMP)(value)
            return Column(lambda scope: typing.literal(nanoseconds, TIMESTAMP, scope.span), repr(value))
        case PathLike():
            return lift(fspath(value))
        case list() | tuple():
            return _collection(typing.list_literal, value, "[{}]")
        case set() | frozenset():
            return _collection(typing.set_literal, sorted(value), "{{{}}}")
        case dict():
            keys, values = [lift(k) for k in value], [lift(v) for v in value.values()]
            written = ", ".join(f"{k.text}: {v.text}" for k, v in zip(keys, values, strict=True))
            return Column(
                lambda s: typing.map_literal([k.build(s) for k in keys], [v.build(s) for v in values], s.span),
                f"{{{written}}}",
            )
    message, hint = f"{value!r} cannot stand in an expression", "use a column, a number, text, or a collection"
    raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))


def _binary(operator: str, left: Any, right: Any, text: str | None = None) -> Column:
    a, b = lift(left), lift(right)
    written = text or f"{a.inner_text()} {operator} {b.inner_text()}"
    return Column(
        lambda scope: typing.binary(operator, a.build(scope), b.build(scope), scope.span),
        written,
        is_compound=text is None,
    )


def _logical(operator: str, left: Any, right: Any) -> Column:
    """`&` and `|` are logical on booleans and bitwise on integers."""
    a, b = lift(left), lift(right)

    def build(scope: Scope) -> Expression:
        x, y = a.build(scope), b.build(scope)
        chosen = operator * 2 if str(x.type) == "boolean" else operator
        return typing.binary(chosen, x, y, scope.span)

    return Column(build, f"{a.inner_text()} {operator} {b.inner_text()}", is_compound=True)


def _collection(make: Callable[..., Expression], values: Any, brackets: str) -> Column:
    columns = [lift(v) for v in values]
    text = brackets.format(", ".join(c.text for c in columns))
    return Column(lambda scope: make([c.build(scope) for c in columns], scope.span), text)
