"""Python expressions with types that are known before anything runs.

A node is an expression of a function, evaluated for the rows of one path through it. Its `row` is the same expression
in Python, so that it can always be computed row by row; `vector` names the operation over columns where there is one
that gives the same to the bit. Nodes are told apart by identity: a local variable that is read twice is one node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.expr.values import integer_range
from penstock.ir.types import EnumType, OptionalType, Primitive, Type, is_float, is_integer, is_string

LEAST, GREATEST = -(2**63), 2**63 - 1
EXACT = 2**53
"""All integers up to this size are floats."""


class NotUnderstood(Exception):
    """A function, or a part of it, cannot become columns; says why."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of a value: its type, its range, and whether it may be None.

    Attributes:
        name: `bool`, `int`, `float`, `str`, `none`; of others, which stay inside the expression of a row, `match` and
            `list`; `opaque` for an attribute that can only be handed on.
        low: The least that an integer can be.
        high: The greatest.
        optional: Whether it may be None.
    """

    name: str
    low: int = LEAST
    high: int = GREATEST
    optional: bool = False

    @property
    def is_column(self) -> bool:
        """Whether there are columns of it."""
        return self.name in ("bool", "int", "float", "str")

    @property
    def fits(self) -> bool:
        """Whether an integer cannot leave 64 bits."""
        return self.low >= LEAST and self.high <= GREATEST


BOOL, INT, FLOAT, STR, NONE = (Kind(name) for name in ("bool", "int", "float", "str", "none"))
MATCH, LIST, OPAQUE = Kind("match", optional=True), Kind("list"), Kind("opaque")


def kind_of_type(type_: Type) -> Kind:
    """The kind of the values of an SPL type, as Python sees them.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> kind_of_type(parse_type("optional<int8>"))
        Kind(name='int', low=-128, high=127, optional=True)
    """
    if isinstance(type_, OptionalType):
        inner = kind_of_type(type_.inner)
        return replace(inner, optional=True) if inner.is_column else OPAQUE
    if is_integer(type_):
        assert isinstance(type_, Primitive)
        low, high = integer_range(type_)
        return Kind("int", low, min(high, GREATEST))  # a greater one leaves
    if type_ == Primitive("timestamp"):
        return INT
    if is_float(type_):
        return FLOAT
    if is_string(type_) or isinstance(type_, EnumType):
        return STR
    return BOOL if type_ == Primitive("boolean") else OPAQUE


def kind_of_value(value: Any) -> Kind | None:
    """The kind of a constant; None if it has none."""
    if type(value) is int:
        return Kind("int", value, value)
    return {bool: BOOL, float: FLOAT, str: STR, type(None): NONE}.get(type(value))


def unify(kinds: list[Kind]) -> Kind:
    """The kind of a value that comes from one of several places.

    Raises:
        NotUnderstood: They differ by more than that some may be None.
    """
    names = {k.name for k in kinds} - {"none"}
    if len(names) != 1:
        words = " or ".join(sorted(names)) or "None"
        raise NotUnderstood(f"a value is {words}, by branch")
    (name,) = names
    if name not in ("bool", "int", "float", "str"):
        raise NotUnderstood("a value that is no number, text or truth value depends on a branch")
    numbers = [k for k in kinds if k.name == name]
    optional = any(k.optional or k.name == "none" for k in kinds)
    return Kind(name, min(k.low for k in numbers), max(k.high for k in numbers), optional)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Some of the rows: those of `parent` for which `test` is `holds`, or those of any of `either`."""

    parent: Path | None = None
    test: Node | None = None
    holds: bool = True
    either: tuple[Path, ...] = ()


Where = Path | None
"""None is all rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An expression.

    Attributes:
        kind: What is known of its value.
        row: Its Python text, with `{0}`, `{1}`, ... for what it is made of.
        args: What it is made of.
        vector: The operation over columns; empty if there is none.
        path: The rows that need it.
        choices: Of a value that depends on the path, the paths.
        type: Of an attribute, or of a value that is made fit for one.
        name: Of an attribute, or a hint for the name of a variable.
        value: Of a constant.
    """

    kind: Kind
    row: str
    args: tuple[Node, ...] = ()
    vector: str = ""
    path: Where = None
    choices: tuple[Where, ...] = ()
    type: Type | None = None
    name: str = ""
    value: Any = None
    hints: list[str] = field(default_factory=list)

    @property
    def is_constant(self) -> bool:
        """Whether its value is known."""
        return self.vector == "constant"


def tests_on(where: Where) -> list[Node]:
    """The tests that say which rows a path is."""
    found: list[Node] = []
    ready: list[Path] = [] if where is None else [where]
    while ready:
        path = ready.pop()
        found += [] if path.test is None else [path.test]
        ready += [*path.either, *([] if path.parent is None else [path.parent])]
    return found


def refuse_lost(nodes: Iterable[Node]) -> None:
    """Refuse what is computed of constants alone, or of an attribute that has no columns to compute with.

    Raises:
        NotUnderstood: There is such a node.
    """
    seen: set[int] = set()
    ready = list(nodes)
    while ready:
        node = ready.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        ready += node.args
        if node.args and node.vector not in ("choose", "fit") and all(_is_fixed(a) for a in node.args):
            raise NotUnderstood("it computes something of constants")
        if node.vector != "fit" and any(a.vector == "attribute" and a.kind == OPAQUE for a in node.args):
            raise NotUnderstood("it computes with an attribute that is no number, text or truth value")


def _is_fixed(node: Node) -> bool:
    return node.vector in ("constant", "held")


@dataclass(frozen=True, slots=True)
class Record:
    """A tuple, a dict or an object with attributes, made of parts.

    Attributes:
        parts: Their values, nodes or records.
        names: Empty for a plain tuple or list.
        form: `row` for the tuple that came, `tuple`, `list`, `dict` or `object`.
    """

    parts: tuple[Any, ...]
    names: tuple[str, ...] = ()
    form: str = "tuple"

    def part(self, name: str) -> Any:
        """The part of a name."""
        if name not in self.names or self.form == "dict":
            raise NotUnderstood(f"it reads `{name}`, which is not an attribute")
        return self.parts[self.names.index(name)]


@dataclass(frozen=True, slots=True)
class Known:
    """An object of the program: a function, a class, a module, a lookup table."""

    object: Any


Value = Node | Record | Known


def constant(value: Any) -> Node:
    """The node of a constant.

    Raises:
        NotUnderstood: It is no number of 64 bits, no text, no truth value and not None.
    """
    kind = kind_of_value(value)
    if kind is None or not kind.fits:
        raise NotUnderstood(f"{value!r} is no constant that columns can hold")
    return Node(kind, _literal(value), vector="constant", value=value)


def held(hint: str, text: str) -> Node:
    """Something that the module holds under a name, such as a table or a pattern."""
    return Node(OPAQUE, text, vector="held", name=hint)


def _literal(value: Any) -> str:
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def literal(value: Any, most: int = 1000) -> str:
    """The Python text of a constant or of a table of constants.

    Raises:
        NotUnderstood: It holds other things, or too many.
    """
    if type(value) in (list, tuple, set, frozenset, dict) and len(value) > most:
        raise NotUnderstood(f"it has a table of more than {most} entries")
    if type(value) is dict:
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if type(value) is list:
        return f"[{', '.join(map(literal, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if type(value) in (set, frozenset):
        # A set says only whether something is in it, so the order of its text means nothing.
        return f"frozenset([{', '.join(sorted(map(literal, value)))}])"
    if kind_of_value(value) is None:
        raise NotUnderstood(f"a table holds a `{type(value).__name__}`")
    return _literal(value)
