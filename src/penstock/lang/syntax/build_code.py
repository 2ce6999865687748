# ruff: noqa: D102 (a method is documented by the grammar rule that it is named after)
"""Makes the syntax tree of expressions, statements and types from lark's parse tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lark import Token, Tree

from penstock.base.diagnostics import SourceFile, Span
from penstock.lang.syntax import ast_code as code

PRECEDENCE: dict[str, int] = {
    operator: level
    for level, operators in enumerate(
        (
            ("?:",),
            ("||",),
            ("&&",),
            ("in",),
            ("|",),
            ("^",),
            ("&",),
            ("==", "!=", "<", "<=", ">", ">="),
            ("<<", ">>"),
            ("+", "-"),
            ("*", "/", "%"),
        )
    )
    for operator in operators
}
"""From binary operator to its level; a higher level binds tighter. Element-wise operators bind as their plain ones."""


class CodeBuilder:
    """The rules of expressions, statements and types."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source

    def build(self, tree: Tree[Token]) -> Any:
        """Build the children, then call the method of the rule with its span and them."""
        children = [self.build(child) if isinstance(child, Tree) else child for child in tree.children]
        meta = tree.meta
        start, end = (0, 0) if meta.empty else (meta.start_pos, meta.end_pos)
        return getattr(self, tree.data)(Span(source=self.source, start=start, end=end), *children)

    def span_of(self, token: Token) -> Span:
        """Where a token stands."""
        return Span(source=self.source, start=token.start_pos or 0, end=token.end_pos or 0)

    def word(self, token: Token) -> code.Word:
        """A token as a name; the spaces that a qualified name may hold are dropped."""
        return code.Word(span=self.span_of(token), text="".join(str(token).split()))

    def word_of(self, name: code.SyntaxExpression | Token) -> code.Word:
        """A name with its dots as one word."""
        match name:
            case Token():
                return self.word(name)
            case code.FieldSyntax(base=base, name=field):
                return code.Word(span=name.span, text=f"{self.word_of(base).text}.{field.text}")
            case code.NameSyntax(name=word):
                return word
        raise AssertionError(f"{name} is no name")

    # ---- types

    def stream_type(self, span: Span, body: code.TypeSyntax) -> code.TypeSyntax:
        return body

    def tuple_body(self, span: Span, *items: code.AttributeSyntax) -> code.TypeSyntax:
        if len(items) == 1 and items[0].name is None:
            return items[0].type
        return code.TupleSyntax(span=span, items=items)

    def body_item(self, span: Span, type_: code.TypeSyntax, name: Token | None) -> code.AttributeSyntax:
        return code.AttributeSyntax(span=span, type=type_, name=None if name is None else self.word(name))

    def named_type(self, span: Span, name: Any) -> code.NamedTypeSyntax:
        return code.NamedTypeSyntax(span=span, name=self.word_of(name))

    def xml_type(self, span: Span, name: Token) -> code.NamedTypeSyntax:
        """`xml<"schema.xsd">`: documents are not checked against their schema."""
        return code.NamedTypeSyntax(span=span, name=code.Word(span=span, text="xml"))

    def primitive_type(self, span: Span, name: Token, bound: Any) -> code.NamedTypeSyntax:
        return code.NamedTypeSyntax(span=span, name=self.word(name), bound=bound)

    def collection_type(self, span: Span, kind: Token, *arguments: Any) -> code.CollectionSyntax:
        bound = arguments[-1] if isinstance(arguments[-1], code.SyntaxExpression) else None
        types = tuple(a for a in arguments if isinstance(a, code.TypeSyntax))
        return code.CollectionSyntax(span=span, kind=str(kind), arguments=types, bound=bound)

    def tuple_type(self, span: Span, body: code.TypeSyntax | None) -> code.TypeSyntax:
        if body is None:
            return code.TupleSyntax(span=span, items=())
        if isinstance(body, code.TupleSyntax):
            return body
        return code.TupleSyntax(span=span, items=(code.AttributeSyntax(span=span, type=body, name=None),))

    def enum_type(self, span: Span, *symbols: Token) -> code.EnumSyntax:
        return code.EnumSyntax(span=span, symbols=tuple(map(self.word, symbols)))

    def bound(self, span: Span, size: code.SyntaxExpression) -> code.SyntaxExpression:
        return size

    # ---- names and calls

    def dotted(self, span: Span, first: Any, field: Token | None = None) -> code.SyntaxExpression:
        if field is None:
            return code.NameSyntax(span=span, name=self.word(first))
        return code.FieldSyntax(span=span, base=first, name=self.word(field))

    def name(self, span: Span, name: Any) -> code.SyntaxExpression:
        return code.NameSyntax(span=span, name=self.word(name)) if isinstance(name, Token) else name

    def parenthesised(self, span: Span, inner: code.SyntaxExpression) -> code.SyntaxExpression:
        return replace(inner, span=span)

    def parenthesised_name(self, span: Span, name: code.NamedTypeSyntax) -> code.ParenthesisedName:
        return code.ParenthesisedName(span=span, inner=_as_expression(name))

    def call(self, span: Span, function: Any, *arguments: Any) -> code.CallSyntax:
        given = tuple(a for a in arguments if a is not None)
        return code.CallSyntax(span=span, function=self.word_of(function), arguments=given)

    def field(self, span: Span, base: Any, name: Token) -> code.FieldSyntax:
        return code.FieldSyntax(span=span, base=base, name=self.word(name))

    def index(self, span: Span, base: Any, subscript: Any) -> code.SyntaxExpression:
        if isinstance(subscript, tuple):
            return code.SliceSyntax(span=span, base=base, lower=subscript[0], upper=subscript[1])
        return code.IndexSyntax(span=span, base=base, index=subscript)

    def slice(self, span: Span, lower: Any, colon: Token, upper: Any) -> tuple[Any, Any]:
        return lower, upper

    # ---- operators

    def conditional(self, span: Span, test: Any, then: Any, otherwise: Any) -> code.ConditionalSyntax:
        return code.ConditionalSyntax(span=span, test=test, then=then, otherwise=otherwise)

    def binary_operator(self, span: Span, token: Token | None = None) -> code.Word:
        written = "".join(self.source.text[span.start : span.end].split())
        return code.Word(span=span, text=written)

    def assign_operator(self, span: Span, token: Token | None = None) -> code.Word:
        return code.Word(span=span, text="=" if token is None else str(token))

    def binary(self, span: Span, *parts: Any) -> code.SyntaxExpression:
        return _climb(parts[0], list(parts[1:]), 0)

    def prefix(self, span: Span, operator: Token, operand: Any) -> code.PrefixSyntax:
        return code.PrefixSyntax(span=span, operator=str(operator), operand=operand)

    def unwrap(self, span: Span, operand: Any, operator: Token) -> code.PrefixSyntax:
        return code.PrefixSyntax(span=span, operator="unwrap", operand=operand)

    def present(self, span: Span, operand: Any, operator: Token) -> code.PrefixSyntax:
        return code.PrefixSyntax(span=span, operator="present", operand=operand)

    def cast(self, span: Span, type_: code.TypeSyntax, operand: Any) -> code.CastSyntax:
        return code.CastSyntax(span=span, type=type_, operand=operand)

    def assign_expression(self, span: Span, target: Any, operator: code.Word, value: Any) -> code.AssignSyntax:
        return code.AssignSyntax(span=span, target=target, operator=operator.text[:-1], value=value)

    def prefix_update(self, span: Span, operator: Token, target: Any) -> code.AssignSyntax:
        return code.AssignSyntax(span=span, target=target, operator=operator[0], value=None)

    def postfix_update(self, span: Span, target: Any, operator: Token) -> code.AssignSyntax:
        return code.AssignSyntax(span=span, target=target, operator=operator[0], value=None, postfix=True)

    # ---- literals

    def number(self, span: Span, text: Token) -> code.NumberSyntax:
        return code.NumberSyntax(span=span, text=str(text))

    def string(self, span: Span, text: Token) -> code.StringSyntax:
        return code.StringSyntax(span=span, text=str(text))

    def true(self, span: Span) -> code.ConstantSyntax:
        return code.ConstantSyntax(span=span, value=True)

    def false(self, span: Span) -> code.ConstantSyntax:
        return code.ConstantSyntax(span=span, value=False)

    def null(self, span: Span) -> code.ConstantSyntax:
        return code.ConstantSyntax(span=span, value=None)

    def list_literal(self, span: Span, *elements: Any) -> code.ListSyntax:
        return code.ListSyntax(span=span, elements=tuple(e for e in elements if e is not None))

    def empty_literal(self, span: Span) -> code.SetSyntax:
        return code.SetSyntax(span=span, elements=())

    def set_literal(self, span: Span, *elements: Any) -> code.SetSyntax:
        return code.SetSyntax(span=span, elements=elements)

    def map_literal(self, span: Span, *entries: Any) -> code.MapSyntax:
        return code.MapSyntax(span=span, entries=entries)

    def map_entry(self, span: Span, key: Any, value: Any) -> tuple[Any, Any]:
        return key, value

    def tuple_literal(self, span: Span, *fields: code.TupleFieldSyntax) -> code.TupleLiteralSyntax:
        return code.TupleLiteralSyntax(span=span, fields=fields)

    def tuple_field(self, span: Span, name: Token, value: Any) -> code.TupleFieldSyntax:
        return code.TupleFieldSyntax(span=span, name=self.word(name), value=value)

    # ---- statements

    def block(self, span: Span, *body: Any) -> code.BlockStatement:
        return code.BlockStatement(span=span, body=tuple(map(_local_type, body)))

    def if_statement(self, span: Span, test: Any, then: Any, otherwise: Any) -> code.IfStatement:
        return code.IfStatement(span=span, test=test, then=then, otherwise=otherwise)

    def while_statement(self, span: Span, test: Any, body: Any) -> code.WhileStatement:
        return code.WhileStatement(span=span, test=test, body=body)

    def for_statement(self, span: Span, mutable: Any, type_: Any, name: Token, values: Any, body: Any) -> Any:
        return code.ForStatement(
            span=span, type=type_, name=self.word(name), values=values, body=body, mutable=mutable is not None
        )

    def switch_statement(self, span: Span, subject: Any, *cases: Any) -> code.SwitchStatement:
        return code.SwitchStatement(span=span, subject=subject, cases=cases)

    def switch_case(self, span: Span, label: tuple[Any, ...], *body: Any) -> code.CaseSyntax:
        return code.CaseSyntax(span=span, value=label[0] if label else None, body=tuple(map(_local_type, body)))

    def case_label(self, span: Span, *value: Any) -> tuple[Any, ...]:
        return value

    def break_statement(self, span: Span) -> code.JumpStatement:
        return code.JumpStatement(span=span, word="break")

    def continue_statement(self, span: Span) -> code.JumpStatement:
        return code.JumpStatement(span=span, word="continue")

    def return_statement(self, span: Span, value: Any) -> code.ReturnStatement:
        return code.ReturnStatement(span=span, value=value)

    def empty_statement(self, span: Span) -> code.EmptyStatement:
        return code.EmptyStatement(span=span)

    def declaration(self, span: Span, mutable: Any, type_: Any, *declarators: Any) -> code.DeclareStatement:
        return code.DeclareStatement(span=span, type=type_, declarators=declarators, mutable=mutable is not None)

    def declarator(self, span: Span, name: Token, value: Any) -> code.Declarator:
        return code.Declarator(span=span, name=self.word(name), value=value)

    def evaluate(self, span: Span, value: Any) -> code.ExpressionStatement:
        return code.ExpressionStatement(span=span, value=value)

    def evaluate_binary(self, span: Span, *parts: Any) -> code.ExpressionStatement:
        return code.ExpressionStatement(span=span, value=_climb(parts[0], list(parts[1:]), 0))

    def assign_statement(self, span: Span, *parts: Any) -> code.ExpressionStatement:
        return code.ExpressionStatement(span=span, value=self.assign_expression(span, *parts))

    def postfix_statement(self, span: Span, *parts: Any) -> code.ExpressionStatement:
        return code.ExpressionStatement(span=span, value=self.postfix_update(span, *parts))

    def prefix_statement(self, span: Span, *parts: Any) -> code.ExpressionStatement:
        return code.ExpressionStatement(span=span, value=self.prefix_update(span, *parts))


def _climb(left: code.SyntaxExpression, rest: list[Any], least: int) -> code.SyntaxExpression:
    """Precedence climbing over `operator, operand, operator, operand, ...`; takes what it uses off `rest`."""
    while rest and _level(rest[0]) >= least:
        operator, right = rest.pop(0), rest.pop(0)
        while rest and _level(rest[0]) > _level(operator):
            right = _climb(right, rest, _level(operator) + 1)
        span = Span(source=left.span.source, start=left.span.start, end=right.span.end)
        left = code.BinarySyntax(span=span, operator=operator.text, left=left, right=right, at=operator.span)
    return left


def _level(operator: code.Word) -> int:
    return PRECEDENCE[operator.text.removeprefix(".")]


def _as_expression(name: code.NamedTypeSyntax) -> code.SyntaxExpression:
    first, *fields = name.name.text.split(".") if "::" not in name.name.text else [name.name.text]
    made: code.SyntaxExpression = code.NameSyntax(span=name.span, name=code.Word(span=name.span, text=first))
    for field in fields:
        made = code.FieldSyntax(span=name.span, base=made, name=code.Word(span=name.span, text=field))
    return made


def _local_type(statement: Any) -> code.Statement:
    """A type definition among statements; the rule is the same as at the level of the file."""
    if isinstance(statement, code.Statement):
        return statement
    return code.LocalType(span=statement.span, name=statement.name, type=statement.type)
