"""Workers import PySpark from where it is installed, not from Spark's zip."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.spark.job.spark_home import without_zipped_python
from spark_session import session

pytestmark = pytest.mark.xdist_group("spark")


def test_java_sees_a_home_with_all_that_it_needs_but_python(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with without_zipped_python():
        home = Path(os.environ["SPARK_HOME"])
    assert home.parent == tmp_path
    assert list((home / "jars").glob("spark-core_*.jar"))
    assert not (home / "python").exists()
    assert "SPARK_HOME" not in os.environ


def test_it_is_there_already_the_second_time(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    for _ in range(2):
        with without_zipped_python():
            assert (Path(os.environ["SPARK_HOME"]) / "bin" / "spark-submit").exists()


def test_the_home_that_the_user_has_set_holds(monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with without_zipped_python():
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with without_zipped_python():
        assert "SPARK_HOME" not in os.environ


def test_workers_import_the_installed_package():
    def where(batches):
        import pyspark

        list(batches)
        yield pa.record_batch({"file": [pyspark.__file__]})

    (row,) = session().range(1, numPartitions=1).mapInArrow(where, "file string").collect()
    assert ".zip" not in row.file
