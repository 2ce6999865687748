"""FileSink with `partitionBy`: a file for each value of some attributes, in a folder that is named after it.

`file` names the folder of all of them; tuples with `sym` IBM go to `sym=IBM/part-0.csv` in it. The attributes are
written to the files, too, unless they are suppressed. Within a file tuples keep their order; between files there is
none.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from penstock.expr.environment import Tuple
from penstock.ir.graph import Operator
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.files.partition_folders import PartitionFolders, partition_keys
from penstock.toolkit.files.partitioned_files import PartitionedFiles
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
        keys = partition_keys(operator)
        self._folders = PartitionFolders(operator.inputs[0].schema, keys)
        directory = context.environment.output_path(self.constant("file"))
        file = f"part-0.{EXTENSIONS[self._settings.format]}"
        owner = f"FileSink `{operator.id}`"
        self._files = PartitionedFiles(owner, directory, [name for name, _ in keys], file)

    def taker(self, port: int) -> Submit:
        """A function that writes a tuple."""
        schema = self.operator.inputs[0].schema
        select, encode = projection(schema, self._schema.names), writer(self._schema, self._settings).tuple
        folder = self._folders.of_tuple()

        def write(tuple_: Tuple) -> None:
            self._files.write(folder(tuple_), encode(select(tuple_)))

        return write

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """A function that writes all tuples of a batch."""
        if self.logic is not None or not is_covered(self._settings):
            return None
        chosen = [self.operator.inputs[0].schema.position[name] for name in self._schema.names]

        def write(batch: pa.RecordBatch) -> None:
            lines = None
            for folder, rows in self._folders.split(batch, self.context.reject):
                if lines is None:
                    lines = lines_of(batch.select(chosen), self._schema, self._settings)
                self._files.write(folder, "".join(lines.take(rows).to_pylist()).encode())

        return write

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
