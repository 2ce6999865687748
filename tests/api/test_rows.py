"""What user code may return, and what it may not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pytest

from penstock.api.rows import ConformError, conform_value, conformer, row_class, row_maker
from penstock.ir.types import parse_schema, parse_type

SCHEMA = parse_schema("rstring sym, float64 price")


class Named(NamedTuple):
    price: float
    sym: str


@dataclass
class Record:
    sym: str
    price: float


@pytest.mark.parametrize(
    "value",
    [
        ("IBM", 1.0),
        ["IBM", 1],
        {"price": 1.0, "sym": "IBM"},
        Named(price=1.0, sym="IBM"),
        Record("IBM", 1.0),
        row_class(SCHEMA)("IBM", 1.0),
        ("IBM", np.float64(1.0)),
    ],
)
def test_tuples_mappings_and_objects_fit_by_position_or_by_name(value):
    assert conformer(SCHEMA)(value) == ("IBM", 1.0)


def test_a_single_attribute_may_be_returned_bare():
    assert conformer(parse_schema("int32 n"))(5) == (5,)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (("IBM",), r"expected 2 values for \(sym, price\), got 1"),
        ({"sym": "IBM"}, r"expected attributes \(sym, price\), got \(sym\)"),
        ({"sym": "IBM", "price": 1.0, "x": 1}, "expected attributes"),
        (("IBM", "1.0"), "attribute `price` is float64, got '1.0'"),
        ((1, 1.0), "attribute `sym` is rstring, got 1"),
        (None, "expected a tuple with attributes"),
        (7, "expected a tuple with attributes"),
    ],
)
def test_what_does_not_fit_is_named(value, complaint):
    with pytest.raises(ConformError, match=complaint):
        conformer(SCHEMA)(value)


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("int8", -128, -128),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int32", np.int16(3), 3),
        ("float32", 0.1, 0.10000000149011612),
        ("decimal64", Decimal("1.10"), Decimal("1.10")),
        ("decimal64", 3, Decimal(3)),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), 1_000_005_000),
        ("blob", bytearray(b"ab"), b"ab"),
        ("enum{a, b}", "b", "b"),
        ("optional<int32>", None, None),
        ("list<int32>", (1, 2), [1, 2]),
        ("set<int32>", [2, 1, 2], {1, 2}),
        ("map<rstring, int32>", {"a": 1}, {"a": 1}),
        ("tuple<int32 a, rstring b>", {"a": 1, "b": "x"}, (1, "x")),
        ("rstring[2]", "ab", "ab"),
    ],
)
def test_python_values_become_values_of_the_type(type_, value, expected):
    assert conform_value(parse_type(type_))(value) == expected


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("int8", 128),
        ("uint8", -1),
        ("int32", True),
        ("int32", 1.0),
        ("float64", "1"),
        ("float64", True),
        ("boolean", 1),
        ("rstring", b"x"),
        ("rstring[2]", "abc"),
        ("rstring", "half \ud800"),
        ("list<ustring>", ["\udfff"]),
        ("blob", "x"),
        ("enum{a, b}", "c"),
        ("list<int32>", "12"),
        ("list<int32>[1]", [1, 2]),
        ("map<rstring, int32>", [("a", 1)]),
        ("optional<int32>", "x"),
        ("decimal64", 1.5),
    ],
)
def test_values_of_another_type_are_refused(type_, value):
    with pytest.raises((TypeError, ValueError)):
        conform_value(parse_type(type_))(value)


def test_nested_tuples_are_rows_too():
    schema = parse_schema("int32 a, tuple<rstring b> inner")
    assert row_maker(schema)((1, ("x",))).inner.b == "x"


def test_values_of_derived_classes_become_values_of_the_class_itself():
    class Text(str):
        def upper(self):
            return "evil"

    class Number(Decimal):
        pass

    schema = parse_schema("rstring s, decimal64 d, enum{a, b} e")
    found = conformer(schema)((Text("x"), Number(1), Text("a")))
    assert found == ("x", Decimal(1), "a")
    assert [type(value) for value in found] == [str, Decimal, str]


def test_a_row_names_its_attributes_where_one_is_missing() -> None:
    row = row_class(parse_schema("int32 a, rstring b"))(1, "x")
    assert not hasattr(row, "c")
    assert getattr(row, "c", 7) == 7
    with pytest.raises(AttributeError, match="the tuple has no attribute `c`; it has `a`, `b`"):
        row.c  # noqa: B018


def test_none_in_place_of_a_tuple_names_flat_map() -> None:
    with pytest.raises(ConformError, match=r"got None; `flat_map` is for functions that may give no tuple"):
        conformer(SCHEMA)(None)
