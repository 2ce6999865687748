"""The log of a job's sources: what each batch holds, and where the sources stood behind it.

A batch is three files under the checkpoint: `N.arrow` with the rows that were read when it was planned, `N.json` with
the extents that tasks read, and `N+1.state` with where to go on. `N.json` is written last; without it the batch was
never planned. A batch that is asked for again is the same to the byte.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.codegen.transport import ARROW_SCHEMA
from penstock.spark.source_batch import PlannedBatch


class SourceLog:
    """The log in a folder.

    Example:
        >>> import tempfile
        >>> log = SourceLog(Path(tempfile.mkdtemp()))
        >>> log.write(0, PlannedBatch(has_ended=True), {"position": 5})
        >>> log.batch(0), log.batch(1), log.state(1)
        ({'has_ended': True, 'parts': [], 'rows': None}, None, {'position': 5})
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, number: int, batch: PlannedBatch, state: dict[str, Any]) -> None:
        """Store a batch, and where the sources stand behind it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        rows = self._path(number, "arrow") if batch.rows else None
        if rows is not None:
            _replace(rows, _encoded(batch))
        _replace(self._path(number + 1, "state"), pickle.dumps(state, protocol=5))
        entry = {"has_ended": batch.has_ended, "parts": batch.parts, "rows": None if rows is None else str(rows)}
        _replace(self._path(number, "json"), json.dumps(entry).encode())

    def batch(self, number: int) -> dict[str, Any] | None:
        """What a batch holds: `parts`, the path of its `rows` and `has_ended`; None if it is not planned yet."""
        path = self._path(number, "json")
        found: dict[str, Any] | None = json.loads(path.read_bytes()) if path.exists() else None
        return found

    def state(self, number: int) -> dict[str, Any] | None:
        """Where the sources stood before a batch; None before the first."""
        path = self._path(number, "state")
        found: dict[str, Any] | None = pickle.loads(path.read_bytes()) if path.exists() else None
        return found

    def forget(self, number: int) -> None:
        """Drop what is not asked for again once the batches before a number are done; the last of them is kept."""
        for path in self._folder.glob("*.*"):
            if int(path.stem) < number - 1 or (path.suffix == ".part" and int(path.stem) < number):
                path.unlink(missing_ok=True)

    def _path(self, number: int, kind: str) -> Path:
        return self._folder / f"{number:020d}.{kind}"


def read_rows(path: str) -> Iterator[pa.RecordBatch]:
    """The rows of a batch."""
    with pa.OSFile(path) as file:
        yield from pa.ipc.open_stream(file)


def _encoded(batch: PlannedBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ARROW_SCHEMA) as writer:
        for rows in batch.rows:
            writer.write_batch(rows)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _replace(path: Path, content: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(content)
    os.replace(part, path)
