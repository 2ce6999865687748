"""Bargain detection: SPL and Python agree, and both agree with a plain computation."""

from __future__ import annotations

import csv
from collections import defaultdict, deque
from pathlib import Path

import pytest

from penstock.expr.environment import Environment
from penstock.lang import compile_file, compile_text
from penstock.runtime.verify.verify_models import verify_models
from penstock.testing import apply, run


@pytest.fixture
def ticks(example, tmp_path) -> Path:
    example("bargains/generate.py").generate(tmp_path / "ticks.csv", ticks=6_000, symbols=12, seed=3)
    return tmp_path


def bargains(program, folder: Path) -> list[list[str]]:
    run(program, environment=Environment(data_directory=folder, output_directory=folder))
    with (folder / "bargains.csv").open(newline="") as file:
        return list(csv.reader(file))


def expected(folder: Path) -> list[tuple[str, float, float]]:
    """(symbol, ask, VWAP) of each quote below the VWAP of the last 15 trades of its symbol, once there are 15."""
    trades: dict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=15))
    found = []
    for seen, row in enumerate(csv.reader((folder / "ticks.csv").open(newline="")), 1):
        _, kind, sym, price, volume, ask, _ = row
        if kind == "Trade":
            trades[sym].append((float(price), float(volume)))
        elif len(trades[sym]) == 15 and float(ask) > 0:
            vwap = sum(p * v for p, v in trades[sym]) / sum(v for _, v in trades[sym])
            # The report waits for the level of the market, which needs 100 ticks.
            if float(ask) < vwap and seen >= 100:
                found.append((sym, float(ask), vwap))
    return found


def test_spl_and_python_make_equal_graphs(example, examples):
    spl = compile_file(examples / "bargains/bargains.spl").application
    assert spl == example("bargains/bargains.py").app().program().application


def test_the_spl_file_is_what_its_generator_writes(example, examples):
    assert (examples / "bargains/bargains.spl").read_text() == example("bargains/make_spl.py").program(4)


def test_both_find_the_bargains_that_a_plain_computation_finds(example, examples, ticks):
    from_spl = bargains(compile_file(examples / "bargains/bargains.spl"), ticks)
    from_python = bargains(example("bargains/bargains.py").app(groups=4).program(), ticks)
    assert from_spl == from_python
    wanted = expected(ticks)
    assert len(wanted) > 20
    assert [row[0] for row in from_spl] == [sym for sym, _, _ in wanted]
    assert [float(row[2]) for row in from_spl] == pytest.approx([vwap for _, _, vwap in wanted])


def test_the_number_of_groups_does_not_change_the_result(example, ticks):
    module = example("bargains/bargains.py")
    assert bargains(module.app(groups=1).program(), ticks) == bargains(module.app(groups=7).program(), ticks)


def test_with_28_groups_it_has_the_size_of_the_papers(example):
    application = compile_text(example("bargains/make_spl.py").program(28), main="Bargains").application
    assert len(application.operators) == 200
    assert len(list(application.edges())) == 283
    assert application == example("bargains/bargains.py").app(groups=28).program().application


def test_a_forecast_follows_a_trend(example):
    module = example("bargains/bargains.py")
    trades = [("IBM", 50.0 + 0.1 * n, 1.0, 50.0) if n % 2 else ("HPQ", 20.0, 1.0, 20.0) for n in range(200)]
    seen = apply(module.Forecast, trades, schema=module.TRADE, output=f"{module.TRADE}, float64 fair")
    assert [row[:4] for row in seen] == trades
    assert seen[-1][4] == pytest.approx(trades[-1][1], abs=0.05)
    assert seen[-2][4] == pytest.approx(20.0)


def test_what_the_forecast_claims_is_true_and_the_bargains_are_the_same_with_it(example, ticks):
    module = example("bargains/bargains.py")
    scored = bargains(verify_models(module.app(forecast=True).program()), ticks)
    plain = bargains(module.app().program(), ticks)
    assert [row[:5] for row in scored] == [row[:5] for row in plain]
    assert [row[5] for row in scored] != [row[5] for row in plain]
