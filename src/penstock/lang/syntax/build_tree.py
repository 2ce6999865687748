# ruff: noqa: D102 (a method is documented by the grammar rule that it is named after)
"""Makes the syntax tree of a file from lark's parse tree: composites, invocations, functions.

Each method is named after the grammar rule whose children it takes. Children of rules that may be missing are `None`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from lark import Token, Tree

from penstock.base.diagnostics import SourceFile, Span
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code
from penstock.lang.syntax.build_code import CodeBuilder

N = TypeVar("N")


def build_file(tree: Tree[Token], source: SourceFile) -> ast.File:
    """The syntax tree of a parsed file."""
    built = FileBuilder(source).build(tree)
    assert isinstance(built, ast.File)
    return built


def _of(kind: type[N], children: Iterable[object]) -> tuple[N, ...]:
    return tuple(child for child in children if isinstance(child, kind))


class FileBuilder(CodeBuilder):
    """The rules around code; `CodeBuilder` has those of expressions, statements and types."""

    def start(self, span: Span, *children: object) -> ast.File:
        names = _of(code.Word, children)
        return ast.File(
            span=span,
            namespace=names[0].text if names else "",
            uses=_of(ast.Use, children),
            definitions=_of(ast.Composite, children)
            + _of(ast.FunctionSyntax, children)
            + _of(ast.TypeDefinition, children),
        )

    def namespace_clause(self, span: Span, name: code.SyntaxExpression) -> code.Word:
        return self.word_of(name)

    def use_directive(self, span: Span, namespace: code.SyntaxExpression, name: Token) -> ast.Use:
        imported = None if name.type == "STAR" else self.word(name)
        return ast.Use(span=span, namespace=self.word_of(namespace).text, name=imported)

    # ---- composites

    def composite(self, span: Span, *children: Any) -> ast.Composite:
        tokens = _of(Token, children)
        ports = next((c for c in children if isinstance(c, _Ports)), _Ports())
        return ast.Composite(
            span=span,
            name=self.word(tokens[-1]),
            public=tokens[0].type == "PUBLIC",
            inputs=ports.streams("INPUT"),
            outputs=ports.streams("OUTPUT"),
            formals=_of(ast.Formal, _clauses(children, "formals")),
            types=_of(ast.TypeDefinition, _clauses(children, "types")),
            invocations=_of(ast.Invocation, _clauses(children, "graph")),
            config=_of(ast.Setting, _clauses(children, "config")),
            annotations=_of(ast.AnnotationSyntax, children),
        )

    def composite_ports(self, span: Span, *ports: Any) -> _Ports:
        return _Ports(p for p in ports if p is not None)

    def composite_port(self, span: Span, direction: Token, *streams: ast.StreamSyntax) -> Any:
        return direction.type, streams

    def stream_declaration(self, span: Span, type_: code.TypeSyntax | None, name: Token) -> ast.StreamSyntax:
        return ast.StreamSyntax(span=span, name=self.word(name), type=type_)

    def formals_clause(self, span: Span, *formals: Any) -> _Clause:
        return _Clause("formals", formals)

    def formal(self, span: Span, mode: Any, name: Token, default: Any) -> ast.Formal:
        kind, type_ = mode
        return ast.Formal(span=span, mode=kind, type=type_, name=self.word(name), default=default)

    def formal_mode(self, span: Span, word: Token, type_: code.TypeSyntax | None = None) -> Any:
        return str(word), type_

    def types_clause(self, span: Span, *types: Any) -> _Clause:
        return _Clause("types", types)

    def composite_type(self, span: Span, name: Token, type_: code.TypeSyntax) -> ast.TypeDefinition:
        return ast.TypeDefinition(span=span, name=self.word(name), type=type_, public=True)

    def graph_clause(self, span: Span, *invocations: Any) -> _Clause:
        return _Clause("graph", invocations)

    def config_clause(self, span: Span, *settings: Any) -> _Clause:
        return _Clause("config", settings)

    def setting(self, span: Span, name: Token, *values: Any) -> ast.Setting:
        return ast.Setting(span=span, name=self.word(name), values=values)

    def named_setting(self, span: Span, name: Token, value: code.SyntaxExpression) -> ast.NamedArgument:
        return ast.NamedArgument(span=span, name=self.word(name), value=value)

    annotation_argument = named_setting
    output_assignment = named_setting
    window_item = setting

    def annotation(self, span: Span, name: Token, *arguments: Any) -> ast.AnnotationSyntax:
        return ast.AnnotationSyntax(span=span, name=str(name)[1:], arguments=_of(ast.NamedArgument, arguments))

    # ---- invocations

    def invocation(self, span: Span, *children: Any) -> ast.Invocation:
        annotations = _of(ast.AnnotationSyntax, children)
        outputs, alias, operator, inputs, body = children[len(annotations) :]
        logic = _clauses(body, "logic")
        return ast.Invocation(
            span=span,
            outputs=outputs,
            alias=alias,
            operator=operator,
            inputs=inputs or (),
            state=_of(code.DeclareStatement, logic),
            handlers=_of(ast.HandlerSyntax, logic),
            windows=_of(ast.Setting, _clauses(body, "window")),
            params=_of(ast.Setting, _clauses(body, "param")),
            assignments=_of(ast.OutputSyntax, _clauses(body, "output")),
            config=_of(ast.Setting, _clauses(body, "config")),
            annotations=annotations,
        )

    def invocation_outputs(self, span: Span, *streams: Any) -> tuple[ast.StreamSyntax, ...]:
        return _of(ast.StreamSyntax, streams)

    def output_stream(self, span: Span, type_: code.TypeSyntax, name: Token, alias: Any) -> ast.StreamSyntax:
        return ast.StreamSyntax(span=span, name=self.word(name), type=type_, alias=alias)

    def alias(self, span: Span, name: Token) -> code.Word:
        return self.word(name)

    def operator_name(self, span: Span, name: Any) -> code.Word:
        return self.word_of(name)

    def invocation_inputs(self, span: Span, *ports: Any) -> tuple[ast.InputSyntax, ...]:
        return _of(ast.InputSyntax, ports)

    def input_port(self, span: Span, *children: Any) -> ast.InputSyntax:
        return ast.InputSyntax(span=span, streams=_of(ast.StreamSyntax, children), alias=children[-1])

    def no_body(self, span: Span) -> tuple[Any, ...]:
        return ()

    def invocation_body(self, span: Span, *clauses: Any) -> tuple[Any, ...]:
        return clauses

    def logic_clause(self, span: Span, *items: Any) -> _Clause:
        flat = [part for item in items for part in (item if isinstance(item, tuple) else (item,))]
        return _Clause("logic", flat)

    def state_item(self, span: Span, *declarations: Any) -> tuple[code.DeclareStatement, ...]:
        return _of(code.DeclareStatement, declarations)

    def handler_item(self, span: Span, kind: Token, port: Token, body: code.Statement) -> ast.HandlerSyntax:
        return ast.HandlerSyntax(span=span, kind=str(kind), port=self.word(port), body=body)

    def process_item(self, span: Span, body: code.Statement) -> ast.HandlerSyntax:
        return ast.HandlerSyntax(span=span, kind="onProcess", port=None, body=body)

    def window_clause(self, span: Span, *items: Any) -> _Clause:
        return _Clause("window", items)

    def param_clause(self, span: Span, *items: Any) -> _Clause:
        return _Clause("param", items)

    def param_item(self, span: Span, name: Token, values: tuple[ast.Actual, ...]) -> ast.Setting:
        return ast.Setting(span=span, name=self.word(name), values=values)

    def actuals(self, span: Span, *values: ast.Actual) -> tuple[ast.Actual, ...]:
        return values

    def output_clause(self, span: Span, *items: Any) -> _Clause:
        return _Clause("output", items)

    def output_item(self, span: Span, port: Token, *assignments: Any) -> ast.OutputSyntax:
        given = _of(ast.NamedArgument, assignments)
        return ast.OutputSyntax(span=span, port=self.word(port), assignments=given)

    # ---- functions

    def function(self, span: Span, *children: Any) -> ast.FunctionSyntax:
        modifiers = {c.text for c in children if isinstance(c, code.Word)}
        return ast.FunctionSyntax(
            span=span,
            name=self.word(_of(Token, children)[0]),
            returns=_of(code.TypeSyntax, children)[0],
            formals=_of(ast.FunctionFormal, children),
            body=children[-1],
            public="public" in modifiers,
            stateful="stateful" in modifiers,
        )

    def modifier(self, span: Span, word: Token) -> code.Word:
        return self.word(word)

    def function_formal(self, span: Span, mutable: Token | None, type_: Any, name: Token) -> ast.FunctionFormal:
        return ast.FunctionFormal(span=span, name=self.word(name), type=type_, mutable=mutable is not None)

    def type_definition(self, span: Span, public: Token | None, name: Token, type_: Any) -> ast.TypeDefinition:
        return ast.TypeDefinition(span=span, name=self.word(name), type=type_, public=public is not None)


class _Ports:
    """The ports of a composite while they are collected."""

    def __init__(self, ports: Iterable[tuple[str, tuple[ast.StreamSyntax, ...]]] = ()) -> None:
        self.ports = tuple(ports)

    def streams(self, direction: str) -> tuple[ast.StreamSyntax, ...]:
        return tuple(stream for kind, streams in self.ports if kind == direction for stream in streams)


class _Clause:
    """The items of one clause while they are collected; a clause may be written in several pieces."""

    def __init__(self, name: str, items: Iterable[object]) -> None:
        self.name = name
        self.items = tuple(items)


def _clauses(children: Iterable[object], name: str) -> tuple[object, ...]:
    return tuple(item for c in children if isinstance(c, _Clause) and c.name == name for item in c.items)
