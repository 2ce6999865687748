"""The order of values: what sorting, `min`, `max` and the iteration of sets go by.

Numbers, strings (by code point), timestamps and blobs have their natural order, false comes before true, the symbols
of an enum stand as they are declared, complex numbers compare by their real part first, lists and tuples compare
element by element, null comes first, and NaN last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.ir.types import EnumType, ListType, OptionalType, SetType, TupleType, Type, is_complex, is_float

Key = Callable[[Any], Any]


def order_key(type_: Type) -> Key | None:
    """The key function that sorts values of a type, or None where Python's own order is right.

    Example:
        >>> sorted(["green", "red"], key=order_key(EnumType(("red", "green"))))
        ['red', 'green']
    """
    match type_:
        case EnumType(symbols=symbols):
            return {symbol: i for i, symbol in enumerate(symbols)}.__getitem__
        case OptionalType(inner=inner):
            return _optional_key(order_key(inner))
        case ListType(element=element):
            key = order_key(element)
            return None if key is None else lambda value: [key(v) for v in value]
        case SetType(element=element):
            return ascending(element)
        case TupleType(attributes=attributes):
            return _tuple_key([order_key(a.type) for a in attributes])
    if is_complex(type_):
        return lambda value: (_float_key(value.real), _float_key(value.imag))
    return _float_key if is_float(type_) else None


def ascending(element: Type) -> Callable[[Iterable[Any]], list[Any]]:
    """A function that gives the elements of a set in ascending order.

    Example:
        >>> from penstock.ir.types import INT32
        >>> ascending(INT32)({3, 1, 2})
        [1, 2, 3]
    """
    key = order_key(element)
    return lambda values: sorted(values, key=key)


def _float_key(value: float) -> tuple[bool, float]:
    # NaN compares false with everything, which would make the order depend on how a set lies in memory.
    return (True, 0.0) if value != value else (False, value)


def _optional_key(inner: Key | None) -> Key:
    return lambda value: (False, None) if value is None else (True, value if inner is None else inner(value))


def _tuple_key(keys: list[Key | None]) -> Key | None:
    if all(key is None for key in keys):
        return None
    filled = [key or (lambda value: value) for key in keys]
    return lambda value: tuple(key(v) for key, v in zip(filled, value, strict=True))
