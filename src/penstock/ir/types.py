"""The types of SPL, as data.

A type prints as SPL writes it, and `parse_type` reads that text back, so text is also its JSON form.

Example:
    >>> t = parse_type("tuple<uint32 uid, list<rstring>[4] tags>")
    >>> print(t)
    tuple<uint32 uid, list<rstring>[4] tags>
    >>> t.attribute("tags").type.element
    Primitive(name='rstring', bound=None)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
DECIMALS = ("decimal32", "decimal64", "decimal128")
COMPLEXES = ("complex32", "complex64")
STRINGS = ("rstring", "ustring")
PRIMITIVES = ("boolean", *INTEGERS, *FLOATS, *DECIMALS, *COMPLEXES, *STRINGS, "timestamp", "blob", "xml", "void")


class Type:
    """The root of all types. Types are values: equal when they are spelled alike."""

    __slots__ = ()

    def walk(self) -> Iterator[Type]:
        """This type and all types inside it."""
        yield self


@dataclass(frozen=True, slots=True)
class Primitive(Type):
    """A type without parts; `bound` is the largest length of a bounded rstring."""

    name: str
    bound: int | None = None

    def __str__(self) -> str:
        return self.name if self.bound is None else f"{self.name}[{self.bound}]"

    @property
    def bits(self) -> int:
        """The width of an integer, float, decimal or complex type; of a complex one, that of a part."""
        return int(self.name.lstrip("abcdefghijklmnopqrstuvwxyz"))


@dataclass(frozen=True, slots=True)
class EnumType(Type):
    """An enumeration; its symbols are ordered as they are written."""

    symbols: tuple[str, ...]

    def __str__(self) -> str:
        return f"enum{{{', '.join(self.symbols)}}}"


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    """A value, or null."""

    inner: Type

    def __str__(self) -> str:
        return f"optional<{self.inner}>"

    def walk(self) -> Iterator[Type]:
        """This type and all types inside it."""
        yield self
        yield from self.inner.walk()


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """A sequence, of at most `bound` elements where that is given."""

    element: Type
    bound: int | None = None

    def __str__(self) -> str:
        return f"list<{self.element}>{_bound_text(self.bound)}"

    def walk(self) -> Iterator[Type]:
        """This type and all types inside it."""
        yield self
        yield from self.element.walk()


@dataclass(frozen=True, slots=True)
class SetType(Type):
    """A set; it is iterated and printed in ascending order."""

    element: Type
    bound: int | None = None

    def __str__(self) -> str:
        return f"set<{self.element}>{_bound_text(self.bound)}"

    def walk(self) -> Iterator[Type]:
        """This type and all types inside it."""
        yield self
        yield from self.element.walk()


@dataclass(frozen=True, slots=True)
class MapType(Type):
    """A map; it is iterated and printed in the order of insertion."""

    key: Type
    value: Type
    bound: int | None = None

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>{_bound_text(self.bound)}"

    def walk(self) -> Iterator[Type]:
        """This type and all types inside it."""
        yield self
        yield from self.key.walk()
        yield from self.value.walk()


@dataclass(frozen=True, slots=True)
class TypedName:
    """An attribute of a tuple type."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True)
class TupleType(Type):
    """A tuple type, and so also the schema of a stream."""

    attributes: tuple[TypedName, ...]

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.attributes))}>"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attribute names, in order."""
        return tuple(a.name for a in self.attributes)

    @cached_property
    def position(self) -> dict[str, int]:
        """From attribute name to position."""
        return {a.name: i for i, a in enumerate(self.attributes)}

    def attribute(self, name: str) -> TypedName:
        """The attribute of a name; `KeyError` if there is none."""
        return self.attributes[self.position[name]]

    def walk(self) -> Iterator[Type]:
        """This type and all types inside it."""
        yield self
        for attribute in self.attributes:
            yield from attribute.type.walk()


Schema = TupleType

BOOLEAN = Primitive("boolean")
INT8, INT16, INT32, INT64 = (Primitive(name) for name in SIGNED)
UINT8, UINT16, UINT32, UINT64 = (Primitive(name) for name in UNSIGNED)
FLOAT32, FLOAT64 = (Primitive(name) for name in FLOATS)
DECIMAL32, DECIMAL64, DECIMAL128 = (Primitive(name) for name in DECIMALS)
COMPLEX32, COMPLEX64 = (Primitive(name) for name in COMPLEXES)
RSTRING, USTRING = (Primitive(name) for name in STRINGS)
TIMESTAMP, BLOB, XML, VOID = (Primitive(name) for name in ("timestamp", "blob", "xml", "void"))


def tuple_type(**attributes: Type) -> TupleType:
    """A tuple type from names and types.

    Example:
        >>> print(tuple_type(uid=UINT32, total=INT32))
        tuple<uint32 uid, int32 total>
    """
    return TupleType(tuple(TypedName(name, type_) for name, type_ in attributes.items()))


def is_integer(type_: Type) -> bool:
    """Whether the type is one of int8 to uint64."""
    return isinstance(type_, Primitive) and type_.name in INTEGERS


def is_float(type_: Type) -> bool:
    """Whether the type is float32 or float64."""
    return isinstance(type_, Primitive) and type_.name in FLOATS


def is_decimal(type_: Type) -> bool:
    """Whether the type is decimal32, decimal64 or decimal128."""
    return isinstance(type_, Primitive) and type_.name in DECIMALS


def is_complex(type_: Type) -> bool:
    """Whether the type is complex32 or complex64: a pair of float32 or of float64."""
    return isinstance(type_, Primitive) and type_.name in COMPLEXES


def is_numeric(type_: Type) -> bool:
    """Whether the type has arithmetic and an order; complex numbers have no order."""
    return is_integer(type_) or is_float(type_) or is_decimal(type_)


def is_string(type_: Type) -> bool:
    """Whether the type is rstring (bounded or not) or ustring."""
    return isinstance(type_, Primitive) and type_.name in STRINGS


def is_collection(type_: Type) -> bool:
    """Whether the type is a list, a set or a map."""
    return isinstance(type_, ListType | SetType | MapType)


def has_collection(type_: Type) -> bool:
    """Whether a value of the type holds anything that can be changed in place."""
    return any(is_collection(part) for part in type_.walk())


def _bound_text(bound: int | None) -> str:
    return "" if bound is None else f"[{bound}]"


_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d+|[<>,{}\[\]])")


def parse_type(text: str, resolve: Callable[[str], Type | None] | None = None) -> Type:
    """Read a type from its SPL text.

    Args:
        text: As `str(type)` prints it.
        resolve: Gives the type of a name that is not built in, such as a type variable of a function prototype.

    Raises:
        ValueError: The text is not a type; the message says where.

    Example:
        >>> parse_type("map<rstring, optional<int8>>")
        MapType(key=Primitive(name='rstring', bound=None), value=OptionalType(inner=...), bound=None)
    """
    parser = _TypeParser(text, resolve)
    type_ = parser.type()
    parser.end()
    return type_


def parse_schema(text: str) -> Schema:
    """Read a schema from a list of attributes, or from a whole tuple type.

    Example:
        >>> parse_schema("uint32 uid, rstring server").names
        ('uid', 'server')
        >>> parse_schema("tuple<int32 x, int32 y> place, rstring name").names
        ('place', 'name')
    """
    parser = _TypeParser(text, None)
    if parser.peek() == "tuple":
        whole = parser.type()
        # Otherwise it is the type of the first attribute.
        if isinstance(whole, TupleType) and not parser.peek():
            parser.end()
            return whole
    type_ = parse_type(f"tuple<{text}>")
    assert isinstance(type_, TupleType)
    return type_


class _TypeParser:
    """Recursive descent over the tokens of a type's text."""

    def __init__(self, text: str, resolve: Callable[[str], Type | None] | None) -> None:
        self.text = text
        self.resolve = resolve
        self.position = 0

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        return match.group(1) if match else ""

    def take(self, expected: str | None = None) -> str:
        match = _TOKEN.match(self.text, self.position)
        if match is None or (expected is not None and match.group(1) != expected):
            found = match.group(1) if match else "the end"
            raise ValueError(f"`{self.text}` is not a type: expected {expected or 'a word'}, found {found}")
        self.position = match.end()
        return match.group(1)

    def end(self) -> None:
        if self.text[self.position :].strip():
            raise ValueError(f"`{self.text}` is not a type: unexpected `{self.text[self.position :].strip()}`")

    def type(self) -> Type:
        name = self.take()
        if name in _GENERIC:
            return _GENERIC[name](self)
        resolved = self.resolve(name) if self.resolve else None
        if resolved is not None:
            return resolved
        if name not in PRIMITIVES:
            raise ValueError(f"`{self.text}` is not a type: there is no type `{name}`")
        return Primitive(name, self.bound() if name in STRINGS else None)

    def bound(self) -> int | None:
        if self.peek() != "[":
            return None
        self.take("[")
        bound = int(self.take())
        self.take("]")
        return bound

    def arguments(self, count: int) -> Sequence[Type]:
        self.take("<")
        found = [self.type()]
        while len(found) < count:
            self.take(",")
            found.append(self.type())
        self.take(">")
        return found

    def list(self) -> Type:
        (element,) = self.arguments(1)
        return ListType(element, self.bound())

    def set(self) -> Type:
        (element,) = self.arguments(1)
        return SetType(element, self.bound())

    def map(self) -> Type:
        key, value = self.arguments(2)
        return MapType(key, value, self.bound())

    def optional(self) -> Type:
        (inner,) = self.arguments(1)
        return OptionalType(inner)

    def enum(self) -> Type:
        self.take("{")
        symbols = [self.take()]
        while self.peek() == ",":
            self.take(",")
            symbols.append(self.take())
        self.take("}")
        return EnumType(tuple(symbols))

    def tuple(self) -> Type:
        self.take("<")
        attributes = []
        while self.peek() != ">":
            type_ = self.type()
            attributes.append(TypedName(self.take(), type_))
            if self.peek() == ",":
                self.take(",")
        self.take(">")
        return TupleType(tuple(attributes))


_GENERIC: dict[str, Callable[[_TypeParser], Type]] = {
    "list": _TypeParser.list,
    "set": _TypeParser.set,
    "map": _TypeParser.map,
    "optional": _TypeParser.optional,
    "enum": _TypeParser.enum,
    "tuple": _TypeParser.tuple,
}
