"""The expression tree: one tree for SPL and for Python, fully typed and fully explicit.

A front end builds it through `penstock.expr.typing`, which resolves names, checks operand types and inserts every
implicit conversion as a `Cast`. So whoever walks the tree never guesses: each node knows its type, both sides of a
binary operator are of equal type (shifts, `in` and `?:` apart), and no name is left unresolved.

Nodes are values: two trees are equal when they mean the same; where they stood in a file (`span`) does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from decimal import Decimal

from penstock.base.diagnostics import Span
from penstock.ir.types import Type

ARITHMETIC = ("+", "-", "*", "/", "%")
BITWISE = ("&", "|", "^", "<<", ">>")
COMPARISON = ("==", "!=", "<", "<=", ">", ">=")
LOGICAL = ("&&", "||")

Scalar = bool | int | float | Decimal | str | bytes | None
"""A literal's value: bool, int (also a timestamp, in ns), float, Decimal, str (also an enum symbol), bytes, null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """The root of all nodes.

    Attributes:
        type: Of the value.
        span: Where it was written.
    """

    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)

    def children(self) -> Iterator[Expression]:
        """The operands, in order of evaluation."""
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Expression):
                yield value
            elif isinstance(value, tuple):
                yield from (v for v in value if isinstance(v, Expression))

    def walk(self) -> Iterator[Expression]:
        """This node and all nodes below it, depth first."""
        yield self
        for child in self.children():
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal(Expression):
    """A constant scalar, enum symbol or null."""

    value: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol(Expression):
    """A literal that belongs to an operator, such as `csv` or `inner`; its type is void."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Expression):
    """An attribute of the current tuple of an input port.

    In an operator with windows on several ports (Join, Pair), `port` tells the sides apart. In an output clause of
    Aggregate it stands below an `OutputCall` and means the attribute of each tuple of the window.
    """

    name: str
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InputTuple(Expression):
    """The whole current tuple of an input port: the stream's name used as a value."""

    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable(Expression):
    """A variable of a logic clause or a function: state, local, loop variable or parameter."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Expression):
    """An attribute of a tuple value: `base.name`."""

    base: Expression
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Expression):
    """An element: `base[index]`, of a list, map, string or blob. Out of range is a runtime error."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(Expression):
    """A part: `base[lower:upper]`, upper excluded; a missing bound is null."""

    base: Expression
    lower: Expression | None
    upper: Expression | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Expression):
    """`-x`, `!x`, `~x`; `unwrap` is SPL's postfix `x!`, the value of an optional or a runtime error."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Expression):
    """An operator of `ARITHMETIC`, `BITWISE`, `COMPARISON`, `LOGICAL`, `in`, or `?:` (the value or a default).

    `+` also concatenates strings, lists and blobs and joins sets and maps; a prefix `.` (as in `.+`) means element
    by element over lists.
    """

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditional(Expression):
    """`test ? then : otherwise`; only the branch taken is evaluated."""

    test: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(Expression):
    """`(type) operand`, written or implied."""

    operand: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Expression):
    """A call of a standard function (`substring`) or of a function of the application (`my.ns::f`)."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCall(Expression):
    """A call of an output function of the operator, such as `Sum(price)` in Aggregate or `TupleNumber()` in Beacon."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLiteral(Expression):
    """`[a, b]`."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLiteral(Expression):
    """`{a, b}`."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLiteral(Expression):
    """`{k: v}`; `keys` and `values` are of equal length."""

    keys: tuple[Expression, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleLiteral(Expression):
    """`{name = value}`; one value for each attribute of the tuple type, in its order."""

    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Expression):
    """A change of a variable used as a value: `n++`, `++n`, `n += 2`, `n = 3`.

    `target` and `operator` are as in the statement `Assign`; the value is what the variable holds after the change, or
    before it if `postfix`.
    """

    target: Expression
    value: Expression
    operator: str = ""
    postfix: bool = False
