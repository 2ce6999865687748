"""Writes seeded server logs: many quiet users, a few that hammer the servers.

python examples/network_monitoring/generate.py [--servers 4] [--seconds 30] [--seed 1] [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

HERE = Path(__file__).parent
MESSAGES = ("GET /", "GET /index", "POST /login", "GET /cart", "login failed")


def generate(out: Path, *, servers: int = 4, seconds: int = 30, seed: int = 1) -> None:
    """Write one log a server: about 100 lines a second, a third of them by three noisy users."""
    out.mkdir(parents=True, exist_ok=True)
    for server in range(servers):
        rng = random.Random(f"{seed}/{server}")
        with (out / f"logs{server}.com").open("w") as file:
            time = 0.0
            while (time := time + rng.expovariate(100)) < seconds:
                uid = rng.choice((7, 13, 42)) if rng.random() < 0.33 else rng.randrange(1000, 1500)
                file.write(f"{time:.3f} {uid} {rng.choice(MESSAGES)}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write seeded server logs.")
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(arguments.out, servers=arguments.servers, seconds=arguments.seconds, seed=arguments.seed)
