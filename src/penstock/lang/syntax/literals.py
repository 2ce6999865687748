"""The values of numbers and strings as SPL writes them.

A number has at most two suffix letters, in any order: its kind (`s` signed, `u` unsigned, `f` float, `d` decimal) and
its width (`b` 8, `h` 16, `w` 32, `l` 64, `q` 128 bits). Without suffix it is a literal that fits itself to where it
stands.

Example:
    >>> [str(number(text).type) for text in ("5", "5l", "5u", "7ub", "0xFF", "2.5", "2.5w", "5f", "5d")]
    ['int32', 'int64', 'uint32', 'uint8', 'int32', 'float64', 'float32', 'float64', 'decimal64']
    >>> string(r'"a\\tb"').value
    'a\\tb'
"""

from __future__ import annotations

import re
from decimal import Decimal

from penstock.base.diagnostics import Diagnostic, Span, UserError
from penstock.expr import typing
from penstock.expr.values import as_type
from penstock.expr.values.scalars import parse_xml
from penstock.ir.expressions import Literal
from penstock.ir.types import PRIMITIVES, RSTRING, USTRING, XML, Primitive, is_decimal, is_float

_NUMBER = re.compile(
    r"(?P<hex>-?0[xX][0-9a-fA-F]+?)(?P<hex_suffix>[su]?[hwl]?|[su][bhwl]|[bhwl][su])$|"
    r"-?(?=\.?\d)\d*(?P<fraction>\.\d*)?(?P<exponent>[eE][+-]?\d+)?(?P<suffix>[A-Za-z]*)$"
)
_KINDS = {"s": "int", "u": "uint", "f": "float", "d": "decimal"}
_WIDTHS = {"b": 8, "h": 16, "w": 32, "l": 64, "q": 128}
_DEFAULT_WIDTH = {"int": 32, "uint": 32, "float": 64, "decimal": 64}
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\({_PAIR}|x[0-9a-fA-F]{{2}}|u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}|[0-7]{{1,3}}|[\s\S])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}


def number(text: str, span: Span | None = None) -> Literal:
    """The literal of a number, with its sign.

    Raises:
        UserError: A suffix that does not exist, or a value that its type cannot hold.
    """
    match = _NUMBER.match(text)
    if match is None:
        raise _bad(f"`{text}` is not a number", span)
    if match["hex"]:
        return typing.literal(int(match["hex"], 16), _type_of(match["hex_suffix"], "int", text, span), span)
    whole = not (match["fraction"] or match["exponent"])
    type_ = _type_of(match["suffix"], "int" if whole else "float", text, span)
    written = text[: len(text) - len(match["suffix"])]
    if type_ is None:
        return typing.literal(int(written) if whole else float(written), None, span)
    return _typed(written, whole, type_, span)


def _typed(written: str, whole: bool, type_: Primitive, span: Span | None) -> Literal:
    if is_float(type_):
        return Literal(type=type_, value=as_type(float(written), type_), span=span)
    if is_decimal(type_):
        return Literal(type=type_, value=as_type(Decimal(written), type_), span=span)
    if not whole:
        raise _bad(f"`{written}` has a fraction, but its suffix says {type_}", span)
    return typing.literal(int(written), type_, span)


def _type_of(suffix: str, kind: str, text: str, span: Span | None) -> Primitive | None:
    """The type that a suffix names; none if there is no suffix."""
    if not suffix:
        return None
    kinds = [c for c in suffix if c in _KINDS]
    widths = [c for c in suffix if c in _WIDTHS]
    if len(kinds) + len(widths) == len(suffix) and len(kinds) <= 1 and len(widths) <= 1:
        kind = _KINDS[kinds[0]] if kinds else kind
        name = f"{kind}{_WIDTHS[widths[0]] if widths else _DEFAULT_WIDTH[kind]}"
        if name in PRIMITIVES:
            return Primitive(name)
    hint = "suffixes are u, b, h, w, l for integers, w and l for floats, d for decimals"
    raise _bad(f"`{text}` is not a number: there is no suffix `{suffix}`", span, hint)


def string(text: str, span: Span | None = None) -> Literal:
    """The literal of a string with quotes and suffix: `r` for rstring (also without suffix), `u` for ustring,
    `x` for xml.

    Raises:
        UserError: The suffix does not exist, or a document is not well-formed.
    """
    end = text.rindex(text[0])
    suffix = text[end + 1 :]
    if suffix not in ("", "r", "u", "x"):
        raise _bad(
            f"there is no string suffix `{suffix}`", span, "suffixes are r for rstring, u for ustring and x for xml"
        )
    value = _ESCAPE.sub(_unescape, text[1:end])
    if suffix == "x":
        try:
            return Literal(type=XML, value=parse_xml(value), span=span)
        except ValueError as problem:
            raise _bad(str(problem), span) from None
    return Literal(type=USTRING if suffix == "u" else RSTRING, value=value, span=span)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if "\\u" in code:
        return bytes.fromhex(code.replace("\\u", "")[1:]).decode("utf-16-be")
    if code[0] in "xuU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point <= 0x10FFFF and not 0xD800 <= point < 0xE000 else "\ufffd"
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPES.get(code, code)


def _bad(message: str, span: Span | None, hint: str | None = None) -> UserError:
    return UserError(Diagnostic(message=message, span=span, hint=hint))
