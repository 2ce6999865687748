"""FileSink's usual form: one file at a time.

What it remembers is the length and the checksum of each file (`file_records`). A fresh instance cuts the open file
there and goes on, so a part of the input that is written again after a crash changes nothing. A compressed file is then
made of several compressed streams, one after the other, which `gunzip`, `bunzip2` and FileSource read as one. What
cannot be continued is `closeMode: size` with compression, and `append` to more than one file.

A file that was changed by somebody else ends the run. Files that are closed are the sink's until it hands them over, by
`moveFileToDirectory` or by its output port. A name may come again after its file was closed, so what looks like damage
may be what a crash has left of the second file; that shows when the part of the input that was lost is written again,
and until then the damage is only suspected.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.base.local_paths import local_name
from penstock.expr.analysis import is_pure
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, Binary, Expression, InputTuple, Variable
from penstock.ir.graph import Operator
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Timer, Whole
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Context, FatalUserError, Punctuation, Submit
from penstock.toolkit.files.file_records import FileRecord, FileRecords
from penstock.toolkit.files.sink_names import check_name, expand_name, move_back, move_into
from penstock.toolkit.formats import writer
from penstock.toolkit.formats.column_text import is_covered, text_of
from penstock.toolkit.formats.file_chunks import OutputFile
from penstock.toolkit.formats.format_params import (
    write_settings,
    written_schema,
)


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
        self._files = FileRecords(f"FileSink `{operator.id}`", context.environment.output_directory)
        self._suspected: dict[str, str] = {}
        self._timer = Timer(context, self._on_timer)
        self._opened = 0
        self._written = 0
        self._name = self.scalar(operator.param("file")[0])
        self._name_varies = any(isinstance(e, Attribute | InputTuple) for e in operator.param("file")[0].walk())
        self._is_constant = self._is_known(operator.param("file")[0])
        self._prefix = "" if self._is_constant else self._constant_prefix(operator.param("file")[0])
        if self._close_mode != "dynamic" and not self._name_varies:
            self._follow_name(self._expand(self._name(None)))

    def taker(self, port: int) -> Submit:
        """A function that writes a tuple; a short one for the usual case of one file, opened at the start."""
        if not self._is_plain():
            return self._write
        select, encode = self._select, self._writer.tuple

        def write(tuple_: Tuple) -> None:
            encoded = encode(select(tuple_))
            try:
                self._file.write(encoded)  # type: ignore[union-attr]  # it stays open to the end
            except OSError as error:
                raise self._failed_to_write(error) from error

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

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Add the name and the inode of the open file, and what is known of all files."""
        self._check_resumable()
        super().snapshot_into(whole, parts)
        for name, problem in self._suspected.items():
            raise self._files.error(name, problem)
        whole["file"] = None
        if self._file is not None:
            self._file.settle()
            whole["file"] = self._file_name, self._file.inode
            self._note(self._file.record())
        whole["files"] = self._files.as_data()
        self._files.sync()

    def _note(self, record: FileRecord | None) -> None:
        if record is not None:
            self._files.note(self._record_name, record)

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Go on in the file that another instance had open."""
        fresh, self._file = self._file, None
        if fresh is not None:
            fresh.abandon()
            if fresh.is_new:
                self._path.unlink()
        super().restore_from(whole, parts)
        self._files.take_over(whole["files"])
        if whole["file"] is not None:
            self._file_name, inode = whole["file"]
            if directory := self.constant("moveFileToDirectory"):
                move_back(self._path, self.context.environment.output_path(directory), inode)
        self._restore()
        if whole["file"] is not None:
            # A pipe or a device has no record, and no content to go back to.
            record = self._files.known.get(self._record_name)
            self._file = self._opened_file(self._file_name)
            self._file.resume(*((0, 0) if record is None else (record.size, record.crc)))

    def _restore(self) -> None:
        """Make the files what they were; those whose names may come again are only suspected to be damaged."""
        if self._close_mode == "never" or self._names_are_unique():
            self._files.cut_back(self._files.known)
            return
        for name in self._files.known:
            problem = self._files.problem(name)
            if problem is None:
                self._files.cut_off(name)
            else:
                self._suspected[name] = problem

    def _names_are_unique(self) -> bool:
        return self._is_constant and "{id}" in self._name(None)

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

    @property
    def _record_name(self) -> str:
        """The open file's name in one spelling."""
        return str(Path(self._file_name))

    def _write(self, tuple_: Tuple) -> None:
        encoded = self._writer.tuple(self._select(tuple_))
        if self._close_mode == "dynamic" or self._file is None:
            self._follow_name(self._expand(self._name(tuple_)))
        try:
            self._add(encoded)
        except OSError as error:
            raise self._failed_to_write(error) from error

    def _add(self, encoded: bytes) -> None:
        assert self._file is not None
        self._file.write(self._delay() + encoded)
        self._written += 1
        if self._flush_every and self._written % self._flush_every == 0:
            self._file.flush()
        if self._is_full(self._file):
            self._close()

    def _failed_to_write(self, error: OSError) -> FatalUserError:
        # What other tuples have left in buffers may be lost with it, so no policy may go on.
        message = f"FileSink `{self.operator.id}` cannot write to `{self._file_name}`: {error.strerror or error}"
        return FatalUserError(message)

    def _constant_prefix(self, name: Expression) -> str:
        """The beginning of a name that is the same for all tuples: the constants on the left of a sum."""
        if self._is_known(name):
            return str(self.context.evaluator.constant(name))
        if not isinstance(name, Binary) or name.operator != "+":
            return ""
        left = self._constant_prefix(name.left)
        return left + self._constant_prefix(name.right) if self._is_known(name.left) else left

    def _is_known(self, name: Expression) -> bool:
        """Whether a name depends neither on tuples nor on what the operator has made of them."""
        parts = tuple(name.walk())
        is_fixed = not any(isinstance(part, Attribute | InputTuple | Variable) for part in parts)
        return is_fixed and is_pure(name, self.context.evaluator.functions)

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
        environment = self.context.environment
        expanded = expand_name(name, self._opened, environment.clock.now_ns)
        return environment.map_output(local_name(expanded, "the output"))

    def _follow_name(self, name: str) -> None:
        if self._file is None or name != self._file_name:
            # A name that cannot be opened leaves the file before it as it is.
            if not self._is_constant:
                check_name(name, self._expand(self._prefix), self.context.environment.output_directory)
            file = self._opened_file(name)
            self._close()
            self._begin(name, file)

    def _begin(self, name: str, file: OutputFile) -> None:
        self._file_name, self._file = name, file
        self._files.known.pop(self._record_name, None)
        if not self.constant("moveFileToDirectory"):
            self._suspected.pop(self._record_name, None)
        self._opened += 1
        self._written = 0
        if self._close_mode == "time":
            self._timer.set(self.context.environment.clock.now_ns + self.duration_ns("timePerFile"))

    def _opened_file(self, name: str) -> OutputFile:
        path = self.context.environment.output_file(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            append, compression = self.constant("append", False), self.symbol("compression")
            return OutputFile(path, append=append, compression=compression)
        except OSError as error:
            message = f"FileSink `{self.operator.id}` cannot write to `{name}`: {error.strerror or error}"
            raise UserError(message) from error

    def _on_timer(self, due_ns: int) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is None:
            return
        record = self._file.close()
        self._file = None
        self._timer.cancel()
        path = self._path
        if directory := self.constant("moveFileToDirectory"):
            path = move_into(path, self.context.environment.output_path(directory))
            if self._record_name not in self._files.known:
                # It was not only continued but opened here, so it takes the place of whatever was lost.
                self._suspected.pop(self._record_name, None)
        if directory or self.submit:
            self._files.known.pop(self._record_name, None)
            self._files.hand_over(path)
        else:
            self._note(record)
        if self.submit:
            self.submit[0]((str(path),))
