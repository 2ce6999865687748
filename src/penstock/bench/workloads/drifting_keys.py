"""A chain of keyed bolts whose hot keys change: where it should be placed is another place after each change.

A share of the tuples is of few hot ids, as in `live_topologies`: all tuples of an id go to one channel of each bolt.
The others have ids of a wide range, whose keys say nothing of each other. Time is divided into phases; in each there
are other hot ids, which go other ways.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from penstock.bench.workloads.live_topologies import LiveTopology, keys_of_stages
from penstock.lang import compile_text

DEPTH = 3
"""How many bolts follow the spout."""

HOT_SHARE = 0.7
_COLD_IDS = 1 << 20
_TEXT_BYTES = 1024

_BOLT = """    stream<{fields}> K{n} = Functor({before}) {{
      output K{n}: k = id < {hot}l ? [{keys}][(int32) id] : id * {factor}l % 100003l; }}
    stream<{fields}> B{n} = Aggregate(K{n}) {{ window K{n}: sliding, count(2), count(1), partitioned;
      param partitionBy: k; aggregateIncompleteWindows: true; }}
"""
_FACTORS = (7919, 104729, 49979687)


def drifting_keys(folder: Path, channels: int, rows: int, batches: int, phases: int) -> LiveTopology:
    """The program, with its input in a folder.

    Args:
        folder: For the input.
        channels: Of each bolt.
        rows: Of a batch.
        batches: Of a phase.
        phases: How many there are.
    """
    rng = np.random.default_rng(8)
    keys = [keys_of_stages(channels, channels, seed=phase, depth=DEPTH) for phase in range(phases)]
    hot = len(keys[0][0])
    total = rows * batches
    parts = []
    for phase in range(phases):
        ids = rng.integers(phase * hot, (phase + 1) * hot, total)
        cold = rng.random(total) >= HOT_SHARE
        parts.append(np.where(cold, rng.integers(phases * hot, _COLD_IDS, total), ids))
    ids = np.concatenate(parts)
    texts = pa.array([rng.bytes(_TEXT_BYTES // 2).hex() for _ in range(64)])
    chosen = texts.take(pa.array(rng.integers(0, len(texts), len(ids))))
    table = pa.table({"id": ids, "n": np.arange(len(ids)), "text": chosen})
    # A batch takes whole groups of rows.
    parquet.write_table(table, folder / "spout.parquet", row_group_size=rows)
    fields = "int64 k, int64 id, int64 n, rstring text"
    spout = (
        "    stream<int64 id, int64 n, rstring text> Spout = FileSource() "
        '{ param file: "spout.parquet"; format: parquet; }\n'
    )
    bolts = []
    for n in range(1, DEPTH + 1):
        of_stage = ", ".join(f"{key}l" for phase in range(phases) for key in keys[phase][n - 1])
        before = "Spout" if n == 1 else f"B{n - 1}"
        bolts.append(
            _BOLT.format(fields=fields, n=n, before=before, hot=phases * hot, keys=of_stage, factor=_FACTORS[n - 1])
        )
    end = (
        f"    stream<int64 k, int64 id, int64 n> Out = Functor(B{DEPTH}) {{ }}\n"
        '    () as End = FileSink(Out) { param file: "out.csv"; }\n'
    )
    pes = [("Spout", "K1"), *((f"B{n}", f"K{n + 1}") for n in range(1, DEPTH)), (f"B{DEPTH}", "Out"), ("End",)]
    text = "composite Drifting { graph\n" + spout + "".join(bolts) + end + "}"
    return LiveTopology(program=compile_text(text), pes=tuple(pes), turns_per_batch=rows)
