"""Blocks read at once hold what is read record by record."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.expr.values import rows_from_batch
from penstock.ir.types import parse_schema
from penstock.toolkit.formats import Malformed, Settings, reader
from penstock.toolkit.formats.column_blocks import _FAST, block_reader, ends_between_records, without_header

CSV_SCHEMAS = [
    "rstring s, int32 n, float64 x, boolean b",
    "int64 n, uint8 u, float32 f",
    "rstring s",
    "optional<int32> n, rstring s, optional<float64> x",
    "enum{red, green} c, uint64 u",
    "rstring s, list<int32> l",
    "decimal64 d, blob b, rstring[3] s",
    "optional<decimal32> d, rstring s",
]
PIECES = """
    a 1 -1 0 007 +5 0x1F 255 256 -0 99999999999999999999 2147483648 1.5 1e3 1e400 1e-400 nan nan(1) inf -Infinity .5 1.
    1_0 true false True null "null" "" "a" "a,b" 'a' "it's" a"b "a"b [1,2] [1 red green # \\ "\\n" "a é \ufeff x 0.1
    16777217.0 3.4028235677973366e38 1.00000017881393421514957253748434595763683319091796875
""".split()
SEPARATORS = [",", ";"]


def shown(value: Any) -> Any:
    """A value in a form in which equal means equal to the bit, NaN included."""
    return "nan" if isinstance(value, float) and math.isnan(value) else repr(value)


def read_exactly(data: bytes, schema: str, form: Settings) -> tuple[list[Any], list[Malformed]]:
    items = list(reader(parse_schema(schema), form)(iter((data,))))
    tuples = [tuple(map(shown, i)) for i in items if isinstance(i, tuple)]
    return tuples, [i for i in items if isinstance(i, Malformed)]


def read_at_once(data: bytes, schema: str, form: Settings) -> tuple[list[Any], list[Malformed]]:
    found = block_reader(parse_schema(schema), form)(data)
    rows = rows_from_batch(found.batch, parse_schema(schema))
    return [tuple(map(shown, row)) for row in rows], list(found.malformed)


fields = st.one_of(
    st.sampled_from(PIECES),
    st.integers(-300, 300).map(str),
    st.floats(allow_nan=False).map(repr),
    st.floats(allow_nan=False, width=32).map(lambda x: f"{x:.12g}"),
    st.text("ab \t'\"é,;", max_size=4),
)
padded = st.tuples(st.sampled_from(["", "", "", "", " ", "\t"]), fields, st.sampled_from(["", "", "", " "])).map(
    "".join
)


@st.composite
def csv_files(draw: st.DrawFn) -> tuple[bytes, str, Settings]:
    schema = draw(st.sampled_from(CSV_SCHEMAS))
    separator = draw(st.sampled_from(SEPARATORS))
    columns = len(parse_schema(schema).attributes)
    field = draw(st.sampled_from([fields, padded, st.integers(0, 300).map(str)]))
    widths = st.sampled_from([columns] * 8 + [columns + 1, max(0, columns - 1)])
    lines = draw(st.lists(widths.flatmap(lambda n: st.lists(field, min_size=n, max_size=n)), max_size=8))
    text = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])).join(separator.join(line) for line in lines)
    form = Settings(
        separator=separator,
        header_lines=draw(st.sampled_from([0, 0, 0, 1, 2])),
        ignores_extra=draw(st.booleans()),
    )
    return (text + draw(st.sampled_from(["", "\n"]))).encode(), schema, form


@settings(max_examples=400, deadline=None)
@given(csv_files())
@example((b'a,"1"\n', "rstring s, int32 n", Settings()))
@example((b'"a,b",1\n"c",2\n', "rstring s, int32 n", Settings()))
@example((b'"a\nb",1\n', "rstring s, int32 n", Settings()))
@example((b"\xff,1\n", "rstring s, int32 n", Settings()))
@example((b",\n,null\n", "optional<int32> n, int32 m", Settings()))
@example((b",1\n", "rstring s, int32 n", Settings(defaults=("none", 7))))
@example((b"a,\n", "rstring s, int32 n", Settings(defaults=("none", 7))))
def test_csv_read_at_once_is_csv_read_record_by_record(case: tuple[bytes, str, Settings]) -> None:
    data, schema, form = case
    assert read_at_once(data, schema, form) == read_exactly(data, schema, form)


@settings(max_examples=200, deadline=None)
@given(csv_files(), st.binary(max_size=3), st.integers(0, 40))
def test_csv_with_bytes_thrown_in_is_read_alike(case: tuple[bytes, str, Settings], junk: bytes, place: int) -> None:
    data, schema, form = case
    data = data[:place] + junk + data[place:]
    assert read_at_once(data, schema, form) == read_exactly(data, schema, form)


JSON_SCHEMAS = ["rstring s, int32 n, float64 x", "optional<rstring> s, uint8 n, float32 x, optional<boolean> b"]
json_values = st.sampled_from(
    '1 -1 -0 0 1.5 1e3 300 1e400 true null "a" "" "\\u00e9" "\\ud800" [1] {"n":1} NaN 0.1 16777217.0'.split()
)


@st.composite
def json_files(draw: st.DrawFn) -> tuple[bytes, str]:
    names = st.sampled_from(["s", "n", "x", "b", "z"])
    objects = st.lists(st.tuples(names, json_values), max_size=5).map(
        lambda pairs: "{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}"
    )
    good = st.tuples(st.sampled_from(['"a"', "null", '"é"']), st.integers(0, 99), st.floats(0, 9)).map(
        lambda v: f'{{"s":{v[0]},"n":{v[1]},"x":{v[2]}}}'
    )
    lines = draw(
        st.lists(st.one_of(good, good, objects, st.sampled_from(["", "# no", "{} {}", '{"n":', "1}"])), max_size=6)
    )
    return "\n".join(lines).encode(), draw(st.sampled_from(JSON_SCHEMAS))


@settings(max_examples=400, deadline=None)
@given(json_files())
def test_json_read_at_once_is_json_read_record_by_record(case: tuple[bytes, str]) -> None:
    data, schema = case
    form = Settings(format="json")
    assert read_at_once(data, schema, form) == read_exactly(data, schema, form)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=20), st.text("a\né\r", max_size=12).map(str.encode)))
def test_lines_read_at_once_are_lines_read_one_by_one(data: bytes) -> None:
    form = Settings(format="line")
    assert read_at_once(data, "rstring line", form) == read_exactly(data, "rstring line", form)


@pytest.mark.parametrize(
    ("form", "schema", "data"),
    [
        (Settings(), "rstring s, float64 x, int32 n", b"a,1.5,2\nb,,3\n"),
        (Settings(), "rstring s, float64 x, int32 n", b'"a,b",1.5,2\r\n"it\'s",2,3\r\n'),
        (Settings(), "rstring s, float64 x, int32 n", b"a, 1.5, 2\n"),
        (Settings(separator=";"), "optional<int32> n, boolean b", b"null;true\n;false\n"),
        (Settings(), "decimal64 d, blob b, rstring[3] s", b"1.50,00ff,abcd\n1E+2,,\n"),
        (Settings(format="json"), "rstring s, float32 x", b'{"s":"a","x":1}\n{"x":2.5,"y":[1]}\n'),
        (Settings(format="line"), "rstring line", "a\n\né\r\n".encode()),
    ],
)
def test_plain_blocks_are_read_by_arrow(form: Settings, schema: str, data: bytes) -> None:
    fast = _FAST[form.format](parse_schema(schema), form)
    assert fast is not None
    assert fast(data) is not None
    assert read_at_once(data, schema, form) == read_exactly(data, schema, form)


@settings(max_examples=200, deadline=None)
@given(csv_files())
def test_a_block_that_ends_between_records_can_be_read_alone(case: tuple[bytes, str, Settings]) -> None:
    data, schema, form = case
    whole = read_exactly(data, schema, form)
    for end in [i + 1 for i in range(len(data)) if data[i : i + 1] == b"\n"]:
        head, tail = data[:end], data[end:]
        body = without_header(head, form.header_lines)
        if body is not None and ends_between_records(head, parse_schema(schema), form):
            first = read_exactly(head, schema, form)
            rest = read_exactly(tail, schema, Settings(separator=form.separator, ignores_extra=form.ignores_extra))
            assert (first[0] + rest[0], first[1] + rest[1]) == whole
