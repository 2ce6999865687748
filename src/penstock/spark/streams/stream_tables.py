"""Stream tables: exported streams as folders that other jobs read, now or later.

    STREAMS/APPLICATION/EXPORT/000001-JOB/
        stream.json      what is offered: application, stream id or properties, schema
        00000000000000000007.arrow   the items of one batch: time, kind, attributes
        log              a line of JSON for each batch, in order: the batch, its file, how many items, whether it ended
        lock             held by the job while it runs
        superseded       there if the application has been started anew since

A batch is committed by its line in the log. The file is complete before the line is written, and a batch that has a
line is not written again; so a replayed batch changes nothing, and a reader that goes by the log sees every item once.
A line that a crash has cut short is no line: the next writer removes it.

Each job, which is a checkpoint, writes a folder of its own. An application that starts anew supersedes what its earlier
jobs have left, as a FileSink writes its file anew, unless they are still running: who begins to import reads what is
not superseded, who is in the middle of it reads it to its end.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import make_folder, sync_folder, write_durably
from penstock.base.local_paths import local_path
from penstock.expr.environment import Environment
from penstock.ir.types import parse_schema
from penstock.toolkit.adapters.import_ import Offer

FORMAT = 1
VARIABLE = "PENSTOCK_STREAMS"
"""The environment variable that names the folder of all stream tables."""

DESCRIPTION, LOG, LOCK, SUPERSEDED = "stream.json", "log", "lock", "superseded"


def streams_folder(environment: Environment) -> Path:
    """Where stream tables lie: as `PENSTOCK_STREAMS` says, or in `streams` of the output folder.

    Raises:
        UserError: It says that they are somewhere that is not local.
    """
    given = os.environ.get(VARIABLE)
    return local_path(given, VARIABLE).absolute() if given else (environment.output_directory / "streams").absolute()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of a table's log.

    Attributes:
        batch: The exporter's batch.
        file: Where its items lie, if there are any.
        items: How many.
        has_ended: Whether the stream ends with it.
    """

    batch: int
    file: str | None
    items: int
    has_ended: bool


class Table:
    """A stream table, as a reader sees it.

    Attributes:
        folder: Where it lies.
        name: Of the folder, under that of all tables.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self.name = str(folder.relative_to(root))

    @property
    def is_superseded(self) -> bool:
        """Whether those who begin to import leave it out."""
        return (self.folder / SUPERSEDED).exists()

    def offer(self) -> Offer:
        """The offer of the table to importers, read from its description."""
        read = json.loads((self.folder / DESCRIPTION).read_text(encoding="utf-8"))
        return offer_from(read, f"the stream table `{self.folder}`")

    def entries(self, start: int = 0) -> list[Entry]:
        """The lines of the log that are complete, from one on."""
        path = self.folder / LOG
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return [Entry(**json.loads(line)) for line in lines[start:]]


def offer_from(read: dict[str, Any], what: str = "an exported stream") -> Offer:
    """The offer that `described` described.

    Raises:
        UserError: Another version wrote it.
    """
    if read.get("format") != FORMAT:
        message = f"{what} has format {read.get('format')}, this version reads {FORMAT}"
        raise UserError(message, hint="read it with the version of penstock that wrote it, or export it again")
    return Offer(
        application=read["application"],
        schema=parse_schema(read["schema"]),
        stream_id=read["stream_id"],
        properties=read["properties"],
        allows_filter=read.get("allows_filter", True),
        changes=read.get("changes", False),
    )


def tables(root: Path) -> list[Table]:
    """All tables of a folder, in a fixed order."""
    return [Table(root, path.parent) for path in sorted(root.glob(f"*/*/*/{DESCRIPTION}"))]


class TableWriter:
    """Writes a table, one batch at a time.

    Attributes:
        last: The entry of the last batch that is committed.
    """

    def __init__(self, root: Path, operator: str, offer: Offer, job: str) -> None:
        self.folder = _own_folder(root / quote(offer.application, "") / quote(operator, ""), job)
        make_folder(self.folder)
        self._lock = _locked(self.folder / LOCK)
        if self._lock is None:
            message = f"another process is running the job that writes the stream table `{self.folder}`"
            raise UserError(message, hint="wait for it, or stop it")
        (self.folder / SUPERSEDED).unlink(missing_ok=True)
        _remove_torn_line(self.folder / LOG)
        found = Table(root, self.folder).entries()
        self.last: Entry | None = found[-1] if found else None
        _supersede_others(self.folder)
        if not (self.folder / DESCRIPTION).exists():
            write_durably(self.folder / DESCRIPTION, described(offer).encode())

    def is_committed(self, batch: int) -> bool:
        """Whether a batch, or a later one, has its line."""
        return self.last is not None and self.last.batch >= batch

    def part(self, batch: int) -> Path:
        """Where to write the items of a batch before it is committed."""
        return self.folder / f"{batch:020d}.part"

    def commit(self, batch: int, items: int, *, has_ended: bool) -> None:
        """Make a batch visible; its items, if there are any, have been written to its part."""
        file = f"{batch:020d}.arrow" if items else None
        if file is not None:
            os.replace(self.part(batch), self.folder / file)
            sync_folder(self.folder)
        line = {"batch": batch, "file": file, "items": items, "has_ended": has_ended}
        with (self.folder / LOG).open("ab") as log:
            log.write(json.dumps(line).encode() + b"\n")
            log.flush()
            os.fsync(log.fileno())
        self.last = Entry(**line)  # type: ignore[arg-type]  # the same names and types

    def close(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _own_folder(folder: Path, job: str) -> Path:
    """The folder that the job has begun before, or a new one after all others."""
    others = sorted(folder.glob("*-*"))
    mine = [path for path in others if path.name.partition("-")[2] == job]
    number = int(others[-1].name.partition("-")[0]) + 1 if others else 1
    return mine[0] if mine else folder / f"{number:06d}-{job}"


def _locked(path: Path) -> IO[bytes] | None:
    """The lock, if nobody else holds it."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _supersede_others(folder: Path) -> None:
    for other in folder.parent.glob("*-*"):
        if other.name < folder.name:
            lock = _locked(other / LOCK)
            if lock is not None:
                (other / SUPERSEDED).touch()
                lock.close()


def _remove_torn_line(path: Path) -> None:
    if path.exists():
        whole = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole[0]) + len(whole[1]))


def described(offer: Offer) -> str:
    """An offer as JSON."""
    found = {
        "format": FORMAT,
        "application": offer.application,
        "stream_id": offer.stream_id,
        "properties": {name: _plain(value) for name, value in offer.properties.items()},
        "allows_filter": offer.allows_filter,
        "changes": offer.changes,
        "schema": str(offer.schema),
    }
    return json.dumps(found, indent=2) + "\n"


def _plain(value: Any) -> Any:
    """A value of a property as JSON has it."""
    return sorted(value) if isinstance(value, set | frozenset) else value


def between(found: Sequence[Table], start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[Table, list[Entry]]]:
    """The entries of each table from one reader's position to another."""
    for table in found:
        first, last = start.get(table.name, 0), end.get(table.name, 0)
        if last > first:
            yield table, table.entries(first)[: last - first]
