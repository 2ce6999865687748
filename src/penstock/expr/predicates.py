"""Predicates over named values, as Import's `subscription` and `filter` write them.

    predicate  = clause {"&&" clause} {"||" ...}       parentheses and "!" as usual
    clause     = value ("==" | "!=" | "<" | "<=" | ">" | ">=") value | literal "in" name | name
    value      = arithmetic | literal
    arithmetic = ["~"] (name {"." name | "[" integer "]" | "[" string "]"} | "(" arithmetic ")") [operator integer]
    operator   = "%" | "+" | "-" | "*" | "/" | "&" | "|" | "^" | "<<" | ">>"
    literal    = string, integer or number, with or without a type suffix, true, false

Integers are divided as in SPL: what is left over has the sign of the dividend.

A name that a stream does not have, a subscript out of range and values that cannot be compared make a clause false.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.expr.values import interpret_literal
from penstock.ir.types import ListType, MapType, TupleType, Type

Values = Mapping[str, Any]
Predicate = Callable[[Values], bool]
Value = Callable[[Values], Any]

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')[ru]?
    |(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[a-z]{0,2}
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||<<|>>|[=!<>]=|[<>!()%\[\].+*/&|^~-]))""",
    re.VERBOSE,
)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _divide(left: Any, right: int) -> Any:
    return left / right if isinstance(left, float) else int(math.copysign(abs(left) // abs(right), left * right))


def _remainder(left: Any, right: int) -> Any:
    return math.fmod(left, right) if isinstance(left, float) else left - right * _divide(left, right)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "%": _remainder,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def named_values(type_: TupleType, values: tuple[Any, ...]) -> dict[str, Any]:
    """The attributes of a tuple by name, as a predicate reads them.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> named_values(parse_schema("int32 x, tuple<rstring a> t"), (1, ("b",)))
        {'x': 1, 't': {'a': 'b'}}
    """
    return {a.name: _named(a.type, value) for a, value in zip(type_.attributes, values, strict=True)}


def _named(type_: Type, value: Any) -> Any:
    """A value in which tuples have names."""
    if isinstance(type_, TupleType):
        return named_values(type_, value)
    if isinstance(type_, ListType):
        return [_named(type_.element, part) for part in value] if _has_tuples(type_) else value
    if isinstance(type_, MapType) and _has_tuples(type_):
        return {key: _named(type_.value, part) for key, part in value.items()}
    return value


def _has_tuples(type_: Type) -> bool:
    return any(isinstance(part, TupleType) for part in type_.walk())


class _Missing(Exception):
    """A stream does not have what a clause speaks of."""


def parse_predicate(text: str) -> Predicate:
    """A function that tells whether named values satisfy the predicate.

    Raises:
        UserError: The text is no predicate.

    Example:
        >>> predicate = parse_predicate('kind == "bargains" && ("x" in tags || g[1] > 6.7)')
        >>> predicate({"kind": "bargains", "tags": ["y"], "g": [1.0, 7.0]})
        True
        >>> predicate({"kind": "bargains"})
        False
    """
    parser = _Parser(text)
    predicate = parser.disjunction()
    if parser.token:
        parser.fail("the end")
    return predicate


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.kind = self.token = ""
        self.advance()

    def advance(self) -> str:
        taken = self.token
        match = _TOKEN.match(self.text, self.position)
        rest = self.text[self.position :].strip()
        if match is None and rest:
            raise UserError(f"`{self.text}` is no predicate: unexpected `{rest[:10]}`")
        self.kind, self.token = (match.lastgroup or "", match[match.lastgroup or 0]) if match else ("", "")
        self.position = match.end() if match else len(self.text)
        return taken

    def fail(self, wanted: str) -> None:
        raise UserError(f"`{self.text}` is no predicate: expected {wanted}, found `{self.token or 'the end'}`")

    def expect(self, token: str) -> None:
        if self.token != token:
            self.fail(f"`{token}`")
        self.advance()

    def disjunction(self) -> Predicate:
        parts = [self.conjunction()]
        while self.token == "||":
            self.advance()
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else lambda values: any(p(values) for p in parts)

    def conjunction(self) -> Predicate:
        parts = [self.clause()]
        while self.token == "&&":
            self.advance()
            parts.append(self.clause())
        return parts[0] if len(parts) == 1 else lambda values: all(p(values) for p in parts)

    def clause(self) -> Predicate:
        if self.token == "!" and self.kind == "sign":
            self.advance()
            negated = self.clause()
            return lambda values: not negated(values)
        if self.token == "(" and self.kind == "sign" and not self.is_arithmetic():
            self.advance()
            inner = self.disjunction()
            self.expect(")")
            return inner
        return self.comparison()

    def is_arithmetic(self) -> bool:
        """Whether the parenthesis here holds a value: something computes or compares with it."""
        depth, position = 0, self.position - 1
        for match in _TOKEN.finditer(self.text, position):
            depth += (match["sign"] == "(") - (match["sign"] == ")")
            if depth == 0:
                following = _TOKEN.match(self.text, match.end())
                return following is not None and (following["sign"] or "") in (*_COMPARISONS, *_ARITHMETIC)
        return False

    def comparison(self) -> Predicate:
        left = self.value()
        if self.kind == "name" and self.token == "in":
            self.advance()
            container = self.value()
            return _clause(lambda values: left(values) in container(values))
        if self.kind == "sign" and self.token in _COMPARISONS:
            compare = _COMPARISONS[self.advance()]
            right = self.value()
            return _clause(lambda values: compare(left(values), right(values)))
        return _clause(lambda values: left(values) is True)

    def value(self) -> Value:
        kind, token = self.kind, self.token
        if kind in ("string", "number") or (kind == "name" and token in ("true", "false")):
            self.advance()
            literal = _literal(kind, token)
            return lambda values: literal
        return self.arithmetic()

    def arithmetic(self) -> Value:
        if self.kind == "sign" and self.token == "~":
            self.advance()
            return self.computed(_apply(operator.invert, self.operand()))
        return self.computed(self.operand())

    def operand(self) -> Value:
        if self.kind == "sign" and self.token == "(":
            self.advance()
            inner = self.arithmetic()
            self.expect(")")
            return inner
        if self.kind != "name":
            self.fail("a name or a literal")
        found: Value = partial(_look_up, self.advance())
        while self.kind == "sign" and self.token in (".", "["):
            found = self.part(found)
        return found

    def part(self, whole: Value) -> Value:
        """An attribute of a tuple, or an element of a list or a map."""
        if self.advance() == ".":
            if self.kind != "name":
                self.fail("the name of an attribute")
            return _apply(operator.getitem, whole, self.advance())
        index = _literal(self.kind, self.advance()) if self.kind == "string" else self.integer()
        self.expect("]")
        return _apply(operator.getitem, whole, index)

    def computed(self, left: Value) -> Value:
        """A value, or what an operator and an integer behind it make of it."""
        if self.kind == "number" and self.token.startswith("-"):
            return _apply(operator.add, left, self.integer())  # `a -1`
        if self.kind == "sign" and self.token in _ARITHMETIC:
            compute = _ARITHMETIC[self.advance()]
            return _apply(compute, left, self.integer())
        return left

    def integer(self) -> int:
        if self.kind != "number" or not self.token.removeprefix("-").isdigit():
            self.fail("an integer")
        return int(self.advance())


def _literal(kind: str, token: str) -> Any:
    if kind == "string":
        return interpret_literal(token)
    if kind == "name":
        return token == "true"
    return float(token) if any(c in token for c in ".eE") else int(token)


def _look_up(name: str, values: Values) -> Any:
    if name not in values:
        raise _Missing
    return values[name]


def _apply(compute: Callable[..., Any], value: Value, *more: int | str) -> Value:
    return lambda values: compute(value(values), *more)


def _clause(test: Predicate) -> Predicate:
    def safe(values: Values) -> bool:
        try:
            return bool(test(values))
        except (_Missing, TypeError, LookupError, ArithmeticError, ValueError):
            return False

    return safe
