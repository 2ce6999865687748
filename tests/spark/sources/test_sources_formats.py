"""JSON and Parquet files: the reference interpreter and the reader of a job's sources agree on them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from source_reading import Sources, in_the_reference, program

from penstock.base.diagnostics import UserError

FILE = 'stream<{schema}> A = FileSource() {{ param file: "{file}"; format: {format}; parsing: permissive; }}'


def read(folder: Path, schema: str, file: str) -> tuple[list[object], list[str]]:
    """The tuples of a file and why the others are malformed; both readers are asked, with small and large batches."""
    made = program(FILE.format(schema=schema, file=file, format=file.rpartition(".")[2]))
    seen, letters = in_the_reference(made, folder)
    for turns in (2, 1000):
        found = Sources(made, folder, folder / f"job{turns}", turns=turns).run()
        assert found.seen == seen
        assert found.letters == letters
    return [item for _, item in seen if isinstance(item, tuple)], [letter.reason for letter in letters]


JSON = """{"s": "a", "n": 1, "x": 1}
{"x": 0.5, "l": [1, 2], "m": {"7": true}, "t": {"b": "ff"}, "d": 1.25, "w": 5, "c": "red"}

{"s": null, "o": null, "d": "1.50", "e": {}}
{"n": 2147483648}
{"n": 1.0}
{"s": 5}
{"t": {"b": "x"}}
{"c": "blue"}
[1]
{"s":
"""
JSON_SCHEMA = (
    "rstring s, int32 n, float32 x, list<uint8> l, map<int32, boolean> m, tuple<blob b> t, "
    "optional<int32> o, decimal64 d, timestamp w, enum{red, green} c"
)


def test_json_lines_become_tuples_and_say_what_is_wrong_with_them(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(JSON)
    tuples, reasons = read(tmp_path, JSON_SCHEMA, "a.json")
    empty = ("", 0, 0.0, [], {}, (b"",), None, Decimal(0), 0, "red")
    assert tuples == [
        ("a", 1, 1.0, *empty[3:]),
        ("", 0, 0.5, [1, 2], {7: True}, (b"\xff",), None, Decimal("1.25"), 5, "red"),
        (*empty[:7], Decimal("1.50"), *empty[8:]),
    ]
    assert reasons == [
        "attribute `n`: `2147483648` is out of range for int32 (-2147483648 to 2147483647)",
        "attribute `n`: expected an integer, found `1.0`",
        "attribute `s`: expected a string, found `5`",
        "attribute `t`: attribute `b`: `x` is not a blob: expected pairs of hexadecimal digits",
        'attribute `c`: `"blue"` is not a symbol of enum{red, green}',
        "expected an object, found `[1]`",
        "not JSON: expecting value at column 6",
    ]


def test_parquet_columns_are_found_by_name_and_brought_into_the_types_of_the_attributes(tmp_path: Path) -> None:
    table = pa.table(
        {
            "unused": [0, 0, 0],
            "n": pa.array([1, None, 3], pa.int64()),
            "s": pa.array(["a", None, "b"]).dictionary_encode(),
            "w": pa.array([1, 2, 3], pa.timestamp("ms")),
            "d": pa.array([Decimal("1.50"), None, Decimal("0.25")]),
            "o": pa.array([None, 2.5, None]),
            "l": pa.array([[1], [], [2, 3]]),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    schema = "rstring s, int32 n, timestamp w, decimal64 d, optional<float64> o, list<int32> l"
    assert read(tmp_path, schema, "a.parquet") == (
        [
            ("a", 1, 1_000_000, Decimal("1.50"), None, [1]),
            ("", 0, 2_000_000, Decimal(0), 2.5, []),
            ("b", 3, 3_000_000, Decimal("0.25"), None, [2, 3]),
        ],
        [],
    )


def test_a_group_of_rows_that_does_not_fit_is_set_aside(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"n": [1, 2, 300, 4, 5]}), tmp_path / "a.parquet", row_group_size=2)
    tuples, reasons = read(tmp_path, "uint8 n", "a.parquet")
    assert tuples == [(1,), (2,), (5,)]
    assert len(reasons) == 1
    assert "attribute `n`: Integer value 300 not in range" in reasons[0]


@pytest.mark.parametrize(
    ("content", "reason"), [(b"PAR?", "not a Parquet file"), (None, "there is no column `n`; found m")]
)
def test_what_is_no_parquet_file_or_lacks_a_column_says_so(tmp_path: Path, content: bytes | None, reason: str) -> None:
    if content is None:
        parquet.write_table(pa.table({"m": [1]}), tmp_path / "a.parquet")
    else:
        (tmp_path / "a.parquet").write_bytes(content)
    tuples, reasons = read(tmp_path, "int32 n", "a.parquet")
    assert tuples == []
    assert reason in reasons[0]


def test_a_parameter_of_csv_does_not_go_with_json() -> None:
    with pytest.raises(UserError, match="`separator` goes with the format csv, but the format is json"):
        program('stream<int32 n> A = FileSource() { param file: "a"; format: json; separator: ";"; }')
