"""Expressions as SPL text.

What is printed means exactly what the tree says: literals carry their suffixes, every conversion that a front end
implied is a cast, and brackets leave no doubt about precedence. So compiling the text gives an equal tree. SPL has no
literals for timestamps, blobs and infinite floats, and the symbol of an enumeration needs its place to tell its type;
these are printed for people only.

Example:
    >>> from penstock.ir.expressions import Attribute, Binary, Literal
    >>> from penstock.ir.types import BOOLEAN, INT64
    >>> x = Attribute(name="x", type=INT64)
    >>> expression_text(Binary(operator=">", left=x, right=Literal(value=5, type=INT64), type=BOOLEAN))
    'x > 5l'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

from penstock.ir import expressions as ir
from penstock.ir.system_enumerations import scope_of
from penstock.ir.types import (
    RSTRING,
    TIMESTAMP,
    USTRING,
    VOID,
    XML,
    ListType,
    MapType,
    OptionalType,
    SetType,
    TupleType,
    Type,
)


class _Binds(IntEnum):
    """How tightly the text of an expression holds together."""

    LOOSELY = 0
    PREFIX = 1
    POSTFIX = 2


_SUFFIXES = {
    "int8": "sb",
    "int16": "h",
    "int32": "",
    "int64": "l",
    "uint8": "ub",
    "uint16": "uh",
    "uint32": "u",
    "uint64": "ul",
    "float32": "fw",
    "float64": "",
    "decimal32": "dw",
    "decimal64": "d",
    "decimal128": "dq",
}
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def expression_text(expression: ir.Expression, ports: Sequence[str] = ()) -> str:
    """The expression as SPL.

    Args:
        expression: Any.
        ports: The names of the input ports; attributes are qualified where there are several.
    """
    return _Printer(ports).text(expression)[0]


def quoted(text: str) -> str:
    """A string as an SPL literal.

    Example:
        >>> print(quoted('say "hi"'))
        "say \\"hi\\""
    """
    escaped = (_ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text)
    return f'"{"".join(escaped)}"'


class _Printer:
    """Prints expressions over ports of given names."""

    def __init__(self, ports: Sequence[str]) -> None:
        self.ports = ports

    def text(self, x: ir.Expression) -> tuple[str, _Binds]:
        return _PRINTS[type(x)](self, x)

    def tight(self, x: ir.Expression, binds: _Binds = _Binds.POSTFIX) -> str:
        """The text, in brackets unless it holds together well enough."""
        text, found = self.text(x)
        return text if found >= binds else f"({text})"

    def loose(self, x: ir.Expression) -> str:
        return self.text(x)[0]

    def port(self, index: int) -> str:
        return self.ports[index] if index < len(self.ports) else f"port{index}"

    def attribute(self, x: ir.Attribute) -> tuple[str, _Binds]:
        qualified = len(self.ports) > 1 or (x.port > 0 and not self.ports)
        return (f"{self.port(x.port)}.{x.name}" if qualified else x.name), _Binds.POSTFIX

    def input_tuple(self, x: ir.InputTuple) -> tuple[str, _Binds]:
        return self.port(x.port), _Binds.POSTFIX

    def named(self, x: ir.Variable | ir.Symbol) -> tuple[str, _Binds]:
        return x.name, _Binds.POSTFIX

    def literal(self, x: ir.Literal) -> tuple[str, _Binds]:
        text = literal_text(x)
        return text, _Binds.PREFIX if text[0] in "-(" else _Binds.POSTFIX

    def field(self, x: ir.Field) -> tuple[str, _Binds]:
        return f"{self.tight(x.base)}.{x.name}", _Binds.POSTFIX

    def index(self, x: ir.Index) -> tuple[str, _Binds]:
        return f"{self.tight(x.base)}[{self.loose(x.index)}]", _Binds.POSTFIX

    def slice(self, x: ir.Slice) -> tuple[str, _Binds]:
        lower, upper = ("" if bound is None else self.loose(bound) for bound in (x.lower, x.upper))
        return f"{self.tight(x.base)}[{lower}:{upper}]", _Binds.POSTFIX

    def unary(self, x: ir.Unary) -> tuple[str, _Binds]:
        if x.operator == "unwrap":
            return f"{self.tight(x.operand)}!", _Binds.POSTFIX
        return f"{x.operator}{self.tight(x.operand)}", _Binds.PREFIX

    def binary(self, x: ir.Binary) -> tuple[str, _Binds]:
        left, right = self.tight(x.left, _Binds.PREFIX), self.tight(x.right, _Binds.PREFIX)
        return f"{left} {x.operator} {right}", _Binds.LOOSELY

    def conditional(self, x: ir.Conditional) -> tuple[str, _Binds]:
        test, then, otherwise = (self.tight(part, _Binds.PREFIX) for part in (x.test, x.then, x.otherwise))
        return f"{test} ? {then} : {otherwise}", _Binds.LOOSELY

    def cast(self, x: ir.Cast) -> tuple[str, _Binds]:
        return f"({x.type}) {self.tight(x.operand, _Binds.PREFIX)}", _Binds.PREFIX

    def call(self, x: ir.Call | ir.OutputCall) -> tuple[str, _Binds]:
        return f"{x.function}({', '.join(map(self.argument, x.arguments))})", _Binds.POSTFIX

    def argument(self, x: ir.Expression) -> str:
        """An argument; its place may allow several types, so the symbol of an enumeration is written with its scope."""
        scope = scope_of(x.type) if isinstance(x, ir.Literal) else None
        return self.loose(x) if scope is None else f"{scope}.{self.loose(x)}"

    def list(self, x: ir.ListLiteral) -> tuple[str, _Binds]:
        natural = ListType(x.elements[0].type if x.elements else VOID)
        return _typed(f"[{', '.join(map(self.loose, x.elements))}]", x.type, natural)

    def set(self, x: ir.SetLiteral) -> tuple[str, _Binds]:
        natural = SetType(x.elements[0].type if x.elements else VOID)
        return _typed(f"{{{', '.join(map(self.loose, x.elements))}}}", x.type, natural)

    def map(self, x: ir.MapLiteral) -> tuple[str, _Binds]:
        natural = MapType(x.keys[0].type, x.values[0].type) if x.keys else None
        entries = (f"{self.loose(k)}: {self.loose(v)}" for k, v in zip(x.keys, x.values, strict=True))
        return _typed(f"{{{', '.join(entries)}}}", x.type, natural)

    def tuple_(self, x: ir.TupleLiteral) -> tuple[str, _Binds]:
        assert isinstance(x.type, TupleType)
        fields = (f"{name} = {self.loose(value)}" for name, value in zip(x.type.names, x.values, strict=True))
        return _typed(f"{{{', '.join(fields)}}}", x.type, x.type if x.values else None)

    def update(self, x: ir.Update) -> tuple[str, _Binds]:
        target = self.tight(x.target)
        if x.postfix:
            return f"{target}{x.operator * 2}", _Binds.POSTFIX
        return f"({target} {x.operator}= {self.loose(x.value)})", _Binds.POSTFIX


_PRINTS: dict[type, Callable[..., tuple[str, _Binds]]] = {
    ir.Attribute: _Printer.attribute,
    ir.InputTuple: _Printer.input_tuple,
    ir.Variable: _Printer.named,
    ir.Symbol: _Printer.named,
    ir.Literal: _Printer.literal,
    ir.Field: _Printer.field,
    ir.Index: _Printer.index,
    ir.Slice: _Printer.slice,
    ir.Unary: _Printer.unary,
    ir.Binary: _Printer.binary,
    ir.Conditional: _Printer.conditional,
    ir.Cast: _Printer.cast,
    ir.Call: _Printer.call,
    ir.OutputCall: _Printer.call,
    ir.ListLiteral: _Printer.list,
    ir.SetLiteral: _Printer.set,
    ir.MapLiteral: _Printer.map,
    ir.TupleLiteral: _Printer.tuple_,
    ir.Update: _Printer.update,
}


def _typed(text: str, type_: Type, natural: Type | None) -> tuple[str, _Binds]:
    """A collection literal, with a cast where its elements do not tell its type."""
    return (text, _Binds.POSTFIX) if type_ == natural else (f"({type_}) {text}", _Binds.PREFIX)


def literal_text(x: ir.Literal) -> str:
    """A literal as SPL, with the suffix that tells its type.

    Example:
        >>> from penstock.ir.types import UINT8
        >>> literal_text(ir.Literal(value=7, type=UINT8))
        '7ub'
    """
    value: Any = x.value
    match value:
        case None:
            return "null" if x.type == OptionalType(VOID) else f"({x.type}) null"
        case bool():
            return "true" if value else "false"
        case str() if x.type in (RSTRING, USTRING, XML):
            return quoted(value) + {USTRING: "u", XML: "x"}.get(x.type, "")
        case str():
            return value
        case bytes():
            return f"(blob) [{', '.join(f'{byte}ub' for byte in value)}]"
        case int() if x.type == TIMESTAMP:
            return f"createTimestamp({value // 10**9}l, {value % 10**9}u)"
    if not math.isfinite(value):
        return f"({x.type}) {quoted(str(value))}"
    return (repr(value) if isinstance(value, float) else str(value)) + _SUFFIXES[str(x.type)]
