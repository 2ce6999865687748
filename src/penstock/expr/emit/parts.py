"""Strings, collections, tuples and optionals at run time: what emitted code calls where Python's own way differs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache
from types import SimpleNamespace
from typing import Any, NoReturn

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import resolve
from penstock.expr.values import literal_form, parse_form
from penstock.ir.types import (
    ListType,
    MapType,
    OptionalType,
    SetType,
    TupleType,
    Type,
    is_complex,
    is_decimal,
    is_float,
    parse_type,
)

Equality = Callable[[Any, Any], bool]

MISSING = object()
"""The result of a lookup where the map has no such key."""


class LogicState(SimpleNamespace):
    """The state variables of a logic clause, as attributes. It can be pickled."""


def no_value() -> NoReturn:
    """Fail as `x!` does on null."""
    raise EvaluationError("null has no value to unwrap")


def not_at(position: int, size: int) -> NoReturn:
    """Fail as an access beyond the end does."""
    raise EvaluationError(f"position {position} is out of range: the size is {size}")


def no_key(key: object, type_: Type) -> NoReturn:
    """Fail as a lookup of a missing key does."""
    raise EvaluationError(f"the map has no key {literal_form(type_)(key)}")


def too_deep(name: str) -> NoReturn:
    """Fail as a function does that calls itself without end."""
    raise EvaluationError(f"function `{name}` calls itself too often") from None


def standard(name: str, *types: str) -> Callable[..., Any]:
    """The implementation of a standard function for arguments of these types.

    Example:
        >>> standard("length", "rstring")("abc")
        3
    """
    return resolve(name, [parse_type(text) for text in types]).bind()


def parser(type_: Type) -> Callable[[str], Any]:
    """The cast from a string: reads a value, or fails as an evaluation does.

    Example:
        >>> parser(parse_type("int8"))("300")
        Traceback (most recent call last):
        penstock.expr.errors.EvaluationError: cannot cast "300" to int8: 300 is out of range for int8 (-128 to 127)
    """
    parse = parse_form(type_)
    quoted = literal_form(parse_type("rstring"))

    def read(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise EvaluationError(f"cannot cast {quoted(text)} to {type_}: {error}") from None

    return read


def is_float_inside(type_: Type) -> bool:
    """Whether a value of the type may hold NaN, which Python's containers compare by identity."""
    return any(is_float(part) or is_decimal(part) or is_complex(part) for part in type_.walk())


def has_nan(value: Any) -> bool:
    """Whether a number is NaN, or a tuple holds one.

    Example:
        >>> has_nan((1, float("nan")))
        True
    """
    return any(map(has_nan, value)) if isinstance(value, tuple) else bool(value != value)


@cache
def equality(type_: Type) -> Equality:
    """The function that compares composite values of a type; NaN differs from itself wherever it stands.

    Example:
        >>> nan = float("nan")
        >>> [nan] == [nan], equality(parse_type("list<float64>"))([nan], [nan])
        (True, False)
    """
    if not is_float_inside(type_):
        return _equal
    match type_:
        case OptionalType(inner=inner):
            return _optional_equality(equality(inner))
        case ListType(element=element):
            return _list_equality(equality(element))
        case SetType():
            return lambda a, b: a == b and not any(map(has_nan, a))
        case MapType(value=value):
            return _map_equality(equality(value))
        case TupleType(attributes=attributes):
            return _tuple_equality([equality(a.type) for a in attributes])
    return _equal


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b)


def _optional_equality(equal: Equality) -> Equality:
    return lambda a, b: a is b if a is None or b is None else equal(a, b)


def _list_equality(equal: Equality) -> Equality:
    return lambda a, b: len(a) == len(b) and all(map(equal, a, b))


def _map_equality(equal: Equality) -> Equality:
    return lambda a, b: a.keys() == b.keys() and all(not has_nan(k) and equal(v, b[k]) for k, v in a.items())


def _tuple_equality(parts: list[Equality]) -> Equality:
    return lambda a, b: all(equal(x, y) for equal, x, y in zip(parts, a, b, strict=True))


def membership(element: Type) -> Callable[[Any, Iterable[Any]], bool]:
    """`x in list` where NaN may stand in the list.

    Example:
        >>> nan = float("nan")
        >>> membership(parse_type("float64"))(nan, [nan])
        False
    """
    equal = equality(element)
    return lambda sought, values: any(equal(sought, value) for value in values)


def contains(sought: Any, values: Collection[Any]) -> bool:
    """`x in set` and `x in map` where NaN may stand in them."""
    return sought in values and not has_nan(sought)


def put_at(values: list[Any], position: int, value: Any) -> Any:
    """`values[position] = value` as an expression; out of range is an error.

    Example:
        >>> put_at([1, 2], 2, 3)
        Traceback (most recent call last):
        penstock.expr.errors.EvaluationError: position 2 is out of range: the size is 2
    """
    if not 0 <= position < len(values):
        not_at(position, len(values))
    values[position] = value
    return value


def put(values: dict[Any, Any], key: Any, value: Any) -> Any:
    """`values[key] = value` as an expression."""
    values[key] = value
    return value


def store(owner: object, name: str, value: Any) -> Any:
    """`owner.name = value` as an expression."""
    setattr(owner, name, value)
    return value


def replace_contents(values: Any, new: Any) -> Any:
    """Give a collection new contents, so that everyone who refers to it sees them.

    Example:
        >>> values = {"a": 1}
        >>> replace_contents(values, {"b": 2})
        {'b': 2}
    """
    if isinstance(values, list):
        values[:] = new
    else:
        kept = new.copy()
        values.clear()
        values.update(kept)
    return values


def with_byte(blob: bytes, position: int, byte: int) -> bytes:
    """A blob with one byte changed.

    Example:
        >>> with_byte(b"abc", 1, 88)
        b'aXc'
    """
    if not 0 <= position < len(blob):
        not_at(position, len(blob))
    return blob[:position] + bytes((byte,)) + blob[position + 1 :]


def symbols(names: tuple[str, ...]) -> Callable[[int], str]:
    """The cast from an integer to an enum.

    Example:
        >>> symbols(("red", "green"))(1)
        'green'
    """

    def symbol(position: int) -> str:
        if not 0 <= position < len(names):
            raise EvaluationError(f"{position} is not the position of a symbol of enum{{{', '.join(names)}}}")
        return names[position]

    return symbol


def cast_map(values: dict[Any, Any], to_key: Callable[[Any], Any], to_value: Callable[[Any], Any]) -> dict[Any, Any]:
    """A map with its keys and values cast.

    Example:
        >>> cast_map({1: 2.5}, str, int)
        {'1': 2}
    """
    return {to_key(key): to_value(value) for key, value in values.items()}


def bounded(values: Any, bound: int) -> Any:
    """A collection that must keep a bound.

    Example:
        >>> bounded([1, 2, 3], 2)
        Traceback (most recent call last):
        penstock.expr.errors.EvaluationError: 3 elements are more than the bound of 2
    """
    if len(values) > bound:
        raise EvaluationError(f"{len(values)} elements are more than the bound of {bound}")
    return values


def map_lists(operation: Callable[[Any, Any], Any], left: list[Any], right: list[Any]) -> list[Any]:
    """An operator over the elements of two lists of one length.

    Example:
        >>> map_lists(lambda a, b: a + b, [1, 2], [3])
        Traceback (most recent call last):
        penstock.expr.errors.EvaluationError: the lists differ in size: 2 and 1
    """
    if len(left) != len(right):
        raise EvaluationError(f"the lists differ in size: {len(left)} and {len(right)}")
    return list(map(operation, left, right))


def map_maps(operation: Callable[[Any, Any], Any], left: dict[Any, Any], right: dict[Any, Any]) -> dict[Any, Any]:
    """An operator over the values of two maps with the same keys.

    Example:
        >>> map_maps(lambda a, b: a + b, {"x": 1}, {"x": 2})
        {'x': 3}
    """
    if left.keys() != right.keys():
        raise EvaluationError("the maps differ in their keys")
    return {key: operation(value, right[key]) for key, value in left.items()}


def each_left(operation: Callable[[Any, Any], Any], values: list[Any], single: Any) -> list[Any]:
    """An operator between each element of a list and a single value.

    Example:
        >>> each_left(lambda a, b: a - b, [3, 4], 1)
        [2, 3]
    """
    return [operation(value, single) for value in values]


def each_right(operation: Callable[[Any, Any], Any], single: Any, values: list[Any]) -> list[Any]:
    """An operator between a single value and each element of a list."""
    return [operation(single, value) for value in values]


def each_left_value(operation: Callable[[Any, Any], Any], values: dict[Any, Any], single: Any) -> dict[Any, Any]:
    """An operator between each value of a map and a single value."""
    return {key: operation(value, single) for key, value in values.items()}


def each_right_value(operation: Callable[[Any, Any], Any], single: Any, values: dict[Any, Any]) -> dict[Any, Any]:
    """An operator between a single value and each value of a map."""
    return {key: operation(single, value) for key, value in values.items()}
