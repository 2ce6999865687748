"""The four topologies of the scheduling paper as programs that run: a chain for three of them, and OpenGov.

Parallel and Payload (section IV-C, figure 3) are a spout and seven bolts in which a tuple stays in its own chain of
tasks. Each bolt groups by a field of its own, and the values of the fields go together: all tuples of a chain go to
one channel of the first bolt, to one, and another, of the second, and so on. Nothing in the plan says so; it shows in
what is sent. A chain has several keys, and chains are not equally long: later ones have fewer tuples.

In Reference (figure 5) each field is a number drawn anew, so every task sends equally to all tasks of the next bolt. In
OpenGov (figure 2) two spouts are grouped by company, and what follows keeps the company's key; contracts go to few of
the companies.

Example:
    >>> found = keys_of_stages(4, 4, seed=1)
    >>> len(found), sorted(set(channels_of(found[0], 4)))
    (7, [0, 1, 2, 3])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from penstock.lang import compile_text
from penstock.parallel.key_groups import KEY_GROUPS, spread_evenly
from penstock.parallel.routing import group_of
from penstock.placement.problem import Ints
from penstock.toolkit.core.program import Program

DEPTH = 7
"""How many bolts follow the spout of a chain, as in the paper."""

_KEYS_A_CHAIN = 3
_PAYLOAD_BYTES = 3072
_SKEW = 0.15
"""A chain has so much less than the one before it."""
_CANDIDATES = 4096
_MULTIPLIERS = (7919, 104729, 15485863, 32452843, 49979687, 67867967, 86028121)
_COMPANIES, _ZIPF = 300, 0.8

_BOLT = """    stream<{fields}> K{n} = Functor({before}) {{ output K{n}: k = {key}; }}
    stream<{fields}> B{n} = Aggregate(K{n}) {{ window K{n}: sliding, count(2), count(1), partitioned;
      param partitionBy: k; aggregateIncompleteWindows: true; }}
"""

_OPEN_GOV = """composite OpenGov { graph
    stream<int64 n, int64 k, float64 price> Tickers = FileSource() { param file: "tickers.parquet"; format: parquet; }
    stream<Tickers> Contracts = FileSource() { param file: "contracts.parquet"; format: parquet; }
    stream<Tickers, tuple<float64 low>> Extremes = Aggregate(Tickers) {
      window Tickers: sliding, count(20), count(1), partitioned; param partitionBy: k; aggregateIncompleteWindows: true;
      output Extremes: low = Min(price); }
    stream<Extremes, tuple<float64 ratio>> Ratios = Aggregate(Extremes) {
      window Extremes: sliding, count(2), count(1), partitioned; param partitionBy: k; aggregateIncompleteWindows: true;
      output Ratios: ratio = Max(price) / Min(low); }
    stream<Ratios> Doubled = Filter(Ratios) { param filter: ratio > 1.9; }
    stream<int64 k, float64 ratio, float64 amount> Found = Join(Doubled; Contracts) {
      window Doubled: sliding, count(1), partitioned; Contracts: sliding, count(1), partitioned;
      param partitionByLHS: Doubled.k; partitionByRHS: Contracts.k; equalityLHS: Doubled.k; equalityRHS: Contracts.k;
      output Found: k = Doubled.k, amount = Contracts.price; }
    () as End = Discard(Found) { }
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTopology:
    """A topology that can be run.

    Attributes:
        program: Its operators.
        pes: Which of them share a PE: what makes a bolt's key goes with the bolt before it, as in Storm.
        turns_per_batch: How many turns of its sources are a batch.
    """

    program: Program
    pes: tuple[tuple[str, ...], ...]
    turns_per_batch: int


def channels_of(keys: Ints, channels: int) -> list[int]:
    """The channel that each key goes to, by the table that a job begins with."""
    table = np.array(spread_evenly(KEY_GROUPS, channels))
    return [int(channel) for channel in table[group_of([keys], KEY_GROUPS)]]


def keys_of_stages(channels: int, chains: int, *, seed: int, depth: int = DEPTH) -> list[Ints]:
    """For each bolt the keys of the tuples `id`, which are `chains` times some: those of a chain go to one channel.

    Args:
        channels: Of each bolt.
        chains: How many chains there are, at most one for each channel.
        seed: Which channel that is.
        depth: How many bolts there are.
    """
    rng = np.random.default_rng(seed)
    candidates = np.arange(_CANDIDATES)
    where = np.array(channels_of(candidates, channels))
    found = []
    for _ in range(depth):
        order = rng.permutation(channels)[:chains]
        picked = [rng.choice(candidates[where == channel], _KEYS_A_CHAIN, replace=False) for channel in order]
        found.append(np.concatenate(picked))
    return found


def chain(
    folder: Path, channels: int, rows: int, batches: int, *, payload_bytes: int = 0, depth: int = DEPTH
) -> LiveTopology:
    """Parallel, or Payload."""
    rng = np.random.default_rng(3)
    weights = np.repeat((1.0 - _SKEW) ** np.arange(channels), _KEYS_A_CHAIN)
    ids = rng.choice(len(weights), rows * batches, p=weights / weights.sum())
    columns = {"id": ids, "n": rng.integers(0, 1 << 60, len(ids))}
    if payload_bytes:
        texts = [rng.bytes(payload_bytes // 2).hex() for _ in range(64)]
        columns["text"] = pa.array(texts).take(pa.array(rng.integers(0, len(texts), len(ids))))
    _write(folder / "spout.parquet", columns, rows)
    keys = keys_of_stages(channels, channels, seed=5, depth=depth)
    makers = [f"[{', '.join(f'{key}l' for key in of_stage)}][(int32) id]" for of_stage in keys]
    fields = "int64 k, int64 id, int64 n" + (", rstring text" if payload_bytes else "")
    return _chain_of(fields.removeprefix("int64 k, "), fields, makers, rows)


def reference(folder: Path, channels: int, rows: int, batches: int, *, depth: int = DEPTH) -> LiveTopology:
    """Reference: the key of each bolt says nothing of that of the next."""
    rng = np.random.default_rng(3)
    _write(
        folder / "spout.parquet", {"id": rng.integers(0, 1 << 30, rows * batches), "n": np.arange(rows * batches)}, rows
    )
    makers = [f"(id * {factor}l / 1024l) % {16 * channels}l" for factor in _MULTIPLIERS[:depth]]
    return _chain_of("int64 id, int64 n", "int64 k, int64 id, int64 n", makers, rows)


def open_gov(folder: Path, channels: int, rows: int, batches: int) -> LiveTopology:
    """OpenGov: stock tickers, and a fifth as many contracts."""
    rng = np.random.default_rng(3)
    total = rows * batches
    _write(folder / "tickers.parquet", _records(rng, rng.integers(0, _COMPANIES, total)), rows)
    ranks = np.power(np.arange(1, _COMPANIES + 1, dtype=np.float64), -_ZIPF)
    _write(
        folder / "contracts.parquet",
        _records(rng, rng.choice(_COMPANIES, total // 5, p=ranks / ranks.sum())),
        max(1, rows // 5),
    )
    pes = (("Tickers",), ("Contracts",), ("Extremes",), ("Ratios", "Doubled"), ("Found",), ("End",))
    return LiveTopology(program=compile_text(_OPEN_GOV), pes=pes, turns_per_batch=rows)


def _chain_of(given: str, fields: str, makers: list[str], rows: int) -> LiveTopology:
    """A spout and a bolt for each text that makes a key."""
    spout = f'    stream<{given}> Spout = FileSource() {{ param file: "spout.parquet"; format: parquet; }}\n'
    before = ["Spout", *(f"B{n}" for n in range(1, len(makers)))]
    bolts = [
        _BOLT.format(fields=fields, n=n, before=source, key=key)
        for n, (source, key) in enumerate(zip(before, makers, strict=True), 1)
    ]
    end = f"    () as End = Discard(B{len(makers)}) {{ }}\n"
    pes = [(source, f"K{n}") for n, source in enumerate(before, 1)]
    return LiveTopology(
        program=compile_text("composite Chain { graph\n" + spout + "".join(bolts) + end + "}"),
        pes=(*pes, (f"B{len(makers)}",), ("End",)),
        turns_per_batch=rows,
    )


def _records(rng: np.random.Generator, companies: Ints) -> dict[str, object]:
    return {"n": np.arange(len(companies)), "k": companies, "price": 1.0 + rng.random(len(companies))}


def _write(path: Path, columns: Mapping[str, object], rows: int) -> None:
    # A batch takes whole groups of rows.
    parquet.write_table(pa.table(columns), path, row_group_size=rows)


def parallel(folder: Path, channels: int, rows: int, batches: int) -> LiveTopology:
    """Parallel: 16 bytes a tuple, and its key."""
    return chain(folder, channels, rows, batches)


def payload(folder: Path, channels: int, rows: int, batches: int) -> LiveTopology:
    """Payload: 3 KiB a tuple, so fewer of them."""
    return chain(folder, channels, max(1, rows // 20), batches, payload_bytes=_PAYLOAD_BYTES)


def sized(folder: Path, channels: int, rows: int, batches: int, *, payload_bytes: int) -> LiveTopology:
    """Payload with tuples of another size and three bolts, as in the paper's figure 9."""
    return chain(folder, channels, rows, batches, payload_bytes=payload_bytes, depth=3)


LIVE_TOPOLOGIES: dict[str, Callable[[Path, int, int, int], LiveTopology]] = {
    "open_gov": open_gov,
    "parallel": parallel,
    "payload": payload,
    "reference": reference,
}
