from __future__ import annotations

import contextlib
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from value_strategies import typed_columns, typed_values

from penstock.expr.values import (
    as_type,
    batch_from_rows,
    copy_value,
    default_value,
    from_arrow_array,
    interpret_literal,
    literal_form,
    order_key,
    parse_form,
    parse_literal_form,
    round_float32,
    rows_from_batch,
    string_literal,
    text_form,
    to_arrow_array,
    wrap_integer,
)
from penstock.ir.arrow import arrow_type
from penstock.ir.types import FLOAT32, FLOAT64, INT8, RSTRING, TupleType, TypedName, parse_schema, parse_type

TEXTS = [
    ("boolean", True, "true"),
    ("int8", -128, "-128"),
    ("uint64", 2**64 - 1, "18446744073709551615"),
    ("float64", 1.0, "1"),
    ("float64", 0.1, "0.1"),
    ("float64", 1 / 3, "0.333333333333333"),
    ("float64", 0.1 + 0.2, "0.3"),
    ("float64", 1e15, "1e+15"),
    ("float64", 123456789012345.0, "123456789012345"),
    ("float64", 1e-5, "1e-05"),
    ("float64", -0.0, "-0"),
    ("float64", math.inf, "inf"),
    ("float64", math.nan, "nan"),
    ("float32", round_float32(0.1), "0.1"),
    ("float32", 1000000.0, "1e+06"),
    ("decimal64", Decimal("1.50"), "1.50"),
    ("decimal128", Decimal("1E+20"), "1E+20"),
    ("rstring", 'say "hi"\n', 'say "hi"\n'),
    ("list<rstring>", ['say "hi"\n', "tab\t", "\\", "\0\a\b\f\v\r"], r'["say \"hi\"\n","tab\t","\\","\0\a\b\f\v\r"]'),
    ("list<ustring>", ["café", "\x01", "😀"], r'["café","\u0001","😀"]'),
    ("timestamp", 1_500_000_000, "(1,500000000,0)"),
    ("timestamp", -1, "(-1,999999999,0)"),
    ("blob", b"\x00\xff", "00ff"),
    ("enum{red, green}", "green", "green"),
    ("set<int32>", {3, 1, 2}, "{1,2,3}"),
    ("set<enum{red, green}>", {"green", "red"}, "{red,green}"),
    ("map<rstring, int32>", {"b": 1, "a": 2}, '{"b":1,"a":2}'),
    ("tuple<int32 id, tuple<rstring name> who>", (1, ("x",)), '{id=1,who={name="x"}}'),
    ("optional<rstring>", None, "null"),
    ("optional<rstring>", "null", '"null"'),
    ("list<optional<int8>>", [1, None], "[1,null]"),
]


@pytest.mark.parametrize(("type_", "value", "text"), TEXTS)
def test_a_value_has_one_text_form(type_: str, value: object, text: str) -> None:
    assert text_form(parse_type(type_))(value) == text


def test_println_writes_a_string_in_quotes_and_a_cast_does_not() -> None:
    assert text_form(RSTRING)('a"b') == 'a"b'
    assert literal_form(RSTRING)('a"b') == r'"a\"b"'


@settings(max_examples=400, deadline=None)
@given(typed_values())
def test_the_text_form_is_read_back_as_the_same_value(typed: tuple) -> None:
    type_, value = typed
    assert parse_form(type_)(text_form(type_)(value)) == value


@settings(max_examples=400, deadline=None)
@given(typed_values())
def test_the_literal_form_is_read_back_as_the_same_value(typed: tuple) -> None:
    type_, value = typed
    assert parse_literal_form(type_)(literal_form(type_)(value)) == value


@given(st.floats(allow_nan=False, min_value=-1e308, max_value=1e308), st.sampled_from([FLOAT32, FLOAT64]))
def test_the_text_of_a_float_reads_as_a_float_of_the_same_text(value: float, type_: object) -> None:
    form = text_form(type_)
    assert form(parse_form(type_)(form(as_type(value, type_)))) == form(as_type(value, type_))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_string_literal_means_the_string(text: str) -> None:
    assert interpret_literal(string_literal(text)) == text


BAD_TEXTS = [
    ("int8", "128", "128 is out of range for int8 (-128 to 127)"),
    ("uint32", "-1", "-1 is out of range for uint32 (0 to 4294967295)"),
    ("int32", "1.5", "`1.5` is not an integer"),
    ("int32", "1_000", "`1_000` is not an integer"),
    ("int32", "", "`` is not an integer"),
    ("float64", "1.5x", "`1.5x` is not a number"),
    ("decimal64", "abc", "`abc` is not a number"),
    ("boolean", "yes", "`yes` is not a boolean: expected true or false"),
    ("timestamp", "12", "`12` is not a timestamp: expected (seconds,nanoseconds,machine)"),
    ("timestamp", "(1,1000000000,0)", "`(1,1000000000,0)` is out of range for a timestamp"),
    ("timestamp", "(9999999999999,0,0)", "`(9999999999999,0,0)` is out of range for a timestamp"),
    ("blob", "0g", "`0g` is not a blob: expected pairs of hexadecimal digits"),
    ("enum{red, green}", "blue", "`blue` is not a symbol of enum{red, green}"),
    ("list<int8>", "[1,2", "expected `,`, found `the end`"),
    ("list<int8>", "1,2]", "expected `[`, found `1,2]`"),
    ("list<int8>", "[1] 2", "unexpected `2` after a value of list<int8>"),
    ("list<int8>[1]", "[1,2]", "found 2 elements where at most 1 are allowed"),
    ("list<rstring>", "[a]", "expected a string in quotes, found `a]`"),
    ("list<timestamp>", "[1]", "expected a timestamp (seconds,nanoseconds,machine), found `1]`"),
    ("map<int8, int8>", "{1=2}", "expected `:`, found `=2}`"),
    ("tuple<int8 a, int8 b>", "{a=1,c=2}", "expected `b`, found `c=2}`"),
]


@pytest.mark.parametrize(("type_", "text", "reason"), BAD_TEXTS)
def test_text_that_is_no_value_is_refused_with_the_reason(type_: str, text: str, reason: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 (the whole message is compared)
        parse_form(parse_type(type_))(text)
    assert str(error.value) == reason


@settings(max_examples=300, deadline=None)
@given(st.text("[]{}()\",:=1a. \\'n", max_size=12), typed_values())
def test_reading_any_text_gives_a_value_or_a_value_error(text: str, typed: tuple) -> None:
    with contextlib.suppress(ValueError):
        parse_form(typed[0])(text)


def test_blanks_around_the_parts_of_a_value_are_allowed() -> None:
    type_ = parse_type("tuple<list<int8> a, map<rstring, timestamp> b>")
    assert parse_form(type_)(' { a = [ 1 , 2 ] , b = { "x" : (1, 2, 0) } } ') == ([1, 2], {"x": 1_000_000_002})


def test_a_bounded_string_is_cut_when_it_is_read() -> None:
    assert parse_form(parse_type("rstring[3]"))("abcdef") == "abc"


def test_an_optional_string_may_be_written_without_quotes() -> None:
    assert parse_form(parse_type("optional<rstring>"))("abc") == "abc"


@settings(max_examples=300, deadline=None)
@given(typed_columns())
def test_values_survive_the_way_through_arrow(column: tuple) -> None:
    type_, values = column
    array = to_arrow_array(values, type_)
    assert array.type == arrow_type(type_)
    array.validate(full=True)
    assert from_arrow_array(array, type_) == values


@settings(max_examples=100, deadline=None)
@given(typed_columns())
def test_rows_survive_the_way_through_a_record_batch(column: tuple) -> None:
    type_, values = column
    schema = TupleType((TypedName("v", type_), TypedName("n", INT8)))
    rows = [(value, i) for i, value in enumerate(values)]
    assert rows_from_batch(batch_from_rows(rows, schema), schema) == rows


def test_a_slice_of_a_batch_gives_its_own_rows() -> None:
    schema = parse_schema("int32 a, list<rstring> b, tuple<int8 x> c")
    rows = [(i, [str(i)], (i,)) for i in range(5)]
    assert rows_from_batch(batch_from_rows(rows, schema).slice(2, 2), schema) == rows[2:4]


def test_rows_without_attributes_are_still_counted() -> None:
    schema = TupleType(())
    assert rows_from_batch(batch_from_rows([(), ()], schema), schema) == [(), ()]


def test_a_chunked_array_is_read_as_one() -> None:
    assert from_arrow_array(pa.chunked_array([[1], [2, 3]], pa.int8()), INT8) == [1, 2, 3]


@settings(max_examples=200, deadline=None)
@given(typed_values())
def test_a_copy_is_equal_and_shares_nothing_that_can_change(typed: tuple) -> None:
    type_, value = typed
    copy = copy_value(value, type_)
    assert copy == value
    assert not _mutable_parts(copy) & _mutable_parts(value)


def _mutable_parts(value: object) -> set[int]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    own = {id(value)} if isinstance(value, list | set | dict) else set()
    return own.union(*(_mutable_parts(part) for part in inside))


@settings(max_examples=200, deadline=None)
@given(typed_values())
def test_the_default_value_is_a_value_of_its_type(typed: tuple) -> None:
    type_, _ = typed
    default = default_value(type_)
    assert from_arrow_array(to_arrow_array([default], type_), type_) == [default]


def test_the_symbols_of_an_enum_stand_in_the_order_of_their_declaration() -> None:
    key = order_key(parse_type("tuple<enum{low, high} level, optional<int8> n>"))
    rows = [("high", None), ("low", 2), ("low", None), ("low", 1)]
    assert sorted(rows, key=key) == [("low", None), ("low", 1), ("low", 2), ("high", None)]


def test_nan_comes_last_wherever_it_stood() -> None:
    key = order_key(FLOAT64)
    for values in ([math.nan, 1.0, -1.0], [1.0, math.nan, -1.0], [-1.0, 1.0, math.nan]):
        assert text_form(parse_type("list<float64>"))(sorted(values, key=key)) == "[-1,1,nan]"


@given(st.integers(-(2**70), 2**70), st.sampled_from(["int8", "uint8", "int64", "uint64"]))
def test_an_integer_wraps_into_the_range_of_its_type(value: int, name: str) -> None:
    type_ = parse_type(name)
    wrapped = wrap_integer(value, type_)
    assert (wrapped - value) % (1 << type_.bits) == 0
    assert parse_form(type_)(str(wrapped)) == wrapped


def test_numbers_are_brought_into_their_type() -> None:
    assert as_type(Decimal("1.2345678"), parse_type("decimal32")) == Decimal("1.234568")
    assert as_type(1e39, FLOAT32) == math.inf
    assert as_type(2.9, INT8) == 2
