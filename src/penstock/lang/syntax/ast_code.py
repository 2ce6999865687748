"""The syntax tree of expressions, statements and types."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.base.diagnostics import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The root of the syntax tree: everything knows where it stands."""

    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Node):
    """A name as it was written: `x`, `a.b`, `ns::x` or `$x`."""

    text: str

    def __str__(self) -> str:
        return self.text


# ---- types


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSyntax(Node):
    """The root of all types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTypeSyntax(TypeSyntax):
    """A primitive type, a defined type, a stream's name or `$parameter`."""

    name: Word
    bound: SyntaxExpression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSyntax(TypeSyntax):
    """`list<T>`, `set<T>`, `map<K, V>` or `optional<T>`."""

    kind: str
    arguments: tuple[TypeSyntax, ...]
    bound: SyntaxExpression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeSyntax(Node):
    """An item of a tuple type: an attribute or, without name, a tuple type whose attributes are taken over."""

    type: TypeSyntax
    name: Word | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleSyntax(TypeSyntax):
    """`tuple<...>`, or the same without the word in a stream type."""

    items: tuple[AttributeSyntax, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumSyntax(TypeSyntax):
    """`enum{...}`."""

    symbols: tuple[Word, ...]


# ---- expressions


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxExpression(Node):
    """The root of all expressions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSyntax(SyntaxExpression):
    """`5`, `5u`, `0xFF`, `5.0w`, `1e3`, `5d`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StringSyntax(SyntaxExpression):
    """A string with its quotes and its suffix."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantSyntax(SyntaxExpression):
    """`true`, `false` or `null`."""

    value: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameSyntax(SyntaxExpression):
    """A name; the dots of `a.b.c` are `FieldSyntax` nodes over the first word."""

    name: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class ParenthesisedName(SyntaxExpression):
    """`(name)`: the name of a value, or of a type before a sign."""

    inner: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSyntax(SyntaxExpression):
    """`base.name`."""

    base: SyntaxExpression
    name: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSyntax(SyntaxExpression):
    """`base[index]`."""

    base: SyntaxExpression
    index: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSyntax(SyntaxExpression):
    """`base[lower:upper]`."""

    base: SyntaxExpression
    lower: SyntaxExpression | None
    upper: SyntaxExpression | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSyntax(SyntaxExpression):
    """`function(arguments)`."""

    function: Word
    arguments: tuple[SyntaxExpression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixSyntax(SyntaxExpression):
    """`-x`, `!x`, `~x`, `+x`; `x!` as `unwrap` and `x??` as `present`."""

    operator: str
    operand: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class BinarySyntax(SyntaxExpression):
    """`left operator right`; `at` is where the operator stands."""

    operator: str
    left: SyntaxExpression
    right: SyntaxExpression
    at: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalSyntax(SyntaxExpression):
    """`test ? then : otherwise`."""

    test: SyntaxExpression
    then: SyntaxExpression
    otherwise: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class CastSyntax(SyntaxExpression):
    """`(type) operand`."""

    type: TypeSyntax
    operand: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSyntax(SyntaxExpression):
    """`[a, b]`."""

    elements: tuple[SyntaxExpression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSyntax(SyntaxExpression):
    """`{a, b}`; without elements it is an empty set, map or tuple, as its place asks."""

    elements: tuple[SyntaxExpression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSyntax(SyntaxExpression):
    """`{k: v}`."""

    entries: tuple[tuple[SyntaxExpression, SyntaxExpression], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleFieldSyntax(Node):
    """`name = value` of a tuple literal."""

    name: Word
    value: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleLiteralSyntax(SyntaxExpression):
    """`{a = 1, b = 2}`."""

    fields: tuple[TupleFieldSyntax, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignSyntax(SyntaxExpression):
    """`target op= value`; `++` and `--` have no value, `postfix` tells `x++` from `++x`."""

    target: SyntaxExpression
    operator: str
    value: SyntaxExpression | None
    postfix: bool = False


# ---- statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Node):
    """The root of all statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStatement(Statement):
    """`{ ... }`."""

    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarator(Node):
    """`name = value` of a declaration."""

    name: Word
    value: SyntaxExpression | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclareStatement(Statement):
    """`mutable type a = 1, b = 2;`."""

    type: TypeSyntax
    declarators: tuple[Declarator, ...]
    mutable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalType(Statement):
    """`type name = type;` in a block."""

    name: Word
    type: TypeSyntax


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionStatement(Statement):
    """A call, an assignment or an increment for its effect."""

    value: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class IfStatement(Statement):
    """`if (test) then else otherwise`."""

    test: SyntaxExpression
    then: Statement
    otherwise: Statement | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhileStatement(Statement):
    """`while (test) body`."""

    test: SyntaxExpression
    body: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class ForStatement(Statement):
    """`for (type name in values) body`."""

    type: TypeSyntax
    name: Word
    values: SyntaxExpression
    body: Statement
    mutable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSyntax(Node):
    """`case value: body`, or without value `default: body`."""

    value: SyntaxExpression | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchStatement(Statement):
    """`switch (subject) { ... }`."""

    subject: SyntaxExpression
    cases: tuple[CaseSyntax, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpStatement(Statement):
    """`break;` or `continue;`."""

    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnStatement(Statement):
    """`return value;`."""

    value: SyntaxExpression | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyStatement(Statement):
    """A lone `;`."""
