"""Tables that a run is given for the inputs of its application, on the engines without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock import App, col
from penstock.base.diagnostics import UserError

ENGINES = ("reference", "local")


def dear() -> Any:
    trades = App().from_spark("trades", "rstring sym, float64 price, optional<timestamp> at")
    return trades.filter(col.price > 50.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_whatever_is_at_hand_is_a_table(engine: str, tmp_path: Path) -> None:
    noon = pd.Timestamp("2026-11-18 12:00:00.000001")
    frame = pd.DataFrame({"at": [noon, None], "more": [1, 2], "price": [83.5, 30.0], "sym": ["IBM", "HPQ"]})
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "trades.parquet")
    given: list[Any] = [
        frame,
        pa.Table.from_pandas(frame),
        tmp_path / "trades.parquet",
        [("IBM", 83.5, noon.value), {"sym": "HPQ", "price": 30, "at": None}],
    ]
    for table in given:
        assert [tuple(row) for row in dear().collect(engine=engine, inputs={"trades": table})] == [
            ("IBM", 83.5, noon.value)
        ]


def refusal(stream: Any, inputs: Any) -> str:
    with pytest.raises(UserError) as caught:
        stream.collect(inputs=inputs)
    return str(caught.value)


def test_what_does_not_fit_is_refused() -> None:
    assert "there is no input `trades`" in refusal(dear(), {})
    assert "takes no input `trade`; did you mean `trades`?" in refusal(dear(), {"trade": []})
    assert "has no column `price`; it has sym" in refusal(dear(), {"trades": pd.DataFrame({"sym": ["a"]})})
    table = pa.table({"sym": ["a"], "price": pa.array([None], pa.float64()), "at": pa.array([None], pa.int64())})
    assert "there is a null in the column `price`" in refusal(dear(), {"trades": table})
    assert "the input `trades` is no table" in refusal(dear(), {"trades": 5})
    assert "`inputs` takes tables by name" in refusal(dear(), [("a", 1.0)])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_output_that_is_a_dataframe_is_refused_by_a_run(engine: str) -> None:
    stream = dear()
    stream.to_spark("dear")
    with pytest.raises(UserError, match="the output `dear` is a DataFrame, which a run does not make"):
        stream.app.run(engine=engine, inputs={"trades": []})
