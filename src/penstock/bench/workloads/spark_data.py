"""Seeded input of the experiments on Spark: for each, one file for Penstock and the same rows cut into files for Spark.

Spark takes a batch in whole files, so a program by hand reads a folder of slices, one for each batch, in the order of
their modification times. Penstock reads one file and cuts it into batches itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

SYMBOL_LETTERS = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
MESSAGES = np.array(["GET /", "GET /index", "POST /login", "GET /cart", "login failed"])


def keyed_rows(rows: int, keys: int, seed: int = 1) -> pa.Table:
    """Rows `k, v` in which every key comes equally often, in random order.

    Example:
        >>> keyed_rows(6, 3)["k"].value_counts().field("counts").to_pylist()
        [2, 2, 2]
    """
    rng = np.random.default_rng(seed)
    k = rng.permutation(np.tile(np.arange(keys), rows // keys))
    return pa.table({"k": k, "v": rng.integers(0, 1000, len(k))})


def ticks(rows: int, symbols: int, seed: int = 1) -> pa.Table:
    """Trades and quotes as `examples/bargains/generate.py` makes them, each at a time of its own."""
    rng = np.random.default_rng(seed)
    names = np.array(["".join(rng.choice(SYMBOL_LETTERS, 4)) for _ in range(symbols)])
    symbol = np.minimum(rng.exponential(symbols / 6, rows).astype(int), symbols - 1)
    walk = np.exp(np.cumsum(rng.normal(0, 0.0002, rows))) * (10 + 190 * rng.random(symbols))[symbol]
    is_trade = rng.random(rows) < 0.8
    ask = walk * rng.normal(1.002, 0.004, rows)
    return pa.table(
        {
            "time": (np.arange(1, rows + 1) * 0.001).round(3),
            "ttype": np.where(is_trade, "Trade", "Quote"),
            "sym": names[symbol],
            "price": np.where(is_trade, walk, 0).round(2),
            "volume": np.where(is_trade, rng.integers(1, 21, rows) * 100, 0).astype(float),
            "ask": np.where(is_trade, 0, ask).round(2),
            "asksize": np.where(is_trade, 0, rng.integers(1, 11, rows) * 100).astype(float),
        }
    )


def log_lines(rows: int, users: int, seed: int = 1) -> pa.Table:
    """Lines `seconds uid message`, a third of them by three noisy users.

    Every user has a line at the very beginning: the windows of the program start with a user's first line, those by
    hand at fixed times, and so both are the same.
    """
    rng = np.random.default_rng(seed)
    noisy, quiet = np.array([7, 13, 42]), np.arange(1000, 1000 + users)
    uid = np.where(rng.random(rows) < 0.33, rng.choice(noisy, rows), rng.choice(quiet, rows))
    uid[: users + 3] = np.concatenate([noisy, quiet])
    seconds = np.sort(rng.random(rows) * rows / 2000).round(3)
    seconds[: users + 3] = 0
    columns = [pa.array(column).cast(pa.string()) for column in (seconds, uid, rng.choice(MESSAGES, rows))]
    return pa.table({"line": pc.binary_join_element_wise(*columns, " ")})


def write_csv(table: pa.Table, path: Path) -> None:
    """Write a table without a header and without quotes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    pyarrow.csv.write_csv(table, str(path), options)


def write_slices(
    table: pa.Table, folder: Path, slices: int, write: Callable[[pa.Table, Path], None] = write_csv
) -> None:
    """Write a table as files of equal length, each newer than the one before; as CSV, or by another function."""
    folder.mkdir(parents=True, exist_ok=True)
    bounds: Sequence[int] = np.linspace(0, table.num_rows, slices + 1).astype(int).tolist()
    for i, (start, end) in enumerate(pairwise(bounds)):
        path = folder / f"{i:04d}"
        write(table.slice(start, end - start), path)
        os.utime(path, (1_000_000_000 + i, 1_000_000_000 + i))
