"""The syntax tree of a file: what was written, where, with nothing resolved.

Composites, invocations and their clauses are here; expressions, statements and types are in `ast_code`.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.lang.syntax.ast_code import (
    BlockStatement,
    DeclareStatement,
    Node,
    Statement,
    SyntaxExpression,
    TypeSyntax,
    Word,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Node):
    """`use namespace::name;`, or `*` for all names."""

    namespace: str
    name: Word | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArgument(Node):
    """`name = value` in an annotation, a config clause or an output clause."""

    name: Word
    value: SyntaxExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationSyntax(Node):
    """`@name(key=value, ...)`."""

    name: str
    arguments: tuple[NamedArgument, ...]


Actual = SyntaxExpression | TypeSyntax
"""The actual value of a parameter: an expression, or a type that cannot be written as an expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Node):
    """`name: value, value;` of a param, window or config clause."""

    name: Word
    values: tuple[Actual | NamedArgument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSyntax(Node):
    """A stream where it is declared or used: an optional type and a name, and its alias on an output port."""

    name: Word
    type: TypeSyntax | None = None
    alias: Word | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSyntax(Node):
    """An input port of an invocation: `A, B as Alias`."""

    streams: tuple[StreamSyntax, ...]
    alias: Word | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerSyntax(Node):
    """`onTuple Port: statement`, `onPunct Port: statement` or, without port, `onProcess: statement`."""

    kind: str
    port: Word | None
    body: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSyntax(Node):
    """`Port: attribute = value, ...;` of an output clause."""

    port: Word
    assignments: tuple[NamedArgument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation(Node):
    """One operator invocation of a graph clause."""

    outputs: tuple[StreamSyntax, ...]
    alias: Word | None
    operator: Word
    inputs: tuple[InputSyntax, ...]
    state: tuple[DeclareStatement, ...] = ()
    handlers: tuple[HandlerSyntax, ...] = ()
    windows: tuple[Setting, ...] = ()
    params: tuple[Setting, ...] = ()
    assignments: tuple[OutputSyntax, ...] = ()
    config: tuple[Setting, ...] = ()
    annotations: tuple[AnnotationSyntax, ...] = ()

    @property
    def name(self) -> Word:
        """The alias, or the first output stream, or the operator's own name."""
        if self.alias is not None:
            return self.alias
        return self.outputs[0].name if self.outputs else self.operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Formal(Node):
    """A parameter of a composite: `mode<type> $name : default;`."""

    mode: str
    type: TypeSyntax | None
    name: Word
    default: tuple[Actual, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Composite(Node):
    """A composite operator."""

    name: Word
    public: bool
    inputs: tuple[StreamSyntax, ...]
    outputs: tuple[StreamSyntax, ...]
    formals: tuple[Formal, ...] = ()
    types: tuple[TypeDefinition, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    config: tuple[Setting, ...] = ()
    annotations: tuple[AnnotationSyntax, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeDefinition(Node):
    """`type name = type;`, in a file or in a composite."""

    name: Word
    type: TypeSyntax
    public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionFormal(Node):
    """A parameter of a function."""

    name: Word
    type: TypeSyntax
    mutable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionSyntax(Node):
    """A function of the application."""

    name: Word
    returns: TypeSyntax
    formals: tuple[FunctionFormal, ...]
    body: BlockStatement
    public: bool
    stateful: bool


Definition = Composite | FunctionSyntax | TypeDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class File(Node):
    """A whole file."""

    namespace: str
    uses: tuple[Use, ...]
    definitions: tuple[Definition, ...]
