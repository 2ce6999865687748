"""Columns of others as attributes: what lies within values is brought into its type, too, or refused."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from penstock.expr.values import from_arrow_array
from penstock.ir.arrow import arrow_type
from penstock.ir.types import parse_type
from penstock.toolkit.formats.conform_columns import conform_column

STRUCT = pa.struct([("a", pa.int64()), ("b", pa.string())])


def conform(array: pa.Array, type_: str) -> list[object]:
    wanted = parse_type(type_)
    found = conform_column(array, wanted)
    assert found.type == arrow_type(wanted)
    found.validate(full=True)
    return from_arrow_array(found, wanted)


def test_a_tuple_that_is_not_there_has_no_attributes_to_be_there() -> None:
    given = pa.array([{"a": 1, "b": "x"}, None, {"a": 2, "b": "y"}], STRUCT)
    assert conform(given, "optional<tuple<int32 a, rstring b>>") == [(1, "x"), None, (2, "y")]
    assert conform(given.slice(1), "optional<tuple<int32 a, rstring b>>") == [None, (2, "y")]
    assert conform(given, "optional<tuple<rstring b, int32 a>>") == [("x", 1), None, ("y", 2)]


@pytest.mark.parametrize(
    ("given", "type_"),
    [
        (pa.array([[1, None]]), "list<int32>"),
        (pa.array([[1, None]]), "set<int32>"),
        (pa.array([[[None]]], pa.list_(pa.list_(pa.int32()))), "list<list<int32>>"),
        (pa.array([[("k", None)]], pa.map_(pa.string(), pa.int32())), "map<rstring, int32>"),
        (pa.array([{"a": None, "b": "x"}], STRUCT), "tuple<int64 a, rstring b>"),
        (pa.array([{"a": None, "b": "x"}, None], STRUCT), "optional<tuple<int64 a, rstring b>>"),
    ],
)
def test_a_null_within_a_value_has_no_place(given: pa.Array, type_: str) -> None:
    with pytest.raises(ValueError, match=r"there is a null within a value, where .* is not optional"):
        conform(given, type_)


def test_slices_and_nulls_of_collections_keep_their_values() -> None:
    lists = pa.array([[1], None, [], [2, 3]])
    assert conform(lists, "optional<list<int8>>") == [[1], None, [], [2, 3]]
    assert conform(lists.slice(1, 3), "optional<list<optional<int8>>>") == [None, [], [2, 3]]
    maps = pa.array([[("a", 1)], None, [("b", 2), ("c", None)]], pa.map_(pa.string(), pa.int64()))
    wanted = [{"a": 1}, None, {"b": 2, "c": None}]
    assert conform(maps, "optional<map<rstring, optional<int8>>>") == wanted
    assert conform(maps.slice(1), "optional<map<rstring, optional<int8>>>") == wanted[1:]
    assert conform(pa.nulls(2), "optional<map<rstring, list<int8>>>") == [None, None]
    assert conform(pa.array([[1, 2]], pa.list_(pa.int64(), 2)), "list<int8>") == [[1, 2]]
    assert conform(pa.array([], pa.list_(STRUCT)), "list<tuple<int32 a, rstring b>>") == []


def test_what_lies_within_is_of_its_own_type() -> None:
    assert conform(pa.array([[1.5, 2.25]]), "list<decimal64>") == [[Decimal("1.5"), Decimal("2.25")]]
    assert conform(pa.array([[[2, 1, 2]]]), "list<set<int32>>") == [[{1, 2}]]
    assert conform(pa.array([], pa.string()), "enum{a, b}") == conform(pa.nulls(0), "enum{a, b}") == []
    with pytest.raises(ValueError, match="`c` is not a symbol"):
        conform(pa.array([["a", "c"]]), "list<enum{a, b}>")
    with pytest.raises(ValueError, match=r"there is no `c` in struct"):
        conform(pa.array([{"a": 1, "b": "x"}], STRUCT), "tuple<int64 c>")
