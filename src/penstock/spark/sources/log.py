"""The log of a job's sources: what each batch holds, and where the sources stood behind it.

A batch is three files under the checkpoint: rows that were read when it was planned (`N-*.arrow`), where to go on
behind it (`N-*.state`), and `N.batch`, which names the others and the extents that tasks read. `N.batch` is written
last, when the others are synced, and only once: of two processes that plan one batch, because one of them has not yet
noticed that its query was stopped, the first one wins. A batch that is asked for again is the same to the byte.

`N.batch` and the states are sealed. `N.batch` tells the length and the checksum of the rows, and the SHA-256 of the
`N.batch` before it, so that a log of which a part was cut, changed or put back from another time is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import uuid
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import LOST, create_durably, make_folder, read_sealed, seal, sync_file
from penstock.base.plain_pickle import load_plain

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.runtime.sources.batch import PlannedBatch

_WHAT = "the log of the sources"
_STATE = "the state of the sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRows:
    """The rows of a batch, in a file of the log.

    Attributes:
        path: Of the file; only its name in the log itself.
        size_bytes: How long it is.
        crc32: Of its content.
    """

    path: str
    size_bytes: int
    crc32: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedBatch:
    """A planned batch, as the log stores it.

    Attributes:
        parts: The parts that tasks read by columns.
        rows: The rows that were read when it was planned, if any.
        state: The name of the file with the state of the sources after the batch.
        has_ended: Whether nothing follows.
        before: The SHA-256 of the batch before, if there is one.
    """

    parts: list[dict[str, Any]]
    rows: LoggedRows | None
    state: str
    has_ended: bool
    before: str | None


def _no_check() -> None:
    """Nobody else writes this log."""


class SourceLog:
    """The log in a folder.

    Args:
        folder: Where it lies.
        check: Raises an error if the log is not ours to write any more.

    Example:
        >>> import tempfile
        >>> from penstock.runtime.sources.batch import PlannedBatch
        >>> log = SourceLog(Path(tempfile.mkdtemp()))
        >>> log.write(0, PlannedBatch(has_ended=True), {"position": 5})
        True
        >>> log.batch(0).parts, log.batch(1), log.state(1)
        ([], None, {'position': 5})
    """

    def __init__(self, folder: Path, check: Callable[[], None] = _no_check) -> None:
        # A task may have another working directory.
        self._folder = folder.absolute()
        self._check = check

    def write(self, number: int, batch: PlannedBatch, state: dict[str, Any]) -> bool:
        """Store a batch, and where the sources stand behind it; tells whether nobody was faster."""
        make_folder(self._folder)
        name = f"{number:020d}-{uuid.uuid4().hex}"
        stored = LoggedBatch(
            parts=list(batch.parts),
            rows=self._store_rows(f"{name}.arrow", batch) if batch.rows else None,
            state=self._store(f"{name}.state", seal(pickle.dumps(state, protocol=5))).name,
            has_ended=batch.has_ended,
            before=self._digest(number - 1),
        )
        self._check()
        return create_durably(self._path(number), seal(json.dumps(asdict(stored)).encode()))

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever planned."""
        return not self._folder.exists()

    @property
    def is_by_columns(self) -> bool:
        """Whether no batch of the log has rows that were read when it was planned."""
        return not any(self._folder.glob("*.arrow"))

    def batch(self, number: int) -> LoggedBatch | None:
        """A batch of the log; None if it is not planned yet.

        Raises:
            UserError: Its entry in the log was changed.
        """
        path = self._path(number)
        if not path.exists():
            return None
        read = json.loads(read_sealed(path, _WHAT))
        batch = LoggedBatch(**{**read, "rows": self._rows(read["rows"])})
        before = self._digest(number - 1)
        if before is not None and batch.before != before:
            message = f"{_WHAT} is damaged: `{path}` does not follow `{self._path(number - 1)}`"
            raise UserError(message, hint=LOST)
        return batch

    def planned_batch(self, number: int) -> LoggedBatch:
        """A batch of the log that must have been planned.

        Raises:
            UserError: It is not there.
        """
        batch = self.batch(number)
        if batch is None:
            raise UserError(f"{_WHAT} is missing: there is no `{self._path(number)}`", hint=LOST)
        return batch

    def state(self, number: int) -> dict[str, Any] | None:
        """Where the sources stood before a batch; None before the first.

        Raises:
            UserError: It is not there, or was changed.
        """
        if number == 0:
            return None
        found: dict[str, Any] = load_plain(
            read_sealed(self._folder / self.planned_batch(number - 1).state, _STATE), _STATE
        )
        return found

    def forget(self, number: int) -> None:
        """Drop what is not asked for again once the batches before a number are done; the last of them is kept."""
        for path in self._folder.iterdir():
            found = re.match(r"\.?(\d+)[-.]", path.name)
            if found is not None and int(found[1]) < number - 1:
                path.unlink(missing_ok=True)

    def _rows(self, read: dict[str, Any] | None) -> LoggedRows | None:
        """As they were written, with the folder that the log is in now."""
        return None if read is None else LoggedRows(**{**read, "path": str(self._folder / read["path"])})

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:020d}.batch"

    def _digest(self, number: int) -> str | None:
        try:
            return hashlib.sha256(self._path(number).read_bytes()).hexdigest()
        except FileNotFoundError:
            return None

    def _store_rows(self, name: str, batch: PlannedBatch) -> LoggedRows:
        content = _encoded(batch)
        path = self._store(name, content)
        return LoggedRows(path=path.name, size_bytes=len(content), crc32=zlib.crc32(content))

    def _store(self, name: str, content: bytes) -> Path:
        """Write a file that nobody knows of before the batch names it; with that its name is synced."""
        path = self._folder / name
        path.write_bytes(content)
        sync_file(path)
        return path


def read_rows(rows: LoggedRows) -> Iterator[pa.RecordBatch]:
    """The rows of a batch.

    Raises:
        UserError: The file is missing, was cut or changed.
    """
    import pyarrow as pa

    check_rows(rows)
    with pa.memory_map(rows.path) as file:
        yield from pa.ipc.open_stream(file.read_buffer())


def check_rows(rows: LoggedRows) -> None:
    """Make sure that the rows of a batch are as they were written.

    Raises:
        UserError: The file is missing, was cut or changed.
    """
    import pyarrow as pa

    if not os.path.exists(rows.path):
        raise UserError(f"{_WHAT} is missing: there is no `{rows.path}`", hint=LOST)
    size = os.path.getsize(rows.path)
    if size != rows.size_bytes:
        message = f"{_WHAT} is damaged: `{rows.path}` had {rows.size_bytes} bytes, and has {size}"
        raise UserError(message, hint=LOST)
    with pa.memory_map(rows.path) as file:
        if zlib.crc32(file.read_buffer()) != rows.crc32:
            raise UserError(f"{_WHAT} is damaged: `{rows.path}` has other content than was written", hint=LOST)


def _encoded(batch: PlannedBatch) -> bytes:
    import pyarrow as pa

    from penstock.codegen.transport.batches import ARROW_SCHEMA

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, ARROW_SCHEMA) as writer:
        for rows in batch.rows:
            writer.write_batch(rows)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded
