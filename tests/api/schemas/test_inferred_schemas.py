"""The schema of a file is inferred from a bounded sample, when none is given."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock import App, UserError, col
from penstock.api.schemas import inferred_schemas


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def app(folder: Path) -> App:
    """An application whose data lie in a folder."""
    (folder / "data").mkdir(exist_ok=True)
    return App("Test", directory=folder)


def write(folder: Path, name: str, text: str) -> None:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / name).write_text(text, encoding="utf-8")


CSV = 'id,name,price,is_open,day,empty,quoted\n1,ann,1.5,true,2026-11-17,,"5"\n2,"b, c",,false,2026-11-18,,"6"\n'


def test_columns_of_text_have_the_types_that_a_run_can_read(folder):
    write(folder, "a.csv", CSV)
    read = app(folder).read_csv("a.csv", header=True)
    assert ", ".join(map(str, read.schema.attributes)) == (
        "int64 id, rstring name, optional<float64> price, boolean is_open, rstring day, rstring empty, rstring quoted"
    )
    assert read.collect()[1] == (2, "b, c", None, False, "2026-11-18", "", "6")


def test_columns_without_a_header_are_numbered(folder):
    write(folder, "a.csv", "# made by hand\n1;x\n\n2;y\n")
    assert app(folder).read_csv("a.csv", separator=";").collect() == [(1, "x"), (2, "y")]
    assert app(folder).read_csv("a.csv", separator=";").schema.names == ("column_1", "column_2")


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["1", "2.5"], "float64"),
        (["1", "x"], "rstring"),
        (["TRUE", "FALSE"], "rstring"),
        (["0x1F", "7"], "rstring"),
        (["9223372036854775807", "-1"], "int64"),
        (["9223372036854775808", "1"], "float64"),
        (["1e5", "nan"], "float64"),
        (["", ""], "rstring"),
        (["1", ""], "optional<int64>"),
        (["true", ""], "optional<boolean>"),
        (["007", "008"], "int64"),
        (["[1, 2]", "[3]"], "rstring"),
        (["it's", "x"], "rstring"),
    ],
)
def test_a_type_is_what_arrow_and_our_reader_agree_on(folder, values, type_):
    write(folder, "a.csv", "".join(f"{value};k\n" for value in values))
    read = app(folder).read_csv("a.csv", separator=";")
    assert str(read.schema.attributes[0].type) == type_
    assert len(read.collect()) == len(values)


def test_the_sample_is_bounded_and_ends_with_a_whole_line(folder, monkeypatch):
    monkeypatch.setattr(inferred_schemas, "SAMPLE_BYTES", 1 << 16)
    write(folder, "a.csv", "1\n" * (1 << 16) + "x\n")
    assert str(app(folder).read_csv("a.csv").schema) == "tuple<int64 column_1>"
    write(folder, "b.csv", "12345678;1\n" * 20_000)
    assert str(app(folder).read_csv("b.csv", separator=";").schema) == "tuple<int64 column_1, int64 column_2>"


def test_what_the_sample_did_not_show_is_told_by_the_run(folder, monkeypatch):
    monkeypatch.setattr(inferred_schemas, "SAMPLE_ROWS", 2)
    write(folder, "a.csv", "1\n2\nx\n")
    with pytest.raises(UserError, match="attribute `column_1`: `x` is not an integer"):
        app(folder).read_csv("a.csv").collect()
    assert app(folder).read_csv("a.csv", ignore_errors=True).collect() == [(1,), (2,)]


def test_compressed_and_encoded_files_are_looked_into(folder):
    (folder / "data").mkdir()
    (folder / "data" / "a.csv.gz").write_bytes(gzip.compress(b"n,s\n1,a\n"))
    (folder / "data" / "b.csv").write_bytes("n,s\n1,\u00e4\n".encode("latin-1"))
    assert app(folder).read_csv("a.csv.gz", header=True, compression="gzip").collect() == [(1, "a")]
    assert app(folder).read_csv("b.csv", header=True, encoding="latin-1").collect() == [(1, "\u00e4")]


def test_a_byte_order_mark_is_no_part_of_a_name(folder):
    (folder / "data").mkdir()
    (folder / "data" / "a.csv").write_bytes(b"\xef\xbb\xbfid,name\r\n1,a\r\n")
    assert app(folder).read_csv("a.csv", header=True).collect() == [(1, "a")]


def test_json_has_nested_types_and_optional_ones(folder):
    records = [
        {"id": 1, "tags": ["a"], "at": {"x": 1.5, "y": None}, "when": "2026-11-17T10:00:00", "note": None},
        {"id": 2, "tags": [], "at": {"x": 2, "y": 3}, "when": "2026-11-17T11:00:00"},
    ]
    write(folder, "a.json", "".join(json.dumps(one) + "\n" for one in records))
    read = app(folder).read_json("a.json")
    assert ", ".join(map(str, read.schema.attributes)) == (
        "int64 id, list<rstring> tags, tuple<float64 x, optional<int64> y> at, rstring when, optional<rstring> note"
    )
    assert read.collect()[0] == (1, ["a"], (1.5, None), "2026-11-17T10:00:00", None)


def test_parquet_says_what_it_has(folder):
    (folder / "data").mkdir()
    table = pa.table({"x": [1, 2], "s": ["a", None], "at": pa.array([1, 2], pa.timestamp("us"))})
    parquet.write_table(table, folder / "data" / "a.parquet")
    read = app(folder).read_parquet("a.parquet")
    assert str(read.schema) == "tuple<int64 x, optional<rstring> s, timestamp at>"
    assert read.filter(col.x > 1).collect() == [(2, None, 2000)]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda a: a.read_csv("none.csv"), "the schema of `none.csv` cannot be inferred: there is no such file in `"),
        (lambda a: a.read_csv("empty.csv"), "`empty.csv` cannot be inferred: it has no lines to look at; give the"),
        (lambda a: a.read_csv("header.csv", header=True), "field `my price`: its name is not one"),
        (lambda a: a.read_csv("twice.csv", header=True), "field `x`: there are 2 fields of this name"),
        (lambda a: a.read_csv("short.csv", header=True), "the header has 3 names, but no line has 3 values"),
        (lambda a: a.read_csv("short.csv", separator=";;"), "a separator is one character, found ';;'"),
        (lambda a: a.read_csv("short.csv", compression="rar"), "`rar` is not a compression"),
        (lambda a: a.read_csv("short.csv", encoding="klingon"), "unknown encoding: klingon"),
        (lambda a: a.read_json("short.csv"), "the schema of `short.csv` cannot be inferred: JSON parse error"),
        (lambda a: a.read_json("empty.csv"), "it has no lines to look at"),
        (lambda a: a.read_parquet("short.csv"), "it is no Parquet file"),
        (lambda a: a.read_parquet("day.parquet"), "field `day`: no type of a stream holds Arrow's `date32[day]`"),
    ],
)
def test_a_schema_that_cannot_be_inferred_is_asked_for(folder, read, message):
    write(folder, "empty.csv", "")
    write(folder, "header.csv", "my price\n1\n")
    write(folder, "twice.csv", "x,x\n1,2\n")
    write(folder, "short.csv", "a,b,c\n1,2\n")
    days = pa.table({"day": pa.array([1], pa.date32())})
    parquet.write_table(days, folder / "data" / "day.parquet")
    with pytest.raises(UserError) as caught:
        read(app(folder))
    assert message in str(caught.value)
    assert "test_inferred_schemas.py" in str(caught.value)
