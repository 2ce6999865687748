"""FileSink's usual form: one file at a time.

What it remembers is how much of the open file is written. A fresh instance cuts the file there and goes on, so a part
of the input that is written again after a crash changes nothing. A compressed file is then made of several compressed
streams, one after the other, which `gunzip`, `bunzip2` and FileSource read as one. What cannot be continued is
`closeMode: size` with compression, and `append` to more than one file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from penstock.diagnostics import UserError
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, InputTuple
from penstock.ir.graph import Operator
from penstock.toolkit.column_text import is_covered, text_of
from penstock.toolkit.format_params import (
    write_settings,
    written_schema,
)
from penstock.toolkit.formats import writer
from penstock.toolkit.formats.files import OutputFile
from penstock.toolkit.logic_runtime import LogicRuntime
from penstock.toolkit.memory import Parts, Timer, Whole
from penstock.toolkit.projection import projection
from penstock.toolkit.runtime import Context, Punctuation, Submit
from penstock.toolkit.sink_names import expand_name, move_back, move_into


class FileSinkRuntime(LogicRuntime):
    """Writes to one file at a time."""

    remembers = ("_opened", "_written", "_last_ns", "_timer")

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
        self._file: OutputFile | None = None
        self._file_name = ""
        self._timer = Timer(context, self._on_timer)
        self._opened = 0
        self._written = 0
        self._name = self.scalar(operator.param("file")[0])
        self._name_varies = any(isinstance(e, Attribute | InputTuple) for e in operator.param("file")[0].walk())
        if self._close_mode != "dynamic" and not self._name_varies:
            self._open(self._expand(self._name(None)))

    def taker(self, port: int) -> Submit:
        """A function that writes a tuple; a short one for the usual case of one file, opened at the start."""
        if not self._is_plain():
            return self._write
        select, encode = self._select, self._writer.tuple

        def write(tuple_: Tuple) -> None:
            self._file.write(encode(select(tuple_)))  # type: ignore[union-attr]  # it stays open to the end

        return write

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """A function that writes all tuples of a batch; None if they must be written one at a time."""
        if not self._is_plain() or self.logic is not None or not is_covered(self._settings):
            return None
        schema, settings = written_schema(self.operator), self._settings
        chosen = [self.operator.inputs[0].schema.position[name] for name in schema.names]

        def write(batch: pa.RecordBatch) -> None:
            self._file.write(text_of(batch.select(chosen), schema, settings))  # type: ignore[union-attr]  # as above

        return write

    def _is_plain(self) -> bool:
        """Whether everything goes to one file, which is open, without more ado."""
        is_plain = self._close_mode == "never" and not self._flush_every and not self._settings.has_delay_field
        return is_plain and self._file is not None

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

    def remember_into(self, whole: Whole, parts: Parts) -> None:
        """Add the name, the size and the inode of the open file."""
        self._check_resumable()
        super().remember_into(whole, parts)
        whole["file"] = None if self._file is None else (self._file_name, self._file.settle(), self._file.inode)

    def recall_from(self, whole: Whole, parts: Parts) -> None:
        """Go on in the file that another instance had open."""
        fresh, self._file = self._file, None
        if fresh is not None:
            fresh.abandon()
            if fresh.is_new:
                self._path.unlink()
        super().recall_from(whole, parts)
        if whole["file"] is not None:
            self._resume(*whole["file"])

    def _resume(self, name: str, size: int, inode: int) -> None:
        self._file_name = name
        if directory := self.constant("moveFileToDirectory"):
            move_back(self._path, self.context.environment.output_directory / directory, inode)
        held = self._path.stat().st_size if self._path.exists() else 0
        if self._close_mode == "never" and held < size:
            message = f"FileSink `{self.operator.id}` cannot go on in `{name}`: it had {size} bytes, and has {held}"
            raise UserError(message, hint="put the file back, or start anew with another checkpoint")
        self._file = self._opened_file(name)
        self._file.resume(size)

    def _check_resumable(self) -> None:
        is_single = self._close_mode == "never" and not self._name_varies
        if self.constant("append", False) and not is_single:
            message = f"FileSink `{self.operator.id}` appends to files that it opens later, so it cannot be continued"
            raise UserError(message, hint="remove `append` and give each file a name of its own, with `{id}` in it")
        if self._close_mode == "size" and self.symbol("compression"):
            message = f"FileSink `{self.operator.id}` closes compressed files by size, so it cannot be continued"
            raise UserError(message, hint="use `closeMode: count`, or no compression")

    @property
    def _path(self) -> Path:
        return self.context.environment.output_directory / self._file_name

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

    def _is_full(self, file: OutputFile) -> bool:
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
        return expand_name(name, self._opened, self.context.environment.clock.now_ns)

    def _follow_name(self, name: str) -> None:
        if self._file is None or name != self._file_name:
            self._close()
            self._open(name)

    def _open(self, name: str) -> None:
        self._file_name = name
        self._file = self._opened_file(name)
        self._opened += 1
        self._written = 0
        if self._close_mode == "time":
            self._timer.set(self.context.environment.clock.now_ns + self.duration_ns("timePerFile"))

    def _opened_file(self, name: str) -> OutputFile:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            append, compression = self.constant("append", False), self.symbol("compression")
            return OutputFile(self._path, append=append, compression=compression)
        except OSError as error:
            message = f"FileSink `{self.operator.id}` cannot write to `{name}`: {error.strerror or error}"
            raise UserError(message) from error

    def _on_timer(self, due_ns: int) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is None:
            return
        self._file.close()
        self._file = None
        self._timer.cancel()
        path = self._path
        if directory := self.constant("moveFileToDirectory"):
            path = move_into(path, self.context.environment.output_directory / directory)
        if self.submit:
            self.submit[0]((str(path),))
