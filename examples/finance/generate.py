"""Writes seeded trades and quotes of symbols whose prices wander.

python examples/finance/generate.py [--ticks 5000] [--symbols 20] [--seed 1] [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

HERE = Path(__file__).parent


def generate(out: Path, *, ticks: int = 5000, symbols: int = 20, seed: int = 1) -> None:
    """Write `trades.csv` (time, symbol, price, volume) and `quotes.csv` (time, symbol, bid, ask), ascending in time."""
    rng = random.Random(seed)
    prices = [rng.uniform(10, 200) for _ in range(symbols)]
    time = 0.0
    out.mkdir(parents=True, exist_ok=True)
    with (out / "trades.csv").open("w") as trades, (out / "quotes.csv").open("w") as quotes:
        for _ in range(ticks):
            time += rng.expovariate(100)
            i = rng.randrange(symbols)
            prices[i] *= 1 + rng.uniform(-0.01, 0.01)
            if rng.random() < 0.5:
                trades.write(f"{time:.3f},S{i:03},{prices[i]:.2f},{rng.randint(1, 50) * 100}\n")
            else:
                bid = prices[i] * rng.uniform(0.99, 1.01)
                quotes.write(f"{time:.3f},S{i:03},{bid:.2f},{bid * 1.002:.2f}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write seeded trades and quotes.")
    parser.add_argument("--ticks", type=int, default=5000)
    parser.add_argument("--symbols", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(arguments.out, ticks=arguments.ticks, symbols=arguments.symbols, seed=arguments.seed)
