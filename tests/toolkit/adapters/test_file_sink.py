"""The sinks beside plain files: folders, Parquet, the console; and columns as text."""

from __future__ import annotations

import contextlib
import io
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from penstock import App
from penstock.expr.environment import Environment
from penstock.expr.values import batch_from_rows
from penstock.ir.types import parse_schema
from penstock.reference import run
from penstock.testing import feed
from penstock.toolkit.formats import Settings, writer
from penstock.toolkit.formats.column_text import text_of
from penstock.toolkit.formats.json_lines import row_parser
from penstock.toolkit.formats.json_text import json_writer

SCHEMA = parse_schema(
    "rstring s, ustring u, float64 x, float32 y, boolean b, int8 i, uint64 v, timestamp t, "
    "list<rstring> l, optional<int32> o, optional<rstring> p, blob z, map<int32, float64> m"
)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
ROWS = st.lists(
    st.tuples(
        TEXT,
        st.sampled_from(["IBM", "say", 'a "b"', "ä"]),
        st.floats(),
        st.floats(width=32),
        st.booleans(),
        st.integers(-128, 127),
        st.integers(0, 2**64 - 1),
        st.integers(-(2**62), 2**62),
        st.lists(TEXT, max_size=2),
        st.none() | INT32,
        st.none() | TEXT,
        st.binary(max_size=3),
        st.dictionaries(INT32, st.floats(), max_size=2),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(ROWS, st.sampled_from(["csv", "txt", "json"]), st.booleans())
def test_columns_have_the_text_that_their_tuples_have(rows, format_, quotes):
    form = Settings(format=format_, quotes_strings=quotes)
    wanted = b"".join(map(writer(SCHEMA, form).tuple, rows))
    assert text_of(batch_from_rows(rows, SCHEMA), SCHEMA, form) == wanted


@settings(deadline=None)
@given(ROWS)
def test_what_is_written_as_json_is_read_back(rows):
    write, read = json_writer(SCHEMA), row_parser(SCHEMA)
    for row in rows:
        text = write(row)
        assert "\n" not in text
        if all(map(math.isfinite, (row[2], row[3], *row[12].values()))):
            assert read(text) == row


def written(tmp_path, use):
    app = App("Main")
    use(app.source(feed([("a", 1), ("b", 2), ("a", 3)]), "rstring s, int32 n", name="A"))
    printed = io.StringIO()
    run(app.program(), environment=Environment(output_directory=tmp_path, stdout=printed))
    return printed.getvalue()


def test_the_reference_writes_one_parquet_file(tmp_path):
    written(tmp_path, lambda stream: stream.write_file("t.parquet", format="parquet"))
    assert parquet.read_table(tmp_path / "t.parquet").to_pylist() == [
        {"s": "a", "n": 1},
        {"s": "b", "n": 2},
        {"s": "a", "n": 3},
    ]
    assert [p.name for p in (tmp_path / "t.parquet").iterdir()] == ["part-00000.parquet"]


def test_the_reference_writes_a_file_for_each_value(tmp_path):
    written(tmp_path, lambda stream: stream.write_file("by", partitionBy=["s"], format="json"))
    assert (tmp_path / "by" / "s=a" / "part-0.json").read_text() == '{"s":"a","n":1}\n{"s":"a","n":3}\n'
    assert (tmp_path / "by" / "s=b" / "part-0.json").read_text() == '{"s":"b","n":2}\n'


@pytest.mark.parametrize(("format_", "line"), [("txt", '{s="a",n=1}'), ("csv", '"a",1'), ("json", '{"s":"a","n":1}')])
def test_tuples_are_printed(format_, line, tmp_path):
    assert written(tmp_path, lambda stream: stream.print(format=format_)).splitlines()[0] == line


def test_a_console_sink_prints_to_standard_output_by_default():
    app = App("Main")
    app.source(feed([1]), "int32 n", name="A").print()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run(app.program())
    assert printed.getvalue() == "{n=1}\n"
