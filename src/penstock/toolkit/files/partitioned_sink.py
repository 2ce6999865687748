"""FileSink with `partitionBy`: a file for each value of some attributes, in a folder that is named after it.

`file` names the folder of all of them; tuples with `sym` IBM go to `sym=IBM/part-0.csv` in it. The attributes are
written to the files, too, unless they are suppressed. Within a file tuples keep their order; between files there is
none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Tuple
from penstock.expr.values import from_arrow_array, rows_from_batch, text_form
from penstock.ir.graph import Operator
from penstock.ir.types import OptionalType, Type
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.files.partitioned_files import PartitionedFiles, folder_of
from penstock.toolkit.formats import writer
from penstock.toolkit.formats.column_text import is_covered, lines_of
from penstock.toolkit.formats.format_params import write_settings, written_schema

EXTENSIONS = {"csv": "csv", "txt": "txt", "line": "txt", "json": "json"}
"""The formats that can be partitioned."""


class PartitionedSinkRuntime(LogicRuntime):
    """Writes to many files."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._settings = write_settings(self)
        self._schema = written_schema(operator)
        self._keys = partition_keys(operator)
        directory = context.environment.output_path(self.constant("file"))
        file = f"part-0.{EXTENSIONS[self._settings.format]}"
        owner = f"FileSink `{operator.id}`"
        self._files = PartitionedFiles(owner, directory, [name for name, _ in self._keys], file)

    def taker(self, port: int) -> Submit:
        """A function that writes a tuple."""
        schema = self.operator.inputs[0].schema
        select, encode = projection(schema, self._schema.names), writer(self._schema, self._settings).tuple
        folder = self._folder_maker()

        def write(tuple_: Tuple) -> None:
            self._files.write(folder(tuple_), encode(select(tuple_)))

        return write

    def _folder_maker(self) -> Callable[[Tuple], str]:
        """A function that tells the folder of a tuple."""
        position = self.operator.inputs[0].schema.position
        names = [name for name, _ in self._keys]
        places = [(position[name], _value_text(type_)) for name, type_ in self._keys]
        return lambda tuple_: folder_of(names, [text(tuple_[place]) for place, text in places])

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """A function that writes all tuples of a batch."""
        if self.logic is not None or not is_covered(self._settings):
            return None
        chosen = [self.operator.inputs[0].schema.position[name] for name in self._schema.names]

        def write(batch: pa.RecordBatch) -> None:
            folders = self._folders(batch)
            if folders.null_count:
                self._reject(batch.filter(folders.is_null()))
                batch, folders = batch.filter(folders.is_valid()), folders.drop_null()
            lines = lines_of(batch.select(chosen), self._schema, self._settings)
            encoded = folders.dictionary_encode()
            order = np.argsort(encoded.indices.to_numpy(), kind="stable")
            ends = np.cumsum(np.bincount(encoded.indices.to_numpy(), minlength=len(encoded.dictionary)))
            for folder, rows in zip(encoded.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=True):
                self._files.write(folder, "".join(lines.take(pa.array(rows)).to_pylist()).encode())

        return write

    def _reject(self, batch: pa.RecordBatch) -> None:
        """Set tuples aside that have no folder, each for the reason that it fails by itself."""
        schema, folder = self.operator.inputs[0].schema, self._folder_maker()
        for row in rows_from_batch(batch, schema):
            try:
                folder(row)
            except UserError as error:
                (found,) = error.diagnostics
                self.context.reject(text_form(schema)(row), f"{found.message}; {found.hint}")

    def _folders(self, batch: pa.RecordBatch) -> pa.StringArray:
        """The folder of each tuple; null for a tuple that has none."""
        parts = []
        for name, type_ in self._keys:
            text = _value_text(type_)
            column = batch.column(self.operator.inputs[0].schema.position[name]).dictionary_encode()
            printed = [_folder_or_none(name, text(v)) for v in from_arrow_array(column.dictionary, type_)]
            indices = column.indices.fill_null(len(printed))
            parts.append(pa.array([*printed, folder_of([name], [""])], pa.string()).take(indices))
        return pc.binary_join_element_wise(*parts, "/")

    def take_window_marker(self, port: int) -> None:
        """Markers are not written."""

    def finish(self) -> None:
        """Write what waits."""
        self._files.settle()

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Add what each file holds."""
        super().snapshot_into(whole, parts)
        whole["files"] = self._files.settle()
        self._files.sync()

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Cut the files to where they were."""
        super().restore_from(whole, parts)
        self._files.cut_back(whole["files"])


def partition_keys(operator: Operator) -> list[tuple[str, Type]]:
    """The attributes that name the folders, with their types."""
    names = [getattr(value, "name", "") for value in operator.param("partitionBy")]
    return [(name, operator.inputs[0].schema.attribute(name).type) for name in names]


def _folder_or_none(name: str, value: str) -> str | None:
    try:
        return folder_of([name], [value])
    except UserError:
        return None


def _value_text(type_: Type) -> Callable[[object], str]:
    """How a value names a folder."""
    form = text_form(type_.inner if isinstance(type_, OptionalType) else type_)
    return lambda value: "" if value is None else form(value)
