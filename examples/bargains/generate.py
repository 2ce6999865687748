"""Writes a seeded stream of trades and quotes.

    python examples/bargains/generate.py [--ticks 10000] [--symbols 64] [--seed 1] [--out DIR]

Each line is `time,type,symbol,price,volume,ask,asksize`. Prices walk at random; a quote is now and then a bargain.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

HERE = Path(__file__).parent


def generate(path: Path, *, ticks: int = 10_000, symbols: int = 64, seed: int = 1) -> None:
    """Write so many ticks, four trades for each quote."""
    rng = random.Random(seed)
    names = ["".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=rng.randint(2, 4))) for _ in range(symbols)]
    prices = {name: rng.uniform(10, 200) for name in names}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        time = 0.0
        for _ in range(ticks):
            time += rng.expovariate(1000)
            name = names[min(int(rng.expovariate(6 / symbols)), symbols - 1)]
            prices[name] = max(1.0, prices[name] * rng.gauss(1, 0.002))
            file.write(f"{time:.4f}," + (_trade if rng.random() < 0.8 else _quote)(rng, name, prices[name]) + "\n")


def _trade(rng: random.Random, name: str, price: float) -> str:
    return f"Trade,{name},{price:.2f},{rng.randint(1, 20) * 100}.0,0.0,0.0"


def _quote(rng: random.Random, name: str, price: float) -> str:
    return f"Quote,{name},0.0,0.0,{price * rng.gauss(1.002, 0.004):.2f},{rng.randint(1, 10) * 100}.0"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a seeded stream of trades and quotes.")
    parser.add_argument("--ticks", type=int, default=10_000)
    parser.add_argument("--symbols", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(arguments.out / "ticks.csv", ticks=arguments.ticks, symbols=arguments.symbols, seed=arguments.seed)
