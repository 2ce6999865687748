"""Writes seeded ticker and contract files: the two sources of the OpenGov query.

    python examples/opengov/generate.py [--companies 200] [--days 250] [--seed 1] [--out DIR]

Each line begins with the days since the line before. Few companies are volatile enough to double.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

HERE = Path(__file__).parent
AGENCIES = ("Defense", "Energy", "Health", "Transportation", "Treasury")


def generate(folder: Path, *, companies: int = 200, days: int = 250, seed: int = 1) -> None:
    """Write a price for each company and day, and a contract now and then."""
    rng = random.Random(seed)
    names = [f"C{i:04}" for i in range(companies)]
    quotes = [(day, name, price) for day, prices in enumerate(_prices(rng, names, days)) for name, price in prices]
    awards = [
        (day, name, rng.choice(AGENCIES), rng.randint(10, 900) * 1000.0) for day, name in _awards(rng, names, days)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "tickers.csv", quotes)
    _write(folder / "contracts.csv", awards)


def _prices(rng: random.Random, names: list[str], days: int) -> list[list[tuple[str, float]]]:
    price = {name: rng.uniform(5, 200) for name in names}
    volatility = {name: 0.08 if rng.random() < 0.05 else 0.01 for name in names}
    found = []
    for _ in range(days):
        for name in names:
            price[name] = max(0.5, price[name] * rng.gauss(1, volatility[name]))
        found.append([(name, round(price[name], 2)) for name in names])
    return found


def _awards(rng: random.Random, names: list[str], days: int) -> list[tuple[int, str]]:
    """Contracts go to the first companies more often."""
    return [
        (day, names[min(int(rng.expovariate(4 / len(names))), len(names) - 1)])
        for day in range(days)
        for _ in range(rng.randint(0, len(names) // 20))
    ]


def _write(path: Path, records: list[tuple[object, ...]]) -> None:
    before = 0
    with path.open("w") as file:
        for record in records:
            day = int(str(record[0]))
            file.write(",".join(str(field) for field in (float(day - before), *record)) + "\n")
            before = day


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write seeded ticker and contract files.")
    parser.add_argument("--companies", type=int, default=200)
    parser.add_argument("--days", type=int, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(arguments.out, companies=arguments.companies, days=arguments.days, seed=arguments.seed)
