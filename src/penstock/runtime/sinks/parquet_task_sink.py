"""The half of a Parquet sink that works in tasks: each writes files of its own to the staging place of the folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.ir.graph import ErrorPolicy, Operator
from penstock.reference.failure import OperatorFailed
from penstock.runtime.sinks.kinds import JobOutput
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.files.parquet_parts import ParquetParts, parquet_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetTaskSink:
    """Opens the writers of a sink in tasks.

    Attributes:
        operator: The sink.
        folder: Where its files lie.
    """

    operator: Operator
    folder: Path

    def open(self, batch: int) -> ParquetParts:
        """A writer for a run of a batch."""

        def reject(record: str, reason: str) -> None:
            raise OperatorFailed(self.operator, reason, record)

        return parquet_parts(self.operator, self.folder, reject)


def parquet_task_sink(operator: Operator, output: JobOutput) -> ParquetTaskSink | None:
    """The half of a FileSink in tasks; None if it writes files in order, or may set tuples aside."""
    if symbol(operator, "format", "csv") != "parquet" or operator.logic is not None:
        return None
    if operator.param("partitionBy") and operator.on_error is not ErrorPolicy.FAIL:
        return None
    name = output.evaluator.constant(operator.param("file")[0])
    return ParquetTaskSink(operator=operator, folder=output.environment.output_path(name).absolute())
