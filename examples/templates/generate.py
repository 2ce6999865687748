"""Writes seeded readings of sensors: mostly quiet, now and then a real jump, now and then a broken value.

python examples/templates/generate.py [--readings 20000] [--sensors 8] [--seed 1] [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

HERE = Path(__file__).parent


def generate(path: Path, *, readings: int = 20_000, sensors: int = 8, seed: int = 1) -> None:
    """Write `at,sensor,value` lines."""
    rng = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for at in range(readings):
            sensor = f"s{rng.randrange(sensors)}"
            file.write(f"{at},{sensor},{_value(rng):.3f}\n")


def _value(rng: random.Random) -> float:
    chance = rng.random()
    if chance < 0.002:
        return -9999.0
    return rng.gauss(20, 0.5) + (15 if chance > 0.995 else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write seeded readings of sensors.")
    parser.add_argument("--readings", type=int, default=20_000)
    parser.add_argument("--sensors", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(
        arguments.out / "readings.csv", readings=arguments.readings, sensors=arguments.sensors, seed=arguments.seed
    )
