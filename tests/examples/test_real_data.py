"""The examples on real data, against what pandas computes from the same files."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.testing import run


@pytest.fixture
def data(example) -> Path:
    return example("vega_folder.py").folder()


def rows(program, data: Path, out: Path, name: str) -> list[list[str]]:
    run(program, environment=Environment(data_directory=data, output_directory=out))
    with (out / name).open(newline="") as file:
        return list(csv.reader(file))


def test_stocks_in_spl_and_python_make_equal_graphs(example, examples):
    spl = compile_file(examples / "stocks/stocks.spl").application
    assert spl == example("stocks/stocks.py").app.program().application


def test_shares_rise_above_their_mean_in_the_months_that_pandas_finds(examples, data, tmp_path):
    found = rows(compile_file(examples / "stocks/stocks.spl"), data, tmp_path, "rises.csv")
    table = pd.read_csv(data / "stocks.csv")
    prices = table.groupby("symbol", sort=False)["price"]
    mean = prices.rolling(12).mean().droplevel(0)
    above = table["price"] > mean
    before = above.groupby(table["symbol"]).shift(fill_value=True) | mean.groupby(table["symbol"]).shift().isna()
    wanted = table[above & ~before]
    assert [(symbol, date) for symbol, date, *_ in found] == list(zip(wanted["symbol"], wanted["date"], strict=True))
    assert [float(row[3]) for row in found] == pytest.approx(mean[wanted.index].tolist())


def test_wet_spells_are_those_that_pandas_finds(example, data, tmp_path):
    found = rows(example("weather/weather.py").app.program(), data, tmp_path, "spells.csv")
    table = pd.read_csv(data / "seattle-weather.csv")
    wet = table["precipitation"] > 0
    runs = table[wet].groupby((wet != wet.shift()).cumsum())
    spells = runs.agg(start=("date", "first"), days=("date", "size"), millimetres=("precipitation", "sum"))
    wanted = spells[spells["days"] >= 7]
    assert [(start, int(days)) for start, days, _ in found] == list(zip(wanted["start"], wanted["days"], strict=True))
    assert [float(row[2]) for row in found] == pytest.approx(wanted["millimetres"].tolist())
