"""Names outside code: types, composite parameters, streams, functions.

A `Scope` is that of a file. A composite instance has one of its own (`composites.Instance`), which adds its parameters,
its types and its streams. An actual parameter keeps the scope in which it was written, so its names mean what they
meant there: composites are expanded like hygienic macros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from penstock.base.diagnostics import Diagnostic, Diagnostics, Span, UserError
from penstock.expr.functions.symbols import SYSTEM_TYPES
from penstock.ir.types import (
    PRIMITIVES,
    TupleType,
    Type,
)
from penstock.lang.check.mistakes import error, silent
from penstock.lang.check.type_syntax import resolve_type
from penstock.lang.library import Library, Module
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code

if TYPE_CHECKING:
    from penstock.lang.check.functions import FunctionTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The value of a parameter of a composite in one instance.

    Attributes:
        formal: As the composite declares it.
        actuals: As the invocation, or the default, gives it.
        scope: Where the actuals were written.
    """

    formal: ast.Formal
    actuals: tuple[ast.Actual, ...]
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRef:
    """A stream as seen from a name: the ids it stands for, and its schema unless that is wrong."""

    ids: tuple[str, ...]
    schema: TupleType | None


@dataclass(kw_only=True, eq=False)
class Compilation:
    """The state that all scopes of a compilation share.

    Attributes:
        library: Files and operators.
        found: Receives every mistake.
        functions: The application's functions.
        instantiated: The composites (by identity) that have an instance.
        warnings: Messages that the user should see although they are no mistakes.
    """

    library: Library
    found: Diagnostics
    functions: FunctionTable = field(init=False)
    instantiated: set[int] = field(default_factory=set)
    warnings: list[Diagnostic] = field(default_factory=list)
    _scopes: dict[int, Scope] = field(default_factory=dict)

    def warn(self, message: str, span: Span) -> None:
        """Record what the user should know, once."""
        if all((message, span.start) != (w.message, w.span.start if w.span else -1) for w in self.warnings):
            self.warnings.append(Diagnostic(message=message, span=span))

    def scope_of(self, module: Module) -> Scope:
        """The scope of a file."""
        if id(module) not in self._scopes:
            self._scopes[id(module)] = Scope(compilation=self, module=module)
        return self._scopes[id(module)]


class _Progress(Enum):
    """The placeholder of a type that is being resolved, or that is wrong."""

    OPEN = "being resolved"
    WRONG = "reported as wrong"


@dataclass(kw_only=True, eq=False)
class Scope:
    """The scope of a file."""

    compilation: Compilation
    module: Module
    _types: dict[int, Type | _Progress] = field(default_factory=dict)

    @property
    def library(self) -> Library:
        """Files and operators."""
        return self.compilation.library

    @property
    def composite_names(self) -> tuple[str, str] | None:
        """The name of the instance of a composite that this is the scope of, and that of the main composite."""
        return None

    def binding(self, word: code.Word) -> Binding:
        """The binding of the parameter `$name`.

        Raises:
            UserError: There is no such parameter here.
        """
        raise error(f"there is no parameter `{word}` here", word.span, "a parameter belongs to a composite")

    def stream(self, name: str) -> StreamRef | None:
        """The stream of a name."""
        return None

    def stream_names(self) -> Iterator[str]:
        """The streams in sight."""
        return iter(())

    def local_type(self, name: str) -> Type | None:
        """The type that a composite defines under a name."""
        return None

    def type_names(self) -> Iterator[str]:
        """The types in sight."""
        yield from PRIMITIVES
        yield from (d.name.text for d in self.module.file.definitions if isinstance(d, ast.TypeDefinition))

    def find_type(self, name: str) -> Type | None:
        """The type of a name: the composite's own, a stream's, a file's, or `Composite.name`; the inner one is meant.

        Raises:
            UserError: The type's own definition is wrong; silent if that has been said.
        """
        found = self.local_type(name)
        if found is not None:
            return found
        stream = None if self.is_declaring(name) else self.stream(name)
        if stream is not None:
            if stream.schema is None:
                raise silent()
            return stream.schema
        return self._file_type(name) or SYSTEM_TYPES.get(name) or self._composite_type(name)

    def is_declaring(self, name: str) -> bool:
        """Whether a name is that of the stream whose type is resolved: in `stream<Quote> Quote` a type is meant."""
        return False

    def _file_type(self, name: str) -> Type | None:
        if "." in name.rpartition("::")[2]:
            return None
        for definition, module in self.library.lookup(ast.TypeDefinition, name, self.module):
            return self.compilation.scope_of(module).defined_type(definition)
        return None

    def _composite_type(self, name: str) -> Type | None:
        composite, separator, inner = name.rpartition(".")
        if not separator or not composite or composite.endswith(":"):
            return None
        for definition, module in self.library.lookup(ast.Composite, composite, self.module):
            for type_ in definition.types:
                if type_.name.text == inner:
                    return _CompositeTypes(self.compilation, module, definition).defined_type(type_)
        return None

    def defined_type(self, definition: ast.TypeDefinition) -> Type:
        """The type of a definition of this scope, resolved once; a mistake in it is reported where it stands.

        Raises:
            UserError: The definition is wrong; always silent.
        """
        known = self._types.get(id(definition))
        if known is None:
            self._types[id(definition)] = _Progress.OPEN
            try:
                known = resolve_type(definition.type, self)
            except UserError as problem:
                self.compilation.found.extend(problem)
                known = _Progress.WRONG
            if self._types[id(definition)] is _Progress.WRONG:
                known = _Progress.WRONG
            self._types[id(definition)] = known
        elif known is _Progress.OPEN:
            self._types[id(definition)] = _Progress.WRONG
            self.compilation.found.error(f"the type `{definition.name}` is defined by itself", definition.name.span)
            raise silent()
        if isinstance(known, _Progress):
            raise silent()
        return known


class _CompositeTypes(Scope):
    """The types of a composite seen from outside, without an instance."""

    def __init__(self, compilation: Compilation, module: Module, composite: ast.Composite) -> None:
        super().__init__(compilation=compilation, module=module)
        self.composite = composite

    def local_type(self, name: str) -> Type | None:
        for definition in self.composite.types:
            if definition.name.text == name:
                return self.defined_type(definition)
        return None
