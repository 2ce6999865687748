"""The folders of partitioned files: names that Spark, Hive and pyarrow read back as the values."""

from __future__ import annotations

import pyarrow.dataset as ds
import pytest

from penstock import App
from penstock.base.diagnostics import UserError
from penstock.toolkit.files.partitioned_files import folder_of

VALUES = ["ü:x", "a/b", "a=b", "100%", "漢字", "", "..", "x\ny", "\u00a0"]


def test_letters_stay_letters_because_spark_reads_each_escaped_byte_as_one():
    assert folder_of(["k"], ["ü:漢%"]) == "k=ü%3A漢%25"
    assert folder_of(["k"], [".."]) == "k=.."


def test_values_of_all_kinds_come_back(tmp_path):
    rows = [(value, n) for n, value in enumerate(VALUES)]
    app = App()
    app.from_rows(rows, "rstring k, int64 n").write_parquet("parts", partition_by="k")
    app.run("local", out=tmp_path).wait()
    found = ds.dataset(tmp_path / "parts", format="parquet", partitioning="hive").to_table().to_pylist()
    # Of an empty text and of one that is not there Hive makes the same.
    assert sorted((row["k"] or "", row["n"]) for row in found) == sorted(rows)


def test_the_length_of_a_name_is_that_of_its_bytes():
    with pytest.raises(UserError, match="its value has 100 characters, 302 bytes in a name"):
        folder_of(["k"], ["漢" * 100])


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "parts").touch()
    app = App()
    app.from_rows([(1,)], "int64 n").write_parquet("parts")
    with pytest.raises(UserError, match=r"writes a folder, but `.*parts` is a file"):
        app.run("local", out=tmp_path).wait()
