"""Looks at a checkpoint before a job is resumed: a file that is missing or damaged is named, and nothing is started.

Spark would find most of this by itself, in the middle of its start and in words of its own; some of it it would not
find, and begin again at an earlier batch, or at the first.

What is looked at is what a resumed job reads. With N the last batch that Spark has begun:

- `spark/metadata`, `spark/offsets` N and N-1, and the last of `spark/commits`;
- the state of every operator and channel behind the last batch that is done, with the files that it is made of;
- the sinks' state behind batch N-1 or N, which is written after the offsets of that batch;
- the batches of the sources' log up to N.

Hadoop writes checksums beside each file on a local file system (`.NAME.crc`). Where they are they must fit.

A power loss may leave halves of the last files that Spark has written, because they were not synced yet: an entry of
`offsets` for a batch that has not come to the sinks, what Spark notes of the state's form when it begins with such a
batch, the last of `commits`, or a whole state that it has stored beside the changes. They are removed. The batch is
then planned again, or written again, or the state made of all changes, and nothing is lost.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import LOST, read_sealed
from penstock.spark.checkpoint.spark_files import FOLDER
from penstock.spark.sinks.sink_pe import JOB_ID, SINKS_STATE
from penstock.spark.sources.log import SourceLog, check_rows

_CRC_MAGIC = b"crc\0"


def inspect_checkpoint(checkpoint: Path, *, has_log: bool, first_batch: int = 0) -> None:
    """Make sure that a job can be resumed.

    Args:
        checkpoint: Its folder.
        has_log: Whether the job has sources that are logged.
        first_batch: The number that the first batch of Spark's own checkpoint has for the sinks and the sources.

    Raises:
        UserError: A file is missing or damaged.
    """
    folder = checkpoint / FOLDER
    written = _latest(checkpoint / "sinks", ".state")
    if written is not None and first_batch:
        # By Spark's numbers; what the plan before has written is not of this one.
        written = written - first_batch if written >= first_batch else None
    _remove_half(folder / "commits", 0)
    _remove_half(folder / "offsets", max(n for n in (-1, written, _latest(folder / "commits")) if n is not None) + 1)
    begun, done = _latest(folder / "offsets"), _latest(folder / "commits")
    _remove_half_notes(folder, -1 if written is None else written)
    if written is None and done is None:
        _remove_false_start(folder)
    if begun is None and done is None and written is None:
        _check_start(checkpoint, has_log, first_batch)
        return
    # Offsets come first, then the sinks' state, then the commit.
    least = max(n for n in (begun, done, written) if n is not None)
    offsets = [_read_log(folder / "offsets" / str(n)) for n in range(max(least - 1, 0), least + 1)]
    if (folder / "metadata").exists() or done is not None or written is not None:
        _read_metadata(folder / "metadata")
    if done is not None:
        _read_log(folder / "commits" / str(done))
    _check_sinks(checkpoint / "sinks", first_batch + least, done == least)
    _check_state(folder / "state", least + 1 if done == least else least)
    if has_log:
        _check_log(SourceLog(checkpoint / "sources"), offsets, done == least, first_batch)


def _remove_half(folder: Path, least: int) -> None:
    """Remove the last entry of one of Spark's logs, if it is not whole and its number is not too small."""
    last = _latest(folder)
    if last is None or last < least:
        return
    try:
        _read_log(folder / str(last))
    except UserError:
        _remove(folder / str(last))


def _remove_half_notes(folder: Path, written: int) -> None:
    """Remove what Spark has noted of the form of the state for a batch that has not come to the sinks."""
    for path in (*folder.glob("state/*/_metadata/v*/*"), *folder.glob("state/*/_stateSchema/*/*")):
        batch = path.name.partition("_")[0]
        if batch.isdecimal() and int(batch) > written and not _is_whole(path):
            _remove(path)


def _remove_false_start(folder: Path) -> None:
    """Remove what is not whole where no batch has come to the sinks; the state before the first batch is empty."""
    shutil.rmtree(folder / "state", ignore_errors=True)
    for path in (folder / "metadata", *folder.glob("sources/*/*")):
        if path.is_file() and not path.name.startswith(".") and not _is_whole(path):
            _remove(path)


def _is_whole(path: Path) -> bool:
    try:
        _check_sum(path)
    except UserError:
        return False
    return path.stat().st_size > 0


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _check_sinks(folder: Path, batch: int, is_done: bool) -> None:
    wanted = batch if is_done else batch - 1
    path = folder / f"{wanted:020d}.state"
    if wanted >= 0:
        read_sealed(path, SINKS_STATE)
    read_sealed(folder / JOB_ID, "the id of the job")


def _check_start(checkpoint: Path, has_log: bool, first_batch: int) -> None:
    """Look at what the first batch of a plan that goes on from a savepoint begins with."""
    if first_batch:
        _check_sinks(checkpoint / "sinks", first_batch, is_done=False)
        if has_log:
            SourceLog(checkpoint / "sources").state(first_batch)


def _check_log(log: SourceLog, offsets: list[list[Any]], is_done: bool, first: int) -> None:
    """Look at the batches of the log that are asked for again, and at where the sources go on."""
    ends = [_planned(lines) for lines in offsets]
    end = ends[-1]
    if end is None:
        return
    start = first if len(ends) == 1 else ends[0] or first
    for number in range(end - 1 if is_done else start, end):
        batch = log.planned_batch(number)
        if batch.rows is not None and not is_done:
            check_rows(batch.rows)
    log.state(end)
    # What was planned ahead is taken as it is.
    ahead = log.batch(end)
    if ahead is not None:
        log.state(end + 1)
        if ahead.rows is not None:
            check_rows(ahead.rows)


def _planned(lines: list[Any]) -> int | None:
    """How many batches of our sources an entry of `offsets` has."""
    found = [line["batch"] for line in lines if isinstance(line, dict) and line.keys() == {"batch", "ended"}]
    return found[0] if found else None


def _check_state(folder: Path, version: int) -> None:
    """Look at the state of all operators and channels at a version; there is none at version 0."""
    for path in sorted(folder.glob("*/_*/**/*")):
        if path.is_file() and not path.name.startswith("."):
            _check_sum(path)
            if not path.stat().st_size:
                raise _damaged(path, "is empty")
    for operator in _operators(folder):
        if version and not _has_files(operator / "_metadata"):
            raise _missing(operator / "_metadata" / "v2" / "0")
        if version and not _has_files(operator / "_stateSchema"):
            raise _missing(operator / "_stateSchema")
        for channel in sorted(p for p in operator.iterdir() if p.name.isdecimal()):
            if version:
                _check_versions(channel, version)


def _operators(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.name.isdecimal()) if folder.exists() else []


def _has_files(folder: Path) -> bool:
    return any(p.is_file() and not p.name.startswith(".") for p in folder.rglob("*")) if folder.exists() else False


def _check_versions(folder: Path, version: int) -> None:
    """Look at the state of a channel: a whole one, which Spark stores now and then, and the changes since."""
    if any(any(folder.glob(other)) for other in ("*.delta", "*_*.zip", "*_*.changelog")):
        # Other settings of Spark have other files, which it reads by itself.
        return
    found = (int(path.stem) for path in folder.glob("*.zip") if path.stem.isdecimal())
    torn: list[tuple[Path, UserError]] = []
    # The first batch stores a whole one, so there is at least that.
    for start in sorted((number for number in found if number <= version), reverse=True):
        try:
            _check_snapshot(folder / f"{start}.zip")
        except UserError as error:
            torn.append((folder / f"{start}.zip", error))
            continue
        try:
            _check_changes(folder, start, version)
        except UserError as error:
            # What it would take to do without a whole state that is torn is gone: the torn one is what is missed.
            raise (torn[0][1] if torn else error) from None
        break
    else:
        raise torn[0][1] if torn else _missing(folder / "1.zip")
    for path, _ in torn:
        _remove(path)


def _check_changes(folder: Path, start: int, version: int) -> None:
    for number in range(start + 1, version + 1):
        path = folder / f"{number}.changelog"
        if not path.exists():
            raise _missing(path)
        _check_sum(path)
        if not path.stat().st_size:
            raise _damaged(path, "is empty")


def _check_snapshot(path: Path) -> None:
    _check_sum(path)
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
            described = json.loads(archive.read("metadata").partition(b"\n")[2]) if broken is None else None
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, zlib.error) as error:
        raise _damaged(path, f"cannot be read: {error}") from error
    if described is None:
        raise _damaged(path, f"has other content than was written, in {broken}")
    for kind, place in (("sstFiles", "SSTs"), ("logFiles", "logs")):
        for entry in described.get(kind, ()):
            _check_part(path.parent / place / _name_of(entry), entry["sizeBytes"])


def _name_of(entry: dict[str, Any]) -> str:
    return str(next(value for name, value in entry.items() if name.startswith("dfs")))


def _check_part(path: Path, size: int) -> None:
    if not path.exists():
        raise _missing(path)
    if path.stat().st_size != size:
        raise _damaged(path, f"had {size} bytes, and has {path.stat().st_size}")
    _check_sum(path)


def _read_log(path: Path) -> list[Any]:
    """The lines of an entry of `offsets` or `commits`."""
    if not path.exists():
        raise _missing(path)
    _check_sum(path)
    head, *lines = path.read_bytes().split(b"\n")
    try:
        if not re.fullmatch(rb"v\d+", head) or not lines:
            raise ValueError
        return [None if line == b"-" else json.loads(line) for line in lines if line]
    except ValueError:
        raise _damaged(path, "is not an entry of Spark's log") from None


def _read_metadata(path: Path) -> None:
    if not path.exists():
        raise _missing(path)
    _check_sum(path)
    try:
        known = "id" in json.loads(path.read_bytes())
    except (ValueError, TypeError):
        known = False
    if not known:
        raise _damaged(path, "does not have the id of a query")


def _check_sum(path: Path) -> None:
    """Compare a file with the checksums that Hadoop has written beside it."""
    beside = path.with_name(f".{path.name}.crc")
    if not beside.exists():
        return
    sums = beside.read_bytes()
    size = int.from_bytes(sums[4:8])
    if not sums.startswith(_CRC_MAGIC) or len(sums) < 8 or not size:
        raise _damaged(beside, "is not a file of checksums")
    if list(_sums_of(path, size)) != [sums[i : i + 4] for i in range(8, len(sums), 4)]:
        raise _damaged(path, f"has other content than was written, by its checksums in `{beside}`")


def _sums_of(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(size):
            yield zlib.crc32(chunk).to_bytes(4)


def _latest(folder: Path, suffix: str = "") -> int | None:
    names = [path.name.removesuffix(suffix) for path in folder.iterdir()] if folder.exists() else []
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _missing(path: Path) -> UserError:
    return UserError(f"the checkpoint is damaged: there is no `{path}`", hint=LOST)


def _damaged(path: Path, what: str) -> UserError:
    return UserError(f"the checkpoint is damaged: `{path}` {what}", hint=LOST)
