"""Writes the log of a web site: visits of users, each a few requests, in the order in which servers delivered them.

A server holds its lines for up to some seconds, and now and then for minutes, so the log is not in the order of time.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from random import Random

START_MS = 1_767_600_000_000
"""The fifth of January 2026, eight in the morning, in milliseconds since 1970."""

PAGES = ("/", "/news", "/shop", "/shop/cart", "/about")


def draw_requests(count: int, users: int, seed: int) -> list[tuple[int, int, str, str, int]]:
    """Requests: when they were delivered, when they were made, by whom, what for, and how many bytes that was."""
    random = Random(seed)
    found = []
    while len(found) < count:
        user = f"u{random.randrange(users)}"
        at = START_MS + random.randrange(8 * 3_600_000)
        for _ in range(random.randrange(1, 9)):
            delay = random.randrange(4_000) if random.random() < 0.98 else random.randrange(600_000)
            found.append((at + delay, at, user, random.choice(PAGES), random.randrange(200, 9_000)))
            at += random.choice((2_000, 15_000, 90_000, 1_500_000))
    return sorted(found)[:count]


def generate(path: Path, count: int = 20_000, users: int = 400, seed: int = 7) -> None:
    """Write the log: milliseconds, user, page, bytes."""
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(row[1:] for row in draw_requests(count, users, seed))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("path", type=Path)
    arguments.add_argument("--count", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=7)
    given = arguments.parse_args()
    generate(given.path, given.count, seed=given.seed)
