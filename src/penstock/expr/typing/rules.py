"""Which types convert to which: the rules, without expressions.

An implicit conversion never loses more than the low digits of a number that becomes a float:

| from | to |
|---|---|
| a signed integer | a signed integer at least as wide |
| an unsigned integer | an unsigned integer at least as wide, a wider signed integer |
| an integer | any float or decimal type |
| float32 | float64 |
| a decimal type | a wider decimal type |
| complex32 | complex64 |
| a bounded string or collection | the same with another bound, or none |
| T | optional<T>, and where T converts to U, optional<U> |
| a tuple | a tuple with the same attribute names, each convertible |

Everything else that makes sense is an explicit cast.

Example:
    >>> from penstock.ir.types import FLOAT64, INT32, UINT32
    >>> can_convert(INT32, FLOAT64), can_convert(INT32, UINT32), can_cast(INT32, UINT32)
    (True, False, True)
"""

from __future__ import annotations

from dataclasses import replace

from penstock.expr.values import integer_range
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    COMPLEX32,
    COMPLEX64,
    DECIMALS,
    FLOATS,
    SIGNED,
    TIMESTAMP,
    UINT8,
    UNSIGNED,
    VOID,
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
)

_NUMERIC = tuple(Primitive(name) for pair in zip(SIGNED, UNSIGNED, strict=True) for name in reversed(pair))
_CANDIDATES = _NUMERIC + tuple(Primitive(name) for name in (*FLOATS, *DECIMALS))
"""The numeric types from narrow to wide: what a common type is looked for in."""


def can_convert(source: Type, target: Type) -> bool:
    """Whether a value of one type becomes a value of another without a cast.

    Example:
        >>> from penstock.ir.types import INT8, OptionalType, INT64
        >>> can_convert(INT8, OptionalType(INT64))
        True
    """
    if source == target:
        return True
    match source, target:
        case OptionalType(inner=inner), OptionalType(inner=wanted):
            return inner == VOID or can_convert(inner, wanted)
        case _, OptionalType(inner=wanted):
            return can_convert(source, wanted)
        case Primitive(), Primitive():
            return _widens(source, target)
        case TupleType(), TupleType():
            return set(source.names) == set(target.names) and all(
                can_convert(source.attribute(a.name).type, a.type) for a in target.attributes
            )
    return is_collection(source) and _is_empty_or_equal(source, target)


def _widens(source: Primitive, target: Primitive) -> bool:
    if is_string(source):
        return source.name == target.name
    if not (is_numeric(source) and is_numeric(target)):
        return (source, target) == (COMPLEX32, COMPLEX64)
    if is_integer(source):
        return not is_integer(target) or _holds_integers_of(target, source)
    same_kind = is_float(target) if is_float(source) else is_decimal(target)
    return same_kind and source.bits < target.bits


def _holds_integers_of(target: Primitive, source: Primitive) -> bool:
    if (source.name in UNSIGNED) == (target.name in UNSIGNED):
        return source.bits <= target.bits
    return source.name in UNSIGNED and source.bits < target.bits


def _is_empty_or_equal(source: Type, target: Type) -> bool:
    """Whether two collection types differ in their bound alone, or the source is the type of an empty literal."""
    match source, target:
        case (ListType(element=a), ListType(element=b)) | (SetType(element=a), SetType(element=b)):
            return a in (VOID, b)
        case MapType(key=key, value=value), MapType():
            return key == VOID or (key, value) == (target.key, target.value)
        case SetType(element=element), MapType():
            return element == VOID
    return False


def can_cast(source: Type, target: Type) -> bool:
    """Whether `(target) value` is defined.

    Beyond implicit conversions: between all numeric types, between anything and its text, between an enum and its
    positions, a blob and its bytes, a timestamp and its seconds, from a list of two numbers to a complex number, and
    element by element inside collections, tuples and optionals.

    Example:
        >>> from penstock.ir.types import RSTRING, parse_type
        >>> can_cast(parse_type("list<int32>"), RSTRING), can_cast(parse_type("list<int32>"), parse_type("boolean"))
        (True, False)
    """
    if VOID in (source, target):
        return False
    if can_convert(source, target) or is_string(source) or is_string(target):
        return True
    return _can_cast_primitive(source, target) or _can_cast_parts(source, target)


def _can_cast_primitive(source: Type, target: Type) -> bool:
    if (is_numeric(source) and is_numeric(target)) or (is_complex(source) and is_complex(target)):
        return True
    if isinstance(source, ListType) and is_complex(target):
        return is_numeric(source.element)
    for one, other in ((source, target), (target, source)):
        if isinstance(one, EnumType) and is_integer(other):
            return True
        if one == TIMESTAMP and (is_float(other) or is_decimal(other)):
            return True
        if one == BLOB and isinstance(other, ListType) and other.element == UINT8:
            return True
    return False


def _can_cast_parts(source: Type, target: Type) -> bool:
    match source, target:
        case OptionalType(inner=inner), OptionalType(inner=wanted):
            return can_cast(inner, wanted)
        case _, OptionalType(inner=wanted):
            return can_cast(source, wanted)
        case (ListType(element=a), ListType(element=b)) | (SetType(element=a), SetType(element=b)):
            return can_cast(a, b)
        case MapType(), MapType():
            return can_cast(source.key, target.key) and can_cast(source.value, target.value)
        case TupleType(), TupleType():
            return all(
                a.name in source.position and can_cast(source.attribute(a.name).type, a.type) for a in target.attributes
            )
    return False


def common_type(left: Type, right: Type) -> Type | None:
    """The narrowest type that both convert to, or none. Two integers never meet in a float.

    Example:
        >>> from penstock.ir.types import INT32, UINT32, INT64, UINT64
        >>> str(common_type(INT32, UINT32)), common_type(INT64, UINT64)
        ('int64', None)
    """
    if can_convert(right, left) and not can_convert(left, right):
        return left
    if can_convert(left, right):
        return unbounded(right) if can_convert(right, left) and left != right else right
    if is_numeric(left) and is_numeric(right):
        candidates = _NUMERIC if is_integer(left) and is_integer(right) else _CANDIDATES
        return next((t for t in candidates if can_convert(left, t) and can_convert(right, t)), None)
    return _common_optional(left, right)


def _common_optional(left: Type, right: Type) -> Type | None:
    if not isinstance(left, OptionalType) and not isinstance(right, OptionalType):
        return None
    a, b = (t.inner if isinstance(t, OptionalType) else t for t in (left, right))
    if a == VOID or b == VOID:
        return OptionalType(b if a == VOID else a)
    inner = common_type(a, b)
    return None if inner is None else OptionalType(inner)


def unbounded(type_: Type) -> Type:
    """A string or collection type without its own bound."""
    if isinstance(type_, Primitive | ListType | SetType | MapType) and type_.bound is not None:
        return replace(type_, bound=None)
    return type_


def is_ordered(type_: Type) -> bool:
    """Whether `<` is defined on the type: numbers, strings, timestamps, enums by position, booleans, blobs."""
    return is_numeric(type_) or is_string(type_) or isinstance(type_, EnumType) or type_ in (BOOLEAN, TIMESTAMP, BLOB)


def is_hashable(type_: Type) -> bool:
    """Whether values of the type can be elements of a set or keys of a map.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> is_hashable(parse_type("tuple<int32 a, rstring b>")), is_hashable(parse_type("list<int32>"))
        (True, False)
    """
    match type_:
        case Primitive(name=name):
            return name != "void"
        case EnumType():
            return True
        case TupleType(attributes=attributes):
            return all(is_hashable(a.type) for a in attributes)
    return False


def fits(value: int, type_: Type) -> bool:
    """Whether an integer is a value of an integer type.

    Example:
        >>> from penstock.ir.types import INT8
        >>> fits(127, INT8), fits(128, INT8)
        (True, False)
    """
    low, high = integer_range(type_) if isinstance(type_, Primitive) else (0, -1)
    return low <= value <= high
