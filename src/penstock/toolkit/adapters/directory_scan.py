"""DirectoryScan: generates the names of the files of a directory.

An rstring attribute that the output clause does not assign is the absolute path, after the file has been moved if
`moveToDirectory` is given; output functions tell more. Subdirectories are ignored. Files come in order of their
change time, or of their name, ascending or descending; files of one time in order of their name.

SPL scans for ever, every `sleepTime` seconds, and so does a continuous run on Spark. On a virtual clock nothing waits
for other programs, so elsewhere the operator scans until a scan finds no file that is new or has changed, and ends.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, FLOAT64, RSTRING, is_string
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.record_output import read_schema, record_output
from penstock.toolkit.core.runtime import Context, Punctuation, Wait
from penstock.toolkit.formats.format_params import constant, word

_FUNCTIONS = (
    ("rstring FilePath()", "The path of the file, as the directory was given."),
    ("rstring FullPath()", "The absolute path of the file."),
    ("rstring FileName()", "The name of the file."),
    ("rstring Directory()", "The directory, as it was given."),
    ("rstring DestinationDirectory()", "The directory that the file is moved to, as it was given, or the same."),
    ("rstring DestinationFilePath()", "The path that the file is moved to, or the same."),
    ("rstring DestinationFullPath()", "The absolute path that the file is moved to, or the same."),
    ("uint64 Size()", "The number of bytes in the file."),
    ("uint64 Atime()", "When it was last read, in seconds since 1970."),
    ("uint64 Ctime()", "When it was last changed in any way."),
    ("uint64 Mtime()", "When it was last written."),
    ("<any T> T AsIs(T value)", "The value itself."),
)


class DirectoryScanRuntime(LogicRuntime):
    """Looks into a directory until nothing is new, or for ever.

    Attributes:
        follows: Whether to wait for files that come later.
        _seen: The change time of every file that the last scan has found, by name.
        _found: The names of the files of the last scan that have not been submitted.
        _rests: Whether a pause follows them.
    """

    remembers = ("_seen", "_found", "_rests", "_has_begun")
    follows = False

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._given: str = self.constant("directory")
        self._directory = self._existing(self._given)
        self._target_given: str = self.constant("moveToDirectory", self._given)
        self._target = self._existing(self._target_given)
        self._pattern = _compile(self.constant("pattern", ""))
        self._ignores_dots = self.constant("ignoreDotFiles", False)
        self._make = record_output(self)
        self._count = len(read_schema(operator).attributes)
        self._seen: dict[str, int] = {}
        self._found: deque[str] = deque()
        self._rests = False
        self._has_begun = False
        if self.constant("ignoreExistingFilesAtStartup", False):
            self._new_files()

    def produce(self) -> Iterator[Tuple | Wait | Punctuation | None]:
        """The tuples of one scan after the other."""
        delay, pause = Wait(self.duration_ns("initDelay")), Wait(self.duration_ns("sleepTime", 5.0))
        if delay.nanoseconds and not self._has_begun:
            self._has_begun = True
            yield delay
        while self._found or self._rests or self._scan():
            if self._found:
                path = self._directory / self._found.popleft()
                if path.exists():
                    yield self._tuple(path, path.stat())
            else:
                self._rests = False
                yield pause

    def _scan(self) -> bool:
        self._found.extend(self._new_files())
        self._rests = bool(self._found) or self.follows
        return self._rests

    def _existing(self, name: str) -> Path:
        path = self.context.environment.input_path(name)
        if not path.is_dir():
            raise UserError(f"DirectoryScan `{self.operator.id}`: there is no directory `{name}`")
        return path

    def _new_files(self) -> list[str]:
        found = []
        seen: dict[str, int] = {}
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):
                if path.is_file() and self._wants(path.name):
                    seen[path.name] = changed_ns = path.stat().st_ctime_ns
                    if self._seen.get(path.name) != changed_ns:
                        found.append((changed_ns, path.name))
        # What is gone need not be known: in a folder where files come and go, that would grow for ever.
        self._seen = seen
        by_name = self.symbol("sortBy", "date") == "name"
        descending = self.symbol("order", "ascending") == "descending"
        in_order = sorted((0 if by_name else changed_ns, name) for changed_ns, name in found)
        return [name for _, name in (reversed(in_order) if descending else in_order)]

    def _wants(self, name: str) -> bool:
        return self._pattern.search(name) is not None and not (self._ignores_dots and name.startswith("."))

    def _tuple(self, path: Path, stat: os.stat_result) -> Tuple:
        moved = path
        if self._target != self._directory:
            moved = Path(shutil.move(path, self._target / path.name))
        full_path = str(moved.absolute())
        if self._make is None:
            return (full_path,) * self._count
        return self._make((full_path,) * self._count, (), self._facts(path, moved, stat))

    def _facts(self, path: Path, moved: Path, stat: os.stat_result) -> dict[str, Any]:
        return {
            "FilePath": str(Path(self._given) / path.name),
            "FullPath": str(path.absolute()),
            "FileName": path.name,
            "Directory": self._given,
            "DestinationDirectory": self._target_given,
            "DestinationFilePath": str(Path(self._target_given) / path.name),
            "DestinationFullPath": str(moved.absolute()),
            "Size": stat.st_size,
            "Atime": int(stat.st_atime),
            "Ctime": int(stat.st_ctime),
            "Mtime": int(stat.st_mtime),
        }


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UserError(f"`{pattern}` is not a regular expression: {error}") from error


def _check(operator: Operator, found: Diagnostics) -> None:
    for attribute in read_schema(operator).attributes:
        if not is_string(attribute.type):
            message = f"`{attribute}` of a DirectoryScan is not assigned, so it is the path, which is an rstring"
            found.error(message, operator.span, hint="assign it in the output clause")


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="DirectoryScan",
    doc="Generates the paths of the files of a directory, until a scan finds nothing new.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="directory", kind=ParamKind.CONSTANT, types=(RSTRING,), required=True, doc="Where to look for files."
        ),
        constant("pattern", "A regular expression that is found in the names of the files wanted.", RSTRING),
        constant("sleepTime", "Seconds between two scans; 5 without it.", FLOAT64),
        constant("initDelay", "Seconds before the first scan.", FLOAT64),
        word("sortBy", "The order of the files of one scan; by date without it.", "date", "name"),
        word("order", "Ascending without it.", "ascending", "descending"),
        constant("moveToDirectory", "Where to move each file before its name is submitted.", RSTRING),
        constant("ignoreDotFiles", "Whether to skip names that start with a period; false without it.", BOOLEAN),
        constant("ignoreExistingFilesAtStartup", "Whether to skip files that are there at the start.", BOOLEAN),
    ),
    output=OutputClause.READ,
    output_functions=tuple(OutputFunction(prototype=prototype, doc=doc) for prototype, doc in _FUNCTIONS),
    facts=Facts(never_ends=True),
    model=_model,
    check=_check,
    runtime=DirectoryScanRuntime,
)
