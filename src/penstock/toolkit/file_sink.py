"""FileSink: writes tuples to a file.

A relative name lies in the output directory; directories on the way are made. If the name does not depend on a tuple
the file is made when the application starts, and so exists even if no tuple comes; otherwise with the first tuple.
With `closeMode` the file is closed on an event and the next tuple opens a new one, or, if it is `dynamic`, whenever
the name changes. In a name, `{id}` is the number of files opened before, and `{localtime:F}` and `{gmtime:F}` are the
time in a format of strftime. The output port, if there is one, receives the name of each file that has been closed.

Window and final markers are written if `writePunctuations` is true.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from penstock.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, InputTuple
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, FLOAT64, INT32, INT64, RSTRING, UINT32, UINT64
from penstock.toolkit.definition import OperatorDefinition, ParamSpec
from penstock.toolkit.format_params import (
    WRITE_PARAMS,
    check_format,
    constant,
    word,
    write_settings,
    written_schema,
)
from penstock.toolkit.formats import writer
from penstock.toolkit.formats.files import COMPRESSIONS, open_for_writing
from penstock.toolkit.logic_analysis import not_parallel
from penstock.toolkit.logic_runtime import LogicRuntime, symbol
from penstock.toolkit.projection import projection
from penstock.toolkit.runtime import Context, Punctuation, Submit

_LIMITS = {"count": "tuplesPerFile", "size": "bytesPerFile", "time": "timePerFile"}


class FileSinkRuntime(LogicRuntime):
    """Writes to one file at a time."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._settings = write_settings(self)
        schema = written_schema(operator)
        self._writer = writer(schema, self._settings)
        self._select = projection(operator.inputs[0].schema, schema.names)
        self._close_mode = self.symbol("closeMode", "never")
        self._flush_every: int = self.constant("flush", 0)
        self._flushes_on_markers = self.constant("flushOnPunctuation", True)
        self._last_ns = context.environment.clock.now_ns
        self._file: BinaryIO | None = None
        self._path = Path()
        self._opened = 0
        self._written = 0
        self._name = self.scalar(operator.param("file")[0])
        self._name_varies = any(isinstance(e, Attribute | InputTuple) for e in operator.param("file")[0].walk())
        if self._close_mode != "dynamic" and not self._name_varies:
            self._open(self._expand(self._name(None)))

    def taker(self, port: int) -> Submit:
        """A function that writes a tuple; a short one for the usual case of one file, opened at the start."""
        is_plain = self._close_mode == "never" and not self._flush_every and not self._settings.has_delay_field
        if not is_plain or self._file is None:
            return self._write
        write, select, encode = self._file.write, self._select, self._writer.tuple
        return lambda tuple_: _void(write(encode(select(tuple_))))

    def take_window_marker(self, port: int) -> None:
        """Write the marker, flush, or close the file, as the parameters say."""
        self._mark(Punctuation.WINDOW)

    def take_final_marker(self, port: int) -> None:
        """Write the marker."""
        self._mark(Punctuation.FINAL)

    def finish(self) -> None:
        """Close the file."""
        self._close()

    def close(self) -> None:
        """A file that the end of its input has not closed keeps what was written so far."""
        if self._file is not None:
            self._file.close()

    def _write(self, tuple_: Tuple) -> None:
        if self._close_mode == "dynamic":
            self._follow_name(self._expand(self._name(tuple_)))
        elif self._file is None:
            self._open(self._expand(self._name(tuple_)))
        assert self._file is not None
        self._file.write(self._delay() + self._writer.tuple(self._select(tuple_)))
        self._written += 1
        if self._flush_every and self._written % self._flush_every == 0:
            self._file.flush()
        if self._is_full(self._file):
            self._close()

    def _is_full(self, file: BinaryIO) -> bool:
        if self._close_mode == "count":
            return bool(self._written >= self.constant("tuplesPerFile"))
        if self._close_mode == "size":
            file.flush()
            return bool(file.tell() >= self.constant("bytesPerFile"))
        return False

    def _mark(self, punctuation: Punctuation) -> None:
        if self._file is None:
            return
        if self._settings.has_punctuations:
            self._file.write(self._delay() + self._writer.marker(punctuation))
        if self._flushes_on_markers:
            self._file.flush()
        if self._close_mode == "punct":
            self._close()

    def _delay(self) -> bytes:
        if not self._settings.has_delay_field:
            return b""
        now_ns = self.context.environment.clock.now_ns
        seconds, self._last_ns = (now_ns - self._last_ns) / 1e9, now_ns
        return self._writer.delay(seconds)

    def _expand(self, name: str) -> str:
        seconds = self.context.environment.clock.now_ns // 1_000_000_000
        name = name.replace("{id}", str(self._opened))
        name = re.sub(r"\{localtime:([^}]*)\}", lambda m: time.strftime(m[1], time.localtime(seconds)), name)
        return re.sub(r"\{gmtime:([^}]*)\}", lambda m: time.strftime(m[1], time.gmtime(seconds)), name)

    def _follow_name(self, name: str) -> None:
        if self._file is None or self.context.environment.output_directory / name != self._path:
            self._close()
            self._open(name)

    def _open(self, name: str) -> None:
        self._path = self.context.environment.output_directory / name
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            append, compression = self.constant("append", False), self.symbol("compression")
            self._file = open_for_writing(self._path, append=append, compression=compression)
        except OSError as error:
            message = f"FileSink `{self.operator.id}` cannot write to `{name}`: {error.strerror or error}"
            raise UserError(message) from error
        self._opened += 1
        self._written = 0
        if self._close_mode == "time":
            due_ns = self.context.environment.clock.now_ns + self.duration_ns("timePerFile")
            self.context.at(due_ns, self._closer(self._opened))

    def _closer(self, opened: int) -> Callable[[], None]:
        def close_if_still_open() -> None:
            if self._opened == opened:
                self._close()

        return close_if_still_open

    def _close(self) -> None:
        if self._file is None:
            return
        self._file.close()
        self._file = None
        if directory := self.constant("moveFileToDirectory"):
            target = self.context.environment.output_directory / directory
            target.mkdir(parents=True, exist_ok=True)
            self._path = Path(shutil.move(self._path, target / self._path.name))
        if self.submit:
            self.submit[0]((str(self._path),))


def _void(value: object) -> None:
    """Drop a value."""


def _check(operator: Operator, found: Diagnostics) -> None:
    check_format(operator, written_schema(operator), found)
    mode = symbol(operator, "closeMode", "never")
    for wanted, param in _LIMITS.items():
        if bool(operator.param(param)) != (mode == wanted):
            message = f"`{param}` goes with `closeMode: {wanted}`, and only with it; found `closeMode: {mode}`"
            found.error(message, operator.span)
    for port in operator.outputs:
        if [a.type for a in port.schema.attributes] != [RSTRING]:
            message = f"the output of a FileSink has one attribute, the file's name, found {port.schema}"
            found.error(message, operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="FileSink",
    doc="Writes tuples to a file. The output port, if there is one, receives the names of files that are closed.",
    inputs=(1, 1),
    outputs=(0, 1),
    params=(
        ParamSpec(name="file", types=(RSTRING,), required=True, doc="The file's name."),
        *WRITE_PARAMS,
        constant("flush", "After how many tuples to flush the file; when it is closed without it.", UINT32),
        constant("flushOnPunctuation", "Whether to flush the file at markers; true without it.", BOOLEAN),
        constant("append", "Whether to keep what the file holds already; false without it.", BOOLEAN),
        word("compression", "Of the file; none without it.", *COMPRESSIONS),
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        word(
            "closeMode",
            "When to close the file and open another; never without it.",
            "punct",
            "count",
            "size",
            "time",
            "dynamic",
            "never",
        ),
        constant("tuplesPerFile", "For `closeMode: count`.", UINT32, INT32, UINT64, INT64),
        constant("bytesPerFile", "For `closeMode: size`.", UINT32, INT32, UINT64, INT64),
        constant("timePerFile", "Seconds, for `closeMode: time`.", FLOAT64),
        constant("moveFileToDirectory", "Where to move a file that has been closed.", RSTRING),
        word(
            "writeFailureAction",
            "Accepted; a file that cannot be written to is always an error here.",
            "ignore",
            "log",
            "terminate",
        ),
    ),
    model=_model,
    check=_check,
    runtime=FileSinkRuntime,
)
