"""Hypothesis strategies: any SPL type, and values of a type."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

import strategies
from penstock.expr.values import integer_range, round_float32
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    DECIMALS,
    FLOAT32,
    FLOAT64,
    INTEGERS,
    RSTRING,
    TIMESTAMP,
    USTRING,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    TypedName,
    is_decimal,
    is_integer,
    is_string,
)

COLORS = EnumType(("red", "green", "blue"))
NUMBERS = [Primitive(name) for name in (*INTEGERS, "float32", "float64", *DECIMALS)]
SCALARS = [BOOLEAN, *NUMBERS, RSTRING, USTRING, TIMESTAMP, BLOB, COLORS]
DIGITS = {"decimal32": 7, "decimal64": 16, "decimal128": 34}


def scalar_types() -> st.SearchStrategy[Type]:
    return st.sampled_from(SCALARS)


def hashable_types() -> st.SearchStrategy[Type]:
    return st.one_of(scalar_types(), tuple_types(scalar_types()))


def tuple_types(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    names = st.sampled_from(["a", "b", "price", "x1"])
    attributes = st.lists(st.builds(TypedName, names, inner), min_size=1, max_size=3, unique_by=lambda a: a.name)
    return attributes.map(lambda found: TupleType(tuple(found)))


def types() -> st.SearchStrategy[Type]:
    return st.recursive(
        scalar_types(),
        lambda inner: st.one_of(
            st.builds(ListType, inner),
            st.builds(SetType, hashable_types()),
            st.builds(MapType, hashable_types(), inner),
            inner.filter(lambda t: not isinstance(t, OptionalType)).map(OptionalType),
            tuple_types(inner),
        ),
        max_leaves=4,
    )


def floats(digits: int, least: float, greatest: float) -> st.SearchStrategy[float]:
    """Floats that their text form tells exactly: at most so many significant digits, or infinite."""
    some = st.floats(least, greatest).map(lambda x: float(f"{x:.{digits}g}"))
    return st.one_of(some, st.sampled_from([0.0, -0.0, float("inf"), float("-inf")]))


def decimals(name: str) -> st.SearchStrategy[Decimal]:
    digits = st.integers(-(10 ** DIGITS[name]) + 1, 10 ** DIGITS[name] - 1)
    return st.builds(lambda n, e: Decimal(n).scaleb(e), digits, st.integers(-20, 20))


def values(type_: Type) -> st.SearchStrategy[object]:
    return strategies.values(type_, primitive_values)


def primitive_values(type_: Primitive) -> st.SearchStrategy[object]:
    if is_integer(type_):
        return st.integers(*integer_range(type_))
    if is_decimal(type_):
        return decimals(type_.name)
    if is_string(type_):
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    if type_ == FLOAT32:
        return floats(6, -1e38, 1e38).map(round_float32)
    if type_ == FLOAT64:
        return floats(15, -1e307, 1e307)
    return {
        "boolean": st.booleans(),
        "timestamp": st.integers(-(1 << 63), (1 << 63) - 1),
        # The text of a list that holds one empty blob is that of an empty list, as in SPL.
        "blob": st.binary(min_size=1, max_size=4),
    }[type_.name]


def typed_values() -> st.SearchStrategy[tuple[Type, object]]:
    return types().flatmap(lambda type_: st.tuples(st.just(type_), values(type_)))


def typed_columns() -> st.SearchStrategy[tuple[Type, list[object]]]:
    return types().flatmap(lambda type_: st.tuples(st.just(type_), st.lists(values(type_), max_size=4)))
