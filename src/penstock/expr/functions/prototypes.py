"""Function prototypes as SPL writes them, read from text.

A prototype is `[<constraint T, ...>] [stateful] type name(type name, ...)`. A type variable stands for one type of the
kind that its constraint names; a `mutable` parameter is changed by the call.

Example:
    >>> prototype = parse_prototype("<any K, any V> void insertM(mutable map<K, V> values, K key, V value)")
    >>> prototype.name, [p.mutable for p in prototype.parameters]
    ('insertM', [True, False, False])
    >>> print(prototype)
    <any K, any V> void insertM(mutable map<K, V> values, K key, V value)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from penstock.ir.types import (
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    is_collection,
    is_complex,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    is_string,
    parse_type,
)


@dataclass(frozen=True, slots=True)
class TypeVariable(Type):
    """A name that stands for one type in a prototype."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A type variable of a prototype with the kind of types it stands for."""

    name: str
    constraint: str

    def __str__(self) -> str:
        return f"{self.constraint} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Formal:
    """A parameter of a prototype; its type may hold type variables."""

    name: str
    type: Type
    mutable: bool = False

    def __str__(self) -> str:
        return f"{'mutable ' if self.mutable else ''}{self.type} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prototype:
    """The prototype of a function: its parameters and the type of its result.

    Attributes:
        name: Without namespace.
        variables: Its type variables, in order.
        parameters: In order.
        returns: May hold type variables; `void` for none.
        stateful: Whether the call has an effect, or may give another value the next time.
    """

    name: str
    variables: tuple[Variable, ...] = ()
    parameters: tuple[Formal, ...]
    returns: Type
    stateful: bool = False

    def __str__(self) -> str:
        generic = f"<{', '.join(map(str, self.variables))}> " if self.variables else ""
        stateful = "stateful " if self.stateful else ""
        return f"{generic}{stateful}{self.returns} {self.name}({', '.join(map(str, self.parameters))})"


def _is_ordered(type_: Type) -> bool:
    """Whether `<` is defined on the type."""
    named = isinstance(type_, Primitive) and type_.name in ("timestamp", "blob")
    return is_numeric(type_) or is_string(type_) or isinstance(type_, EnumType) or named


CONSTRAINTS: dict[str, Callable[[Type], bool]] = {
    "any": lambda type_: type_ != Primitive("void"),
    "numeric": is_numeric,
    "integral": is_integer,
    "float": is_float,
    "decimal": is_decimal,
    "complex": is_complex,
    "floatingpoint": lambda type_: is_float(type_) or is_decimal(type_),
    "string": is_string,
    "ordered": _is_ordered,
    "xml": lambda type_: type_ == Primitive("xml"),
    "enum": lambda type_: isinstance(type_, EnumType),
    "collection": is_collection,
    "list": lambda type_: isinstance(type_, ListType),
    "set": lambda type_: isinstance(type_, SetType),
    "map": lambda type_: isinstance(type_, MapType),
    "tuple": lambda type_: isinstance(type_, TupleType),
    "optional": lambda type_: isinstance(type_, OptionalType),
    "primitive": lambda type_: isinstance(type_, Primitive | EnumType) and type_ != Primitive("void"),
    "composite": lambda type_: is_collection(type_) or isinstance(type_, TupleType),
}
"""From the name of a constraint to what it allows."""

_HEAD = re.compile(
    r"\s*(?:<(?P<variables>[\w\s,]*)>\s*)?(?P<stateful>stateful\s+)?(?P<returns>.+?)\s*\b(?P<name>\w+)\s*\("
    r"(?P<parameters>.*)\)\s*",
    re.DOTALL,
)
_FORMAL = re.compile(r"\s*(?P<mutable>mutable\s+)?(?P<type>.+?)\s*\b(?P<name>\w+)\s*", re.DOTALL)


@cache
def parse_prototype(text: str) -> Prototype:
    """Read a prototype from its text.

    Raises:
        ValueError: The text is not a prototype; the message says why.

    Example:
        >>> parse_prototype("<string T> int32 length(T str)").returns
        Primitive(name='int32', bound=None)
    """
    head = _HEAD.fullmatch(text)
    if head is None:
        raise ValueError(f"`{text}` is not a prototype: expected `type name(parameters)`")
    variables = tuple(_variable(part) for part in (head["variables"] or "").split(",") if part.strip())
    names = {v.name for v in variables}

    def resolve(name: str) -> Type | None:
        return TypeVariable(name) if name in names else None

    return Prototype(
        name=head["name"],
        variables=variables,
        parameters=tuple(_formal(part, resolve) for part in split_parts(head["parameters"])),
        returns=parse_type(head["returns"], resolve),
        stateful=head["stateful"] is not None,
    )


def _variable(text: str) -> Variable:
    constraint, _, name = text.strip().partition(" ")
    if constraint not in CONSTRAINTS:
        raise ValueError(f"`{constraint}` is not a constraint; there are {', '.join(CONSTRAINTS)}")
    return Variable(name=name.strip(), constraint=constraint)


def _formal(text: str, resolve: Callable[[str], Type | None]) -> Formal:
    match = _FORMAL.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a parameter: expected `[mutable] type name`")
    return Formal(name=match["name"], type=parse_type(match["type"], resolve), mutable=match["mutable"] is not None)


def split_parts(text: str) -> Iterator[str]:
    """The parts between the commas that stand outside all brackets."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character in "<[{") - (character in ">]}")
        if character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    if text[start:].strip():
        yield text[start:]
