"""A lookup gives on Spark what it gives in the reference."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock import App
from penstock.testing import feed
from spark_session import assert_equal_on_spark, everything_fused

pytestmark = pytest.mark.xdist_group("spark")


def test_a_table_is_there_before_the_first_tuple_and_in_every_batch(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"sym": ["S0", "S1", "S1"], "x": [1, 2, 3]}), tmp_path / "table.parquet")
    app = App("Main")
    trades = app.source(feed([(f"S{n % 3}", n) for n in range(40)]), "rstring sym, int64 n", name="Trades")
    found = trades.lookup("table.parquet", on="sym", schema="rstring sym, int64 x", how="left", every="1 s")
    found.write_json("found.json")
    assert_equal_on_spark(app.program(), tmp_path, fusions=(everything_fused,), channels=3)
