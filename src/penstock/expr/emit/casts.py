"""Casts as Python text.

A cast that changes no bits is no text at all: a wider integer, a value that becomes an optional, a bounded string that
becomes unbounded.
"""

from __future__ import annotations

from penstock.expr.emit.arithmetic import bind, bind_optional, decimal_context, wrap
from penstock.expr.emit.code import TERNARY, Code
from penstock.expr.emit.scope import Scope
from penstock.expr.typing.rules import can_convert
from penstock.expr.values import integer_range
from penstock.ir.types import (
    BLOB,
    COMPLEX32,
    FLOAT32,
    TIMESTAMP,
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
    is_string,
)


def cast_code(value: Code, source: Type, target: Type, scope: Scope) -> Code:
    """`(target) value`.

    Example:
        >>> from penstock.expr.emit.scope import Module
        >>> from penstock.ir.types import INT8, INT32, INT64
        >>> scope = Scope(module=Module())
        >>> cast_code(Code("a"), INT32, INT64, scope).text, cast_code(Code("a"), INT32, INT8, scope).text
        ('a', '(a + 0x80 & 0xff) - 0x80')
    """
    if source == target:
        return value
    if isinstance(target, OptionalType):
        return _to_optional(value, source, target.inner, scope)
    if is_string(target):
        return _to_string(value, source, target, scope)
    if is_string(source):
        return Code(f"{scope.module.define('parse', f'parser({_spell(target)})')}({value.text})")
    if isinstance(target, Primitive | EnumType):
        return _to_primitive(value, source, target, scope)
    if isinstance(target, TupleType):
        return _to_tuple(value, source, target, scope)
    return _to_collection(value, source, target, scope)


def _spell(type_: Type) -> str:
    return f'parse_type("{type_}")'


def _to_optional(value: Code, source: Type, inner: Type, scope: Scope) -> Code:
    if not isinstance(source, OptionalType):
        return cast_code(value, source, inner, scope)
    a, bind_a = bind_optional(value, scope)
    converted = cast_code(Code(a), source.inner, inner, scope)
    if converted.text == a:
        return value
    return Code(f"None if {bind_a} is None else {converted.at(TERNARY + 1)}", TERNARY)


def _to_string(value: Code, source: Type, target: Type, scope: Scope) -> Code:
    text = value
    if not is_string(source):
        text = Code(f"{scope.module.define('text', f'text_form({_spell(source)})')}({value.text})")
    bound, kept = getattr(target, "bound", None), getattr(source, "bound", None)
    if bound is None or (kept is not None and kept <= bound):
        return text
    return Code(f"{text.at(12)}[:{bound}]")


def _to_primitive(value: Code, source: Type, target: Type, scope: Scope) -> Code:
    if is_integer(target):
        return _to_integer(value, source, target, scope)
    if is_float(target):
        return _to_float(value, source, target)
    if is_decimal(target):
        return _to_decimal(value, source, target, scope)
    if is_complex(target):
        number = value if is_complex(source) else Code(f"complex_of({value.text})")
        return Code(f"round_complex32({number.text})") if target == COMPLEX32 else number
    if isinstance(target, EnumType):
        return Code(f"{scope.module.define('symbol', f'symbols({target.symbols!r})')}({value.text})")
    if target == TIMESTAMP:
        return Code(f"seconds_to_timestamp({value.text})")
    assert target == BLOB
    return Code(f"bytes({value.text})")


def _to_integer(value: Code, source: Type, target: Type, scope: Scope) -> Code:
    assert isinstance(target, Primitive)
    if isinstance(source, EnumType):
        order = scope.module.define("order", repr({symbol: i for i, symbol in enumerate(source.symbols)}))
        position = Code(f"{order}[{value.text}]")
        return position if len(source.symbols) <= integer_range(target)[1] + 1 else wrap(position, target)
    if is_integer(source):
        return value if can_convert(source, target) else wrap(value, target)
    low, high = integer_range(target)
    if is_decimal(source):
        return Code(f'decimal_to_integer({value.text}, {low}, {high}, "{target}")')
    a, bind_a = bind(value, scope)
    # The bounds are exact floats: the first values beyond the range that a float can have.
    lower = f"{float(low)!r} <= " if target.bits == 64 and low else f"{float(low - 1)!r} < "
    test = f"{lower}{bind_a} < {float(high + 1)!r}"
    return Code(f'int({a}) if {test} else out_of_range({a}, "{target}")', TERNARY)


def _to_float(value: Code, source: Type, target: Type) -> Code:
    number = value
    if source == TIMESTAMP:
        number = Code(f"float(timestamp_to_seconds({value.text}))")
    elif not is_float(source):
        number = Code(f"float({value.text})")
    return Code(f"round_float32({number.text})") if target == FLOAT32 else number


def _to_decimal(value: Code, source: Type, target: Type, scope: Scope) -> Code:
    context = decimal_context(target, scope)
    if source == TIMESTAMP:
        return Code(f"{context}.plus(timestamp_to_seconds({value.text}))")
    # A float becomes the decimal number that prints like it, not the binary fraction that it is.
    return Code(f"{context}.create_decimal({f'repr({value.text})' if is_float(source) else value.text})")


def _to_tuple(value: Code, source: Type, target: TupleType, scope: Scope) -> Code:
    assert isinstance(source, TupleType)
    a, bind_a = bind(value, scope)
    parts = [
        cast_code(Code(f"{a}[{source.position[t.name]}]"), source.attribute(t.name).type, t.type, scope).text
        for t in target.attributes
    ]
    made = f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return Code(made) if value.is_simple else Code(f"({bind_a}, {made})[1]")


def _to_collection(value: Code, source: Type, target: Type, scope: Scope) -> Code:
    if source == BLOB:
        return _bounded(Code(f"list({value.text})"), source, target)
    converted = value
    match source, target:
        case (ListType(element=a), ListType(element=b)) | (SetType(element=a), SetType(element=b)):
            if a != b:
                comprehension = _define_function(a, b, scope)
                kind = "list" if isinstance(target, ListType) else "set"
                converted = Code(f"{kind}(map({comprehension}, {_iterated(value, source, scope)}))")
        case MapType(), MapType():
            if (source.key, source.value) != (target.key, target.value):
                key = _define_function(source.key, target.key, scope)
                part = _define_function(source.value, target.value, scope)
                converted = Code(f"cast_map({value.text}, {key}, {part})")
    return _bounded(converted, source, target)


def _iterated(value: Code, source: Type, scope: Scope) -> str:
    """A set is cast in ascending order, so that which of two failing elements is reported does not depend on luck."""
    if isinstance(source, SetType):
        return f"{scope.module.define('ascending', f'ascending({_spell(source.element)})')}({value.text})"
    return value.text


def _define_function(source: Type, target: Type, scope: Scope) -> str:
    return scope.module.define("cast", f"lambda a: {cast_code(Code('a'), source, target, scope).text}")


def _bounded(value: Code, source: Type, target: Type) -> Code:
    bound, kept = getattr(target, "bound", None), getattr(source, "bound", None)
    if not is_collection(target) or bound is None or (kept is not None and kept <= bound):
        return value
    return Code(f"bounded({value.text}, {bound})")
