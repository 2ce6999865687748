"""SparkSink on Spark: tasks leave the tuples of a batch under the checkpoint, from where Spark's own writer takes them.

How a batch is written once depends on the format:

- *files* (`parquet`, `json`, `orc`, `csv`, `text`, `avro` to a path) are written aside, and moved to their place under
  names that tell job and batch (`placed_files`). A batch that comes again first removes what it has left there.
- *Delta* gets the job and the batch as `txnAppId` and `txnVersion`; a batch that it has is not written again.
- *others* are told in a note that a batch begins and that it is done. A batch that is done is not written again; one
  that was interrupted between the two is, so what the format itself has committed by then is there twice.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import write_durably
from penstock.base.secret_references import reveal_named
from penstock.ir.arrow import arrow_schema
from penstock.ir.graph import Operator
from penstock.runtime.sinks.kinds import JobOutput
from penstock.runtime.sinks.order import Chunk
from penstock.spark.job.hadoop_paths import hadoop_path, hadoop_pattern
from penstock.spark.job.session import active_session
from penstock.spark.sinks.placed_files import StoreFolder, place_files
from penstock.spark.sinks.table_formats import (
    FILE_FORMATS,
    check_options,
    check_table,
    try_delta,
)
from penstock.toolkit.core.task_sink import Note
from penstock.toolkit.files.parquet_parts import STAGING, ParquetParts, check_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter

PACKAGES = {
    "delta": "io.delta:delta-spark_{spark}_2.13:VERSION, which there is for Spark 4.2",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13:VERSION, as soon as there is one for this Spark",
    "avro": "org.apache.spark:spark-avro_2.13:{spark}.0",
}
"""Where formats are that do not come with Spark."""


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
        check_options(operator.id, self._format, self._options, has_target=(self._path or self._table) is not None)
        self._store = self._opened() if self._is_files and "://" in str(self._path) else None
        if self._is_files and self._store is None:
            check_folder(f"SparkSink `{operator.id}`", Path(str(self._path)))
        self._try_without_rows()

    @property
    def _is_files(self) -> bool:
        return self._format in FILE_FORMATS and self._path is not None

    @property
    def _address(self) -> str | None:
        """The path as Spark takes it; what a bare one means to Spark depends on its file system."""
        return self._path if self._path is None or "://" in self._path else hadoop_path(Path(self._path))

    def _opened(self) -> StoreFolder:
        """The folder of files, where that is not on this machine.

        Raises:
            UserError: It cannot be reached.
        """
        try:
            return StoreFolder(active_session(), str(self._path))
        except Exception as error:
            packages = "org.apache.hadoop:hadoop-aws:VERSION" if str(self._path).startswith("s3a:") else "its package"
            hint = f"a file system that does not come with Spark is added with --packages {packages}"
            raise self._failure(error, hint) from error

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
        aside = hadoop_path(staging / "without-rows")
        try:
            frame = active_session().read.parquet(file)
            if self._is_files:
                self._writer(frame).save(aside)
            elif self._table is not None:
                may_grow = any(name.lower() in ("mergeschema", "merge-schema") for name in self._options)
                check_table(frame.sparkSession, self._table, frame.columns, may_grow=may_grow)
            elif self._format == "delta" and self._path is not None:
                try_delta(frame, self._writer(frame), str(self._address), aside)
            elif self._format == "jdbc":
                self._writer(frame).save()
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
            writer.save(self._address)

    def _write_files(self, writer: DataFrameWriter) -> None:
        """Write files that stand for the batch, whether it has left some before or not."""
        assert self._path is not None
        prefix = f"part-{self._job}-{self._batch:08d}-"
        if self._store is None:
            place_files(writer.save, Path(self._path), self._job, prefix)
            return
        noted = self._noted()
        self._tell(is_done=False)
        self._store.place(writer.save, self._job, prefix, again=noted is not None and noted["batch"] == self._batch)

    def _noted(self) -> dict[str, Any] | None:
        return json.loads(self._note.read_text()) if self._note.exists() else None

    def _tell(self, *, is_done: bool) -> None:
        write_durably(self._note, json.dumps({"batch": self._batch, "is_done": is_done}).encode())

    def _failure(self, error: Exception, hint: str | None = None) -> UserError:
        where = self._table or self._path or self._options.get("dbtable", "its options")
        said = [line.strip().removeprefix(": ") for line in str(error).splitlines() if line.strip()]
        lines = said[1:] if said and said[0].startswith("An error occurred while calling") else said
        reason = lines[0][:300] if lines else type(error).__name__
        return UserError(
            f"SparkSink `{self._operator.id}` cannot write {self._format} to `{where}`: {reason}", hint=hint
        )


def _located(path: str, output: JobOutput) -> str:
    """Where a path leads: one without a scheme is local, and a relative one lies in the output folder."""
    if "://" in path and not path.startswith("file://"):
        return path
    return str(output.environment.output_path(path.removeprefix("file://")).absolute())


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
        spark = ".".join(session.version.split(".")[:2])
        missing = f"add the jar with --packages {package.format(spark=spark)}" if package else None
        hint = missing or "check the name, or add its jar with --packages"
        raise UserError(message, hint=hint) from error
