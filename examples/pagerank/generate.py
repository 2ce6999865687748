"""Writes a seeded web graph: a line a page, the pages that it links to; some pages are linked to more than others.

python examples/pagerank/generate.py [--pages 200] [--links 8] [--seed 1] [--out DIR]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

HERE = Path(__file__).parent


def generate(out: Path, *, pages: int = 200, links: int = 8, seed: int = 1) -> None:
    """Write `graph.txt`: each page links to up to twice `links` others, and one in twenty to none."""
    rng = random.Random(seed)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "graph.txt").open("w") as file:
        for page in range(pages):
            count = 0 if rng.random() < 0.05 else rng.randint(1, 2 * links)
            targets = {int(pages * rng.random() ** 2) for _ in range(count)} - {page}
            file.write(" ".join(map(str, sorted(targets))) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a seeded web graph.")
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--links", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "data")
    arguments = parser.parse_args()
    generate(arguments.out, pages=arguments.pages, links=arguments.links, seed=arguments.seed)
