"""Rows for containers whose keys lie in tables: tuples, markers and steps of time."""

from __future__ import annotations

import random
from typing import Any

from penstock.codegen.transport.batches import TUPLE, WINDOW, Item, encode
from stored_job import Job

SCHEMA = "int64 n, rstring s, float64 f"
S = 1_000_000_000


class Timed(Job):
    """A job whose time goes on inside of batches, too."""

    def values(self, rows: list[Any]) -> list[Any]:
        items = []
        for row in rows:
            self.number += 1
            if isinstance(row, float):
                self.seconds += row
                continue
            kind, tuple_ = (row, None) if isinstance(row, int) else (TUPLE, row)
            items.append(Item(round(self.seconds * S), self.number, b"0000", kind, tuple_))
        return [(self.edge.index, value) for value in encode(items, self.schema)]


def drawn(rng: random.Random, size: int, keys: str) -> list[Any]:
    """Tuples, markers and steps of time."""
    return [
        rng.choice([0.5, 1.0, 2.5])
        if rng.random() < 0.15
        else WINDOW
        if rng.random() < 0.03
        else (rng.randrange(9), rng.choice(keys), rng.random())
        for _ in range(size)
    ]
