"""The log of a job's sources: what each batch holds, and where the sources stood behind it.

A batch is three files under the checkpoint: rows that were read when it was planned (`N-*.arrow`), where to go on
behind it (`N-*.state`), and `N.json`, which names the others and the extents that tasks read. `N.json` is written last,
and only once: of two processes that plan one batch, because one of them has not yet noticed that its query was stopped,
the first one wins. A batch that is asked for again is the same to the byte.
"""

from __future__ import annotations

import json
import os
import pickle
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.spark.source_batch import PlannedBatch


class SourceLog:
    """The log in a folder.

    Example:
        >>> import tempfile
        >>> from penstock.spark.source_batch import PlannedBatch
        >>> log = SourceLog(Path(tempfile.mkdtemp()))
        >>> log.write(0, PlannedBatch(has_ended=True), {"position": 5})
        True
        >>> log.batch(0)["parts"], log.batch(1), log.state(1)
        ([], None, {'position': 5})
    """

    def __init__(self, folder: Path) -> None:
        # A task may have another working directory.
        self._folder = folder.absolute()

    def write(self, number: int, batch: PlannedBatch, state: dict[str, Any]) -> bool:
        """Store a batch, and where the sources stand behind it; tells whether nobody was faster."""
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{number:020d}-{uuid.uuid4().hex}"
        entry: dict[str, Any] = {"has_ended": batch.has_ended, "parts": batch.parts, "rows": None}
        if batch.rows:
            entry["rows"] = self._store(f"{name}.arrow", _encoded(batch))
        entry["state"] = self._store(f"{name}.state", pickle.dumps(state, protocol=5))
        written = self._folder / self._store(f"{name}.part", json.dumps(entry).encode())
        try:
            os.link(written, self._path(number))
        except FileExistsError:
            return False
        finally:
            written.unlink()
        return True

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever planned."""
        return not self._folder.exists()

    def batch(self, number: int) -> dict[str, Any] | None:
        """What a batch holds: `parts`, the path of its `rows` and `has_ended`; None if it is not planned yet."""
        path = self._path(number)
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found | {"rows": found["rows"] and str(self._folder / found["rows"])}

    def state(self, number: int) -> dict[str, Any] | None:
        """Where the sources stood before a batch; None before the first."""
        before = self.batch(number - 1) if number else None
        found: dict[str, Any] | None = None
        if before is not None:
            found = pickle.loads((self._folder / before["state"]).read_bytes())
        return found

    def forget(self, number: int) -> None:
        """Drop what is not asked for again once the batches before a number are done; the last of them is kept."""
        for path in self._folder.glob("*.*"):
            if int(path.stem.split("-")[0]) < number - 1:
                path.unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:020d}.json"

    def _store(self, name: str, content: bytes) -> str:
        (self._folder / name).write_bytes(content)
        return name


def read_rows(path: str) -> Iterator[pa.RecordBatch]:
    """The rows of a batch."""
    import pyarrow as pa

    with pa.OSFile(path) as file:
        yield from pa.ipc.open_stream(file)


def _encoded(batch: PlannedBatch) -> bytes:
    import pyarrow as pa

    from penstock.codegen.transport import ARROW_SCHEMA

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ARROW_SCHEMA) as writer:
        for rows in batch.rows:
            writer.write_batch(rows)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded
