"""FileSource: reads tuples from a file, or from the files whose names come in on its input port.

After the last tuple of a file a window marker follows, once the file has been deleted or moved if that is asked for.
A relative name is looked up in the data directory. An attribute that the output clause assigns is not read;
`FileName()` and `TupleNumber()` tell where the record stood. With `hasDelayField`, or `initDelay`, time passes before
the tuples. A malformed record follows `parsing`. The second output port, if there is one, receives the name of each
file that has been read, with 0, or that cannot be opened, with the error's number.

With `hotFile` SPL waits for other programs to append to the file. So does Penstock on Spark, where a job with a hot
file goes on until it is stopped; in a run until everything is done, and in the reference interpreter, what the file
holds when it is read is all of it, and a warning says so.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, FLOAT64, INT32, RSTRING, is_string
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.column_output import column_output
from penstock.toolkit.core.column_source import ColumnSource
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Timer, Whole
from penstock.toolkit.core.record_output import read_schema, record_output
from penstock.toolkit.core.runtime import Context, Punctuation, Wait
from penstock.toolkit.files.file_columns import Output, file_columns
from penstock.toolkit.formats import Item, Malformed, Pause, reader
from penstock.toolkit.formats.file_chunks import COMPRESSIONS, read_appended, read_chunks
from penstock.toolkit.formats.format_params import READ_PARAMS, check_format, constant, read_settings, word

Produced = Iterator[Tuple | Wait | Punctuation | None]

_ONE_BY_ONE = ("compression", "deleteFile", "moveFileToDirectory", "ignoreOpenErrors")
"""Parameters with which a file is read from its beginning to its end, in one place."""


class FileSourceRuntime(LogicRuntime):
    """Reads files, one after the other.

    Attributes:
        _waiting: The tuples that name the files to read.
        _current: The tuple that names the file in hand.
        _position: How many items have been read of the file in hand.
        _timer: Waits for a delay to pass.
        _is_done: Whether the only file has been read.
        follows: Whether the run goes on for ever, so that a hot file is to be followed.
    """

    follows = False
    remembers = ("_waiting", "_current", "_position", "_delay_ns", "_timer", "_is_done")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = read_schema(operator)
        self._settings = read_settings(self, schema)
        self._read = reader(schema, self._settings)
        self._make = record_output(self)
        self._compression = self.symbol("compression")
        self._waiting: deque[Tuple] = deque()
        self._current: Tuple | None = None
        self._position = 0
        self._reading: Produced | None = None
        self._delay_ns = self.duration_ns("initDelay")
        self._timer = Timer(context, self._on_timer)
        self._is_done = False

    @property
    def is_live(self) -> bool:
        """Whether a turn without a tuple means that there is nothing for now."""
        return self.follows and self._is_hot

    @property
    def _is_hot(self) -> bool:
        return bool(self.constant("hotFile", False)) and not self._compression and not self.operator.inputs

    def produce(self) -> Produced:
        """The tuples of the file that a parameter names."""
        yield from self._delay()
        if not self._is_done:
            yield from self._file(self.constant("file"), ())

    def columns(self, *, follows: bool = False) -> ColumnSource | None:
        """The file by columns, unless reading it has an effect, or its delays are to pass by the clock on the wall."""
        is_hot = self.constant("hotFile", False)
        alone = any(self.operator.param(name) for name in _ONE_BY_ONE)
        if self.operator.inputs or len(self.operator.outputs) > 1 or alone or (is_hot and not follows):
            return None
        if follows and self._settings.has_delay_field:
            return None
        name = self.constant("file")
        output = self._column_output(name)
        if output is None:
            return None
        path = self.context.environment.input_path(name)
        schema = read_schema(self.operator)
        return file_columns(path, name, schema, self._settings, output, delay_ns=self._delay_ns, is_live=is_hot)

    def _column_output(self, name: str) -> Output | None:
        if self.operator.logic is not None:
            return None
        if self._make is None:
            return lambda batch: batch
        make = column_output(self, frozenset({"FileName"}))
        if make is None:
            return None

        def output(batch: pa.RecordBatch) -> pa.RecordBatch:
            names = pa.repeat(name, batch.num_rows)
            return make({"FileName()": names, **dict(zip(batch.schema.names, batch.columns, strict=True))})

        return output

    def process(self, port: int, tuple_: Tuple) -> None:
        """Read the file that a tuple names, after those before it."""
        self._waiting.append(tuple_)
        if self._reading is None:
            self._reading = self._files()
            self._go_on()

    def take_window_marker(self, port: int) -> None:
        """Drop the marker; each file ends with one of its own."""

    def is_waiting(self) -> bool:
        """Whether a file is being read whose tuples have delays."""
        return self._reading is not None

    def finish(self) -> None:
        """Read what is left without its delays."""
        if self._reading is not None:
            for item in self._reading:
                if item is not None and not isinstance(item, Wait):
                    self.pass_on(item)
            self._reading = None

    def _files(self) -> Produced:
        yield from self._delay()
        while self._current is not None or self._waiting:
            if self._current is None:
                self._current, self._position = self._waiting.popleft(), 0
            yield from self._file(str(self._current[0]), (self._current,))
            self._current = None

    def _delay(self) -> Produced:
        if self._delay_ns:
            delay, self._delay_ns = Wait(self._delay_ns), 0
            yield delay

    def _go_on(self) -> None:
        for item in self._reading or ():
            if isinstance(item, Wait):
                self._timer.set(self.context.environment.clock.now_ns + item.nanoseconds)
                return
            if item is not None:
                self.pass_on(item)
        self._reading = None

    def _on_timer(self, due_ns: int) -> None:
        self._go_on()

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Go on with the file in hand, and with the delay."""
        super().restore_from(whole, parts)
        if self._timer.due_ns is not None:
            self._reading = self._files()

    def _file(self, name: str, inputs: Tuple) -> Produced:
        if self.constant("hotFile", False) and not self.is_live:
            message = f"FileSource `{self.operator.id}` reads `{name}` once, although it is a hot file"
            self.context.environment.log("warn", message)
        path = self.context.environment.input_path(name)
        try:
            chunks = read_appended(path) if self.is_live else read_chunks(path, self._compression)
        except OSError as error:
            self._cannot_open(name, error)
            return
        yield from self._records(name, inputs, self._read(chunks))
        self._dispose(path)
        if len(self.submit) > 1:
            self.submit[1]((name, 0))
        self._is_done = True
        if not self._settings.has_punctuations:
            yield Punctuation.WINDOW

    def _records(self, name: str, inputs: Tuple, items: Iterator[Item]) -> Produced:
        make = self._make
        try:
            number = sum(isinstance(item, tuple) for item in islice(_records_again(name, items), self._position))
            for item in items:
                self._position += not isinstance(item, Pause)
                if isinstance(item, Malformed):
                    self.context.reject(item.record, item.reason)
                elif isinstance(item, tuple):
                    yield item if make is None else make(item, inputs, {"FileName": name, "TupleNumber": number})
                    number += 1
                elif item is Punctuation.FINAL:
                    return
                else:
                    yield None if isinstance(item, Pause) else item
        except OSError as error:
            self.context.reject(name, f"cannot be read to its end: {error}")

    def _cannot_open(self, name: str, error: OSError) -> None:
        message = f"FileSource `{self.operator.id}` cannot open `{name}`: {error.strerror or error}"
        if not self.constant("ignoreOpenErrors", False):
            raise UserError(message, hint="relative names are looked up in the data directory, see `--data`")
        self.context.environment.log("error", message)
        if len(self.submit) > 1:
            self.submit[1]((name, error.errno or 0))

    def _dispose(self, path: Path) -> None:
        directory = self.constant("moveFileToDirectory")
        try:
            if self.constant("deleteFile", False):
                path.unlink()
            elif directory:
                shutil.move(path, self.context.environment.input_path(directory) / path.name)
        except OSError as error:
            what = "deleted" if not directory else f"moved to `{directory}`"
            raise UserError(f"`{path}` has been read, but cannot be {what}: {error.strerror}") from error


def _records_again(name: str, items: Iterator[Item]) -> Iterator[Item]:
    """The items of a file that have been read before."""
    for item in items:
        if isinstance(item, Pause):
            raise UserError(f"`{name}` holds less than when it was read", hint="start with a new checkpoint folder")
        yield item


def _check(operator: Operator, found: Diagnostics) -> None:
    check_format(operator, read_schema(operator), found)
    if bool(operator.param("file")) == bool(operator.inputs):
        what = "an input port and `file`" if operator.inputs else "neither"
        found.error(f"a FileSource has either an input port or the parameter `file`, found {what}", operator.span)
    for port in operator.inputs:
        types = [a.type for a in port.schema.attributes]
        if not (len(types) == 1 and is_string(types[0])):
            message = f"the input of a FileSource has one attribute, the file's name, found {port.schema}"
            found.error(message, operator.span)
    if operator.param("deleteFile") and operator.param("moveFileToDirectory"):
        found.error("a FileSource has `deleteFile` or `moveFileToDirectory`, found both", operator.span)
    for status in operator.outputs[1:]:
        if [a.type for a in status.schema.attributes] != [RSTRING, INT32]:
            message = f"the second output of a FileSource has an rstring and an int32, found {status.schema}"
            found.error(message, operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="FileSource",
    doc="Reads tuples from a file, or from the files whose names come in; each file ends with a window marker.",
    inputs=(0, 1),
    outputs=(1, 2),
    params=(
        constant("file", "The file's name, unless names come in on an input port.", RSTRING),
        *READ_PARAMS,
        constant("initDelay", "Seconds before the first tuple.", FLOAT64),
        word("compression", "Of the file; none without it.", *COMPRESSIONS),
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        constant(
            "hotFile",
            "Whether other programs append to the file; a run on Spark then goes on until it is stopped.",
            BOOLEAN,
        ),
        constant("deleteFile", "Whether to delete a file that has been read; false without it.", BOOLEAN),
        constant("moveFileToDirectory", "Where to move a file that has been read.", RSTRING),
        constant("ignoreOpenErrors", "Whether to go on if a file cannot be opened; false without it.", BOOLEAN),
    ),
    output=OutputClause.READ,
    output_functions=(
        OutputFunction(prototype="rstring FileName()", doc="The name of the file that the tuple was read from."),
        OutputFunction(prototype="int64 TupleNumber()", doc="The number of tuples of the file before this one."),
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
    ),
    facts=Facts(
        never_ends_with=("hotFile",),
        waits_for_time_with=("hasDelayField", "initDelay"),
        is_repeatable=True,
        opens_what_tuples_name=True,
        uses_up_with=("deleteFile", "moveFileToDirectory"),
    ),
    model=_model,
    check=_check,
    runtime=FileSourceRuntime,
)
