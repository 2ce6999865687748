"""Types as they are written, resolved to types: names looked up, tuples extended, bounds evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.base.diagnostics import Span, did_you_mean
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
from penstock.lang.check.mistakes import error
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code
from penstock.lang.syntax.literals import number

if TYPE_CHECKING:
    from penstock.lang.check.scope import Binding, Scope

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
