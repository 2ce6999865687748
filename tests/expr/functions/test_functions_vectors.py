"""Every function over arrays gives, row by row, what the function over values gives."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expr.functions.hashing import hasher
from penstock.expr.functions.registry import Resolved, names, overloads, resolve
from penstock.expr.values import default_value, from_arrow_array, integer_range, literal_form, to_arrow_array
from penstock.ir.arrow import arrow_type
from penstock.ir.types import FLOAT32, FLOAT64, Type, is_integer, parse_type

SIGNATURES = [
    ("lower", "rstring"),
    ("lower", "ustring"),
    ("upper", "rstring"),
    ("upper", "ustring"),
    ("length", "rstring"),
    ("trim", "rstring; rstring"),
    ("ltrim", "rstring; rstring"),
    ("rtrim", "ustring; ustring"),
    ("findFirst", "rstring; rstring"),
    ("convertToBlob", "rstring"),
    ("reverse", "rstring"),
    ("concat", "rstring; rstring"),
    ("startsWith", "rstring; rstring"),
    ("endsWith", "ustring; ustring"),
    ("substring", "rstring; int32; int32"),
    ("diffAsSecs", "timestamp; timestamp"),
    ("isPresent", "optional<rstring>"),
    *((name, "float64") for name in ("exp", "ln", "log", "lg", "log10", "log2", "sin", "cos", "tan", "atan")),
    *((name, "float32") for name in ("asin", "acos", "sinh", "cosh", "tanh", "exp")),
    ("pow", "float64; float64"),
    ("pow", "float32; float32"),
    ("pow", "int32; int32"),
    *(
        (name, t)
        for name in ("floor", "ceil", "round", "sqrt", "abs", "isNaN", "isInf")
        for t in ("float32", "float64")
    ),
    ("trunc", "float64"),
    *(("abs", t) for t in ("int8", "int64", "uint8", "uint64")),
    *((name, f"{t}; {t}") for name in ("min", "max") for t in ("int8", "uint64", "float32", "float64", "rstring")),
    ("min", "timestamp; timestamp"),
    ("max", "blob; blob"),
    ("max", "enum{low, high}; enum{low, high}"),
    ("getSeconds", "timestamp"),
    ("getNanoseconds", "timestamp"),
    ("size", "list<int32>"),
    ("size", "set<rstring>"),
    ("size", "map<int8, int8>"),
]


def found(name: str, types: str) -> Resolved:
    return resolve(name, [parse_type(t) for t in types.split("; ")])


def values(type_: Type) -> st.SearchStrategy[object]:
    if is_integer(type_) or type_ == parse_type("timestamp"):
        least, greatest = integer_range(type_) if is_integer(type_) else (-(1 << 63), (1 << 63) - 1)
        return st.sampled_from([least, greatest, 0, 1]) | st.integers(least, greatest)
    if type_ in (FLOAT32, FLOAT64):
        halves = st.sampled_from([0.5, -0.5, 1.5, 2.5, -2.5, 0.0, -0.0, 8388607.5, 1e22])
        return halves | st.floats(width=32 if type_ == FLOAT32 else 64)
    few = st.text(st.sampled_from("aB zÄß\t€😀İ"), max_size=6)
    return {
        "rstring": few,
        "ustring": few,
        "blob": st.binary(max_size=3),
        "enum{low, high}": st.sampled_from(["low", "high"]),
        "list<int32>": st.lists(st.integers(0, 9), max_size=3),
        "set<rstring>": st.sets(few, max_size=3),
        "optional<rstring>": st.none() | few,
        "map<int8, int8>": st.dictionaries(st.integers(0, 9), st.integers(0, 9), max_size=3),
    }[str(type_)]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize(("name", "types"), SIGNATURES)
def test_arrays_give_what_values_give(name: str, types: str, data: st.DataObject) -> None:
    chosen = found(name, types)
    rows = data.draw(st.lists(st.tuples(*map(values, chosen.parameter_types)), max_size=5))
    columns = [[row[i] for row in rows] for i in range(len(chosen.parameter_types))]
    arrays = [to_arrow_array(column, t) for column, t in zip(columns, chosen.parameter_types, strict=True)]
    answer = chosen.bind_vector()(*arrays)
    if answer is not NotImplemented:
        assert texts(answer, chosen.return_type) == expected(chosen, rows)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize(("name", "types"), [s for s in SIGNATURES if s[1].count("; ") == 1])
def test_a_constant_argument_gives_what_values_give(name: str, types: str, data: st.DataObject) -> None:
    chosen = found(name, types)
    first, second = chosen.parameter_types
    column, constant = data.draw(st.lists(values(first), max_size=5)), data.draw(values(second))
    scalar = to_arrow_array([constant], second)[0]
    answer = chosen.bind_vector()(to_arrow_array(column, first), scalar)
    if answer is not NotImplemented:
        assert texts(answer, chosen.return_type) == expected(chosen, [(v, constant) for v in column])


@settings(max_examples=100, deadline=None)
@given(st.lists(values(parse_type("rstring")), max_size=5), st.integers(-2, 4), st.integers(-2, 4))
def test_substrings_of_an_array_are_those_of_its_strings(column: list[object], start: int, count: int) -> None:
    chosen = found("substring", "rstring; int32; int32")
    answer = chosen.bind_vector()(to_arrow_array(column, chosen.parameter_types[0]), pa.scalar(start), pa.scalar(count))
    if answer is not NotImplemented:
        assert texts(answer, chosen.return_type) == expected(chosen, [(v, start, count) for v in column])


def texts(array: pa.Array, type_: Type) -> list[str]:
    assert array.type.equals(arrow_type(type_))
    return [literal_form(type_)(v) for v in from_arrow_array(array, type_)]


def expected(chosen: Resolved, rows: list[tuple[object, ...]]) -> list[str]:
    return [literal_form(chosen.return_type)(chosen.bind()(*row)) for row in rows]


def test_every_function_over_arrays_is_tested_here() -> None:
    tested = {str(found(name, types).definition.prototype) for name, types in SIGNATURES}
    known = {str(d.prototype) for name in names() for d in overloads(name) if d.vector is not None}
    assert known == tested


@pytest.mark.parametrize(
    ("name", "types", "column"),
    [
        ("lower", "rstring", ["ABC", "É"]),
        ("trim", "rstring; rstring", ["  a ", "b"]),
        ("findFirst", "rstring; rstring", ["a b", "b"]),
        ("floor", "float64", [1.5]),
        ("exp", "float64", [1.5]),
        ("startsWith", "rstring; rstring", ["a"]),
        ("isPresent", "optional<rstring>", [None]),
        ("getSeconds", "timestamp", [5]),
    ],
)
def test_common_functions_do_run_over_arrays(name: str, types: str, column: list[object]) -> None:
    chosen = found(name, types)
    scalars = [pa.scalar(" ")] * (len(chosen.parameter_types) - 1)
    answer = chosen.bind_vector()(to_arrow_array(column, chosen.parameter_types[0]), *scalars)
    assert isinstance(answer, pa.Array)


HASHES = [
    ("int64", -5, 18446744073709551611),
    ("boolean", True, 1),
    ("rstring", "", 13020603013274838756),
    ("rstring", "key", 17675689295421930702),
    ("float64", 1.5, 17239677141386441237),
    ("decimal64", Decimal("1.50"), 3831814941423113338),
    ("blob", b"key", 17675689295421930702),
    ("timestamp", 7, 7),
    ("enum{a, b}", "b", 1),
    ("list<int32>", [1, 2], 11868681386100499350),
    ("set<int32>", {1, 2}, 11868681386100499350),
    ("map<rstring, int32>", {"a": 1, "b": 2}, 4821805847088727682),
    ("tuple<int32 a, rstring b>", (1, "x"), 13937303533489195833),
    ("optional<int32>", None, 13020603013274838756),
    ("optional<int32>", 5, 5),
]


@pytest.mark.parametrize(("type_", "value", "code"), HASHES)
def test_hash_codes_stay_as_they_are_for_ever(type_: str, value: object, code: int) -> None:
    assert hasher(parse_type(type_))(value) == code


EQUALS = [
    ("float64", 0.0, -0.0),
    ("decimal64", "1.5", "1.50"),
    ("decimal64", "0", "0E+5"),
    ("map<rstring, int32>", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("set<rstring>", {"x", "y"}, {"y", "x"}),
]


@pytest.mark.parametrize(("type_", "one", "other"), EQUALS)
def test_equal_values_have_equal_hash_codes(type_: str, one: object, other: object) -> None:
    parsed = parse_type(type_)
    make = type(default_value(parsed))
    assert hasher(parsed)(make(one)) == hasher(parsed)(make(other))


@given(st.text(max_size=4), st.text(max_size=4))
def test_different_strings_have_different_hash_codes(one: str, other: str) -> None:
    of = hasher(parse_type("rstring"))
    assert (of(one) == of(other)) == (one == other)
