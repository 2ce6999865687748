"""SparkSink on Spark: tasks leave the tuples of a batch under the checkpoint, from where Spark's own writer takes them.

How a batch is written once depends on the format:

- *files* (`parquet`, `json`, `orc`, `csv`, `text`, `avro` to a path) are written aside, and moved to their place under
  names that tell job and batch. A batch that comes again first removes what it has left there.
- *Delta* gets the job and the batch as `txnAppId` and `txnVersion`; a batch that it has is not written again.
- *others* are told in a note that a batch begins and that it is done. A batch that is done is not written again; one
  that was interrupted between the two is, so what the format itself has committed by then is there twice.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import sync_file, sync_folder, write_durably
from penstock.base.secret_references import reveal_named
from penstock.ir.arrow import arrow_schema
from penstock.ir.graph import Operator
from penstock.runtime.sinks.kinds import JobOutput
from penstock.runtime.sinks.order import Chunk
from penstock.spark.job.hadoop_paths import hadoop_path, hadoop_pattern
from penstock.spark.job.session import active_session
from penstock.toolkit.core.task_sink import Note
from penstock.toolkit.files.parquet_parts import STAGING, ParquetParts, check_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter

FILE_FORMATS = frozenset({"parquet", "json", "orc", "csv", "text", "avro"})
PACKAGES = {
    "delta": "io.delta:delta-spark_2.13 (Spark 4.2 or older)",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime (Spark 4.1 or older)",
    "avro": "org.apache.spark:spark-avro_2.13",
}
"""Where formats are that do not come with Spark."""

_UNIQUE = re.compile(r"^part-\d+-[0-9a-f-]{36}(?:[.-]c\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTaskSink:
    """The half of a SparkSink in tasks: files of Parquet under the checkpoint.

    Attributes:
        folder: Where they lie.
        schema: Of the tuples.
    """

    folder: Path
    schema: pa.Schema

    def open(self, batch: int) -> ParquetParts:
        """A writer for a run of a batch."""
        return ParquetParts(self.folder, self.schema, lambda tuples: [("", tuples)])


def spark_task_sink(operator: Operator, output: JobOutput) -> SparkTaskSink:
    """The half of a SparkSink in tasks."""
    folder = output.folder.absolute() / f"spark-{quote(operator.id, '')}"
    return SparkTaskSink(folder=folder, schema=arrow_schema(operator.inputs[0].schema))


class SparkWriterSink:
    """Lets Spark's writer append batch after batch.

    Raises:
        UserError: Spark does not have the format.
    """

    def __init__(self, operator: Operator, output: JobOutput) -> None:
        def value(name: str) -> Any:
            return next((output.evaluator.constant(v) for v in operator.param(name)), None)

        self._operator = operator
        self._format = str(value("format"))
        path, table = value("path"), value("table")
        self._path = None if path is None else _located(str(path), output)
        self._table = None if table is None else str(table)
        self._options = {str(k): str(v) for k, v in (value("options") or {}).items()}
        self._partitions = [str(getattr(v, "name", v)) for v in operator.param("partitionBy")]
        self._tasks = spark_task_sink(operator, output)
        self._own = self._tasks.open(0)
        self._note = output.folder / f"spark-{quote(operator.id, '')}.json"
        self._job = f"{output.id[:16]}-{zlib.crc32(operator.id.encode()):08x}"
        self._batch = -1
        self._files: list[str] = []
        check_format(operator, self._format)
        if self._is_files and "://" in str(self._path):
            message = f"`{operator.id}` writes files to `{path}`, which is not on this machine"
            raise UserError(message, hint="write to a local path, or to a table format such as delta")
        if self._is_files:
            check_folder(f"SparkSink `{operator.id}`", Path(str(self._path).removeprefix("file://")))
            self._try_without_rows()

    @property
    def _is_files(self) -> bool:
        return self._format in FILE_FORMATS and self._path is not None

    def begin(self, batch: int) -> None:
        """A batch comes."""
        self._batch, self._files = batch, []

    def take(self, chunk: Chunk) -> None:
        """Take tuples that no task has written."""
        if chunk.tuples.num_rows:
            self._own.write(chunk.tuples)

    def take_parts(self, notes: Sequence[Note]) -> None:
        """Take what tasks have written."""
        self._files = [note["file"] for note in notes]

    def commit(self, *, has_ended: bool) -> None:
        """Append the batch, if it has tuples."""
        staging = self._tasks.folder / STAGING
        names = [*self._files, *(note["file"] for note in self._own.finish())]
        files = [hadoop_pattern(staging / name) for name in names]
        if files:
            try:
                self._append(active_session().read.parquet(*files))
            except Exception as error:
                raise self._failure(error) from error
        shutil.rmtree(staging, ignore_errors=True)

    def close(self) -> None:
        """Let go of files that are not complete."""
        self._own.abandon()

    def _try_without_rows(self) -> None:
        """Let Spark's writer write no rows, so that what it does not take is refused before the first batch."""
        self._own.add_empty()
        staging = self._tasks.folder / STAGING
        (file,) = (hadoop_pattern(staging / note["file"]) for note in self._own.finish())
        try:
            self._writer(active_session().read.parquet(file)).save(hadoop_path(staging / "without-rows"))
        except Exception as error:
            raise self._failure(error) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _writer(self, frame: DataFrame) -> DataFrameWriter:
        options = {name: reveal_named(name, value) for name, value in self._options.items()}
        writer = frame.write.format(self._format).mode("append").options(**options)
        return writer.partitionBy(*self._partitions) if self._partitions else writer

    def _append(self, frame: DataFrame) -> None:
        writer = self._writer(frame)
        if self._is_files:
            self._write_files(writer)
        elif self._format == "delta":
            self._save(writer.option("txnAppId", f"penstock-{self._job}").option("txnVersion", str(self._batch)))
        elif self._noted() != {"batch": self._batch, "is_done": True}:
            self._tell(is_done=False)
            self._save(writer)
            self._tell(is_done=True)

    def _save(self, writer: DataFrameWriter) -> None:
        if self._table is not None:
            writer.saveAsTable(self._table)
        else:
            writer.save(self._path)

    def _write_files(self, writer: DataFrameWriter) -> None:
        """Write aside, remove what the batch has left before, and move the files to their place."""
        assert self._path is not None
        target, aside = Path(self._path), Path(self._path) / STAGING / self._job
        shutil.rmtree(aside, ignore_errors=True)
        aside.parent.mkdir(parents=True, exist_ok=True)
        writer.save(hadoop_path(aside))
        prefix = f"part-{self._job}-{self._batch:08d}-"
        for left in target.rglob(f"{prefix}*"):
            left.unlink()
        written = sorted(p for p in aside.rglob("part-*") if p.is_file())
        for number, path in enumerate(written):
            place = target / path.relative_to(aside).parent / f"{prefix}{number:05d}{_UNIQUE.sub('', path.name)}"
            place.parent.mkdir(parents=True, exist_ok=True)
            sync_file(path)
            path.rename(place)
        for folder in {target, *(target / p.relative_to(aside).parent for p in written)}:
            sync_folder(folder)
        shutil.rmtree(target / STAGING, ignore_errors=True)

    def _noted(self) -> dict[str, Any] | None:
        return json.loads(self._note.read_text()) if self._note.exists() else None

    def _tell(self, *, is_done: bool) -> None:
        write_durably(self._note, json.dumps({"batch": self._batch, "is_done": is_done}).encode())

    def _failure(self, error: Exception) -> UserError:
        where = self._table or self._path or "its options"
        lines = str(error).strip().splitlines()
        reason = lines[0][:300] if lines else type(error).__name__
        return UserError(f"SparkSink `{self._operator.id}` cannot write {self._format} to `{where}`: {reason}")


def _located(path: str, output: JobOutput) -> str:
    """Where a path leads: one without a scheme is local, and a relative one lies in the output folder."""
    if "://" in path and not path.startswith("file://"):
        return path
    return str(output.environment.output_path(path).absolute())


def check_format(operator: Operator, name: str) -> None:
    """Make sure that Spark has a writer for a format.

    Raises:
        UserError: It has none.
    """
    session: Any = active_session()
    sources = session._jvm.org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(name, session._jsparkSession.sessionState().conf())
    except Exception as error:
        message = f"`{operator.id}` writes `{name}`, which Spark has no data source for"
        package = PACKAGES.get(name)
        hint = f"add the jar with --packages {package}" if package else "check the name, or add its jar with --packages"
        raise UserError(message, hint=hint) from error
