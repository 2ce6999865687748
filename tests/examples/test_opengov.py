"""The OpenGov query against a plain computation over days."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.testing import run

SPAN = 20


def read(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def expected(folder: Path) -> Counter[tuple[str, int, int]]:
    """(company, day on which its ratio was above two, day of the contract), less than 20 days apart."""
    prices: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for _, day, company, price in read(folder / "tickers.csv"):
        prices[company].append((int(day), float(price)))
    doubled = [
        (company, day)
        for company, history in prices.items()
        for day, _ in history
        if _ratio([price for at, price in history if day - SPAN < at <= day]) > 2.0
    ]
    awards = [(company, int(day)) for _, day, company, _, _ in read(folder / "contracts.csv")]
    return Counter((c, day, at) for c, day in doubled for d, at in awards if c == d and abs(day - at) < SPAN)


def _ratio(prices: list[float]) -> float:
    return max(prices) / min(prices)


def test_spl_and_python_make_equal_graphs(example, examples):
    spl = compile_file(examples / "opengov/opengov.spl").application
    assert spl == example("opengov/opengov.py").app.program().application


def test_it_finds_what_a_plain_computation_finds(example, examples, tmp_path):
    example("opengov/generate.py").generate(tmp_path, companies=120, days=120, seed=4)
    program = compile_file(examples / "opengov/opengov.spl")
    run(program, environment=Environment(data_directory=tmp_path, output_directory=tmp_path))
    wanted = expected(tmp_path)
    assert sum(wanted.values()) > 10
    assert Counter((row[0], int(row[1]), int(row[3])) for row in read(tmp_path / "found.csv")) == wanted
