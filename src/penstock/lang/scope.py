"""What names mean outside code: types, composite parameters, streams, functions.

A `Scope` is that of a file. A composite instance has one of its own (`composites.Instance`), which adds its parameters,
its types and its streams. An actual parameter keeps the scope in which it was written, so its names mean what they
meant there: composites are expanded like hygienic macros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from penstock.diagnostics import Diagnostic, Diagnostics, Span, UserError, did_you_mean
from penstock.expr.functions.symbols import SYSTEM_TYPES
from penstock.expr.typing import check_type
from penstock.ir.types import (
    PRIMITIVES,
    STRINGS,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    TypedName,
)
from penstock.lang import ast
from penstock.lang import ast_code as code
from penstock.lang.library import Library, Module
from penstock.lang.literals import number

if TYPE_CHECKING:
    from penstock.lang.functions import FunctionTable


def error(message: str, span: Span, hint: str | None = None) -> UserError:
    """A mistake at a place."""
    return UserError(Diagnostic(message=message, span=span, hint=hint))


def silent() -> UserError:
    """What is raised where a name is known to be wrong already: it adds no message to the one that was given."""
    return UserError(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a parameter of a composite stands for in one instance.

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
    """What all scopes of a compilation share.

    Attributes:
        library: Files and operators.
        found: Receives every mistake.
        functions: The application's functions.
        instantiated: The composites (by identity) that have an instance.
    """

    library: Library
    found: Diagnostics
    functions: FunctionTable = field(init=False)
    instantiated: set[int] = field(default_factory=set)
    _scopes: dict[int, Scope] = field(default_factory=dict)

    def scope_of(self, module: Module) -> Scope:
        """The scope of a file."""
        if id(module) not in self._scopes:
            self._scopes[id(module)] = Scope(compilation=self, module=module)
        return self._scopes[id(module)]


class _Progress(Enum):
    """What stands in the place of a type that is not there."""

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

    def binding(self, word: code.Word) -> Binding:
        """What `$name` stands for.

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
        """The type of a name: the composite's own, a file's, a stream's, or `Composite.name`.

        Raises:
            UserError: The type's own definition is wrong; silent if that has been said.
        """
        found = self.local_type(name) or self._file_type(name) or SYSTEM_TYPES.get(name)
        if found is not None:
            return found
        stream = self.stream(name)
        if stream is not None:
            if stream.schema is None:
                raise silent()
            return stream.schema
        return self._composite_type(name)

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


NO_TYPES: Mapping[str, Type] = {}


def resolve_type(syntax: code.TypeSyntax, scope: Scope, extra: Mapping[str, Type] = NO_TYPES) -> Type:
    """The type that is written, checked.

    Args:
        syntax: As written.
        scope: Where.
        extra: More names: types of a block, aliases of input ports.

    Raises:
        UserError: Unknown names, repeated attributes, keys that cannot be kept apart.
    """
    return check_type(_resolve(syntax, scope, extra), syntax.span)


def _resolve(syntax: code.TypeSyntax, scope: Scope, extra: Mapping[str, Type]) -> Type:
    match syntax:
        case code.NamedTypeSyntax():
            return _named(syntax, scope, extra)
        case code.CollectionSyntax(kind=kind, arguments=arguments):
            inner = [_resolve(a, scope, extra) for a in arguments]
            return _collection(kind, inner, constant_bound(syntax.bound, scope), syntax)
        case code.EnumSyntax(symbols=symbols):
            _check_distinct(symbols, "symbol")
            return EnumType(tuple(s.text for s in symbols))
        case code.TupleSyntax(items=items):
            return _tuple(items, scope, extra)
    raise AssertionError(f"{syntax} is no type")


def _collection(kind: str, inner: list[Type], bound: int | None, syntax: code.TypeSyntax) -> Type:
    if any(part == Primitive("void") for part in inner):
        raise error(f"a {kind} cannot hold void", syntax.span)
    match kind:
        case "list":
            return ListType(inner[0], bound)
        case "set":
            return SetType(inner[0], bound)
        case "map":
            return MapType(inner[0], inner[1], bound)
    if isinstance(inner[0], OptionalType):
        raise error("an optional of an optional is not a type", syntax.span)
    return OptionalType(inner[0])


def _named(syntax: code.NamedTypeSyntax, scope: Scope, extra: Mapping[str, Type]) -> Type:
    name = syntax.name.text
    if name.startswith("$"):
        return _bound_type(scope.binding(syntax.name), syntax)
    if name in PRIMITIVES:
        if syntax.bound is not None and name not in STRINGS:
            raise error(f"{name} cannot have a bound", syntax.bound.span)
        return Primitive(name, constant_bound(syntax.bound, scope))
    if name in ("complex32", "complex64", "xml"):
        raise error(f"the type {name} is not supported", syntax.span)
    found = extra.get(name) or scope.find_type(name)
    if found is None:
        hint = did_you_mean(name, {*extra, *scope.type_names(), *scope.stream_names()})
        raise error(f"there is no type `{name}`", syntax.span, hint)
    return found


def _bound_type(binding: Binding, syntax: code.NamedTypeSyntax) -> Type:
    if binding.formal.mode != "type":
        raise error(f"`{syntax.name}` is of mode {binding.formal.mode}, not a type", syntax.span)
    items = tuple(
        code.AttributeSyntax(span=actual.span, type=_as_type(actual), name=None) for actual in binding.actuals
    )
    if len(items) == 1:
        return resolve_type(items[0].type, binding.scope)
    return resolve_type(code.TupleSyntax(span=items[0].span, items=items), binding.scope)


def _as_type(actual: ast.Actual) -> code.TypeSyntax:
    """An actual parameter of mode type: a name was parsed as an expression."""
    if isinstance(actual, code.TypeSyntax):
        return actual
    name = _dotted_name(actual)
    if name is None:
        raise error("expected a type, found an expression", actual.span)
    return code.NamedTypeSyntax(span=actual.span, name=code.Word(span=actual.span, text=name))


def _dotted_name(expression: code.SyntaxExpression) -> str | None:
    match expression:
        case code.NameSyntax(name=word):
            return word.text
        case code.FieldSyntax(base=base, name=word):
            prefix = _dotted_name(base)
            return None if prefix is None else f"{prefix}.{word}"
    return None


def _tuple(items: tuple[code.AttributeSyntax, ...], scope: Scope, extra: Mapping[str, Type]) -> Type:
    attributes: list[tuple[TypedName, Span]] = []
    for item in items:
        type_ = _resolve(item.type, scope, extra)
        if item.name is not None:
            if type_ == Primitive("void"):
                raise error("an attribute cannot be void", item.type.span)
            attributes.append((TypedName(item.name.text, type_), item.name.span))
        elif isinstance(type_, TupleType):
            attributes.extend((attribute, item.span) for attribute in type_.attributes)
        else:
            raise error(f"expected an attribute name after {type_}", item.span, "only a tuple type can be extended")
    seen: dict[str, TypedName] = {}
    for attribute, span in attributes:
        if seen.setdefault(attribute.name, attribute) != attribute:
            raise error(f"the tuple has two attributes `{attribute.name}` of different types", span)
    names = [item.name.text for item in items if item.name is not None]
    for item in items:
        if item.name is not None and names.count(item.name.text) > 1:
            raise error(f"the tuple has two attributes `{item.name}`", item.name.span)
    return TupleType(tuple(seen.values()))


def _check_distinct(words: tuple[code.Word, ...], what: str) -> None:
    seen: set[str] = set()
    for word in words:
        if word.text in seen:
            raise error(f"the {what} `{word}` is given twice", word.span)
        seen.add(word.text)


def constant_bound(syntax: code.SyntaxExpression | None, scope: Scope) -> int | None:
    """The bound of a type: a positive integer, or a composite parameter that stands for one."""
    if syntax is None:
        return None
    if isinstance(syntax, code.NameSyntax) and syntax.name.text.startswith("$"):
        binding = scope.binding(syntax.name)
        if len(binding.actuals) == 1 and isinstance(binding.actuals[0], code.SyntaxExpression):
            return constant_bound(binding.actuals[0], binding.scope)
    if isinstance(syntax, code.NumberSyntax):
        value = number(syntax.text, syntax.span).value
        if isinstance(value, int) and value > 0:
            return value
    raise error("a bound must be a positive integer", syntax.span)
