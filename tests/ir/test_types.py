"""Types and their text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.ir.arrow import arrow_schema, arrow_type
from penstock.ir.types import (
    INT32,
    ListType,
    has_collection,
    is_numeric,
    parse_schema,
    parse_type,
    tuple_type,
)

TEXTS = [
    "boolean",
    "int8",
    "uint64",
    "float32",
    "decimal64",
    "rstring",
    "rstring[12]",
    "ustring",
    "timestamp",
    "blob",
    "enum{low, high}",
    "optional<int32>",
    "list<int32>",
    "list<int32>[5]",
    "set<rstring>[3]",
    "map<rstring, list<float64>>[9]",
    "tuple<uint32 uid, tuple<rstring a, set<int8> b> inner>",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_type_prints_as_it_is_written(text):
    assert str(parse_type(text)) == text


@pytest.mark.parametrize("text", TEXTS)
def test_every_type_has_an_arrow_type(text):
    assert isinstance(arrow_type(parse_type(text)), pa.DataType)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("int33", "there is no type `int33`"),
        ("list<int32", "expected >"),
        ("list<>", "there is no type `>`"),
        ("map<int32>", "expected ,"),
        ("int32 x", "unexpected `x`"),
        ("", "found the end"),
    ],
)
def test_text_that_is_no_type_says_where(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_type(text)


def test_a_schema_is_read_from_its_attributes_or_from_a_tuple_type():
    assert parse_schema("int32 x, rstring y") == parse_schema("tuple<int32 x, rstring y>")


def test_a_type_variable_is_resolved_by_the_caller():
    assert parse_type("list<T>", {"T": INT32}.get) == ListType(INT32)


def test_only_optional_columns_may_hold_nulls():
    schema = arrow_schema(parse_schema("int32 x, optional<int32> y, list<optional<int32>> z"))
    assert [f.nullable for f in schema] == [False, True, False]
    assert schema.field("z").type.value_field.nullable


def test_predicates_look_inside_where_they_say_so():
    assert has_collection(parse_type("tuple<int32 a, optional<list<int32>> b>"))
    assert not has_collection(parse_type("tuple<int32 a, enum{x} b>"))
    assert is_numeric(parse_type("decimal128"))
    assert not is_numeric(parse_type("boolean"))


def test_a_tuple_type_finds_its_attributes():
    schema = tuple_type(a=INT32, b=ListType(INT32))
    assert schema.names == ("a", "b")
    assert schema.position == {"a": 0, "b": 1}
    assert schema.attribute("b").type == ListType(INT32)
