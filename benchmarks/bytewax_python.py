"""The chains of `handwritten_python.py`, and its keyed class, in Bytewax.

Run: `python -m bytewax.testing -p 2 "benchmarks/bytewax_python.py:flow('CASE', 'FOLDER', 'REPORT')"`. Every process
leaves a file in the folder REPORT with the times of its first and its last row and how many came out.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

sys.path.insert(0, str(Path(__file__).parent))
from handwritten_python import CASES, KEYED, KEYS, Total, read_rows

TIMES: dict[str, float] = {"first": float("inf"), "last": 0.0, "rows": 0}


class _File(StatefulSourcePartition[Any, int]):
    """The rows of one file."""

    def __init__(self, path: Path) -> None:
        self._rows = read_rows(path)
        self._given = 0

    def next_batch(self) -> Any:
        TIMES["first"] = min(TIMES["first"], time.time())
        self._given += 1
        return next(self._rows)

    def snapshot(self) -> int:
        return self._given


class Files(FixedPartitionedSource[Any, int]):
    """The Parquet files of a folder, a partition each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_parts(self) -> list[str]:
        return sorted(path.name for path in self._folder.iterdir())

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> _File:
        return _File(self._folder / for_part)


class _Nothing(StatelessSinkPartition[Any]):
    def __init__(self, report: Path) -> None:
        self._report = report

    def write_batch(self, items: list[Any]) -> None:
        TIMES["rows"] += len(items)

    def close(self) -> None:
        TIMES["last"] = time.time()
        (self._report / f"{os.getpid()}.json").write_text(json.dumps(TIMES))


class Nothing(DynamicSink[Any]):
    """Counts rows and drops them."""

    def __init__(self, report: Path) -> None:
        self._report = report

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Nothing:
        return _Nothing(self._report)


def _add(totals: tuple[int, float] | None, row: Any) -> tuple[tuple[int, float], Total]:
    count, total = totals or (0, 0.0)
    count, total = count + 1, total + row.x
    return (count, total), Total(row.n, count, total)


def flow(case: str, folder: str, report: str) -> Dataflow:
    """The dataflow of a case."""
    made = Dataflow("python")
    stream: Any = op.input("rows", made, Files(Path(folder)))
    if case == KEYED:
        keyed = op.key_on("key", stream, lambda row: str(row.n % KEYS))
        stream = op.stateful_map("totals", keyed, _add)
    else:
        for i, (role, function) in enumerate(CASES[case]):
            stream = (op.map if role == "map" else op.filter)(f"step{i}", stream, function)
    op.output("nothing", stream, Nothing(Path(report)))
    return made
