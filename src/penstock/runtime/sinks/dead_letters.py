"""The dead letters of a job: what operators have set aside, a line each in one file among the outputs.

The letters of a batch wait in a file of their own, in memory as long as they are few, until the batch is committed.
What the file holds is checked as the files of sinks are.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from penstock.reference.result import DeadLetter
from penstock.toolkit.files.file_records import ChecksummedFile, FileRecord, FileRecords

MEMORY_BYTES = 8 << 20
"""How much of a batch's letters may wait in memory."""

MOST_AT_ONCE = 1000
"""How many letters an operator may gather before they are taken away."""


class WaitingLetters:
    """The letters of a batch while they wait.

    Attributes:
        rejected: How many there are of each operator.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=memory_bytes)  # noqa: SIM115  # we are the context
        self.rejected: Counter[str] = Counter()

    def __enter__(self) -> WaitingLetters:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, letters: Iterable[DeadLetter]) -> None:
        """Let letters wait."""
        for letter in letters:
            self._file.write(letter.line())
            self.rejected[letter.operator] += 1

    def take_from(self, letters: list[DeadLetter], *, least: int = 1) -> None:
        """Take letters away from where an operator gathers them, once there are enough."""
        if len(letters) >= least:
            self.add(letters)
            letters.clear()

    def copy_to(self, file: ChecksummedFile) -> None:
        """Add all lines to a file."""
        self._file.seek(0)
        shutil.copyfileobj(self._file, _All(file))


class _All:
    """Writes to a file as a whole, whatever a single write takes."""

    def __init__(self, file: ChecksummedFile) -> None:
        self.write = file.write_all


class LetterFile:
    """The file of all dead letters of a job."""

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._path = folder / name
        self._records = FileRecords("the job", folder)

    def go_back_to(self, record: FileRecord | None) -> None:
        """Make the file what it was when it had this record.

        Raises:
            UserError: It does not hold any more what it held.
        """
        self._records.take_over({} if record is None else {self._name: record})
        self._records.cut_back(self._records.known)

    def write(self, waiting: WaitingLetters) -> FileRecord | None:
        """Add the letters of a batch; what the file then holds. What another job has left there is dropped.

        Raises:
            UserError: Somebody else has changed it.
        """
        known = self._records.known.get(self._name)
        if not waiting.rejected and (known is not None or not self._path.exists()):
            return known
        if known is not None:
            self._records.check_whole(self._name)
        with ChecksummedFile(self._path, known) as file:
            if known is None:
                file.cut(0, 0)
            waiting.copy_to(file)
            self._records.note(self._name, file.record())
        self._records.sync()
        return self._records.known[self._name]
