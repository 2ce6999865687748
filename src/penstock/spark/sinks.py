"""Sinks on Spark: one PE that runs in the driver and writes each batch exactly once.

After a batch is written the sinks' state (how far each file is written, what each remembers) is stored under the
checkpoint with the batch's id. A batch that comes again starts from the state that the batch before it left: files are
cut back to where they were and written again.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.codegen.plan import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.spark.container import Container
from penstock.spark.workers import in_order
from penstock.toolkit.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEPT_STATES = 3


class SinkPE:
    """All sinks of a job.

    Attributes:
        batch: The id of the last batch that is written.
    """

    def __init__(self, program: Program, plan: PhysicalPlan, pe: int, environment: Environment, folder: Path) -> None:
        self._make = lambda: Container(program, plan, pe, environment)
        self.folder = folder
        self.batch = -1
        self.container: Container | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, frame: DataFrame, batch: int) -> None:
        """Write a batch, as `foreachBatch` gives it."""
        container = self._at(batch)
        collected: Any = frame.collect()
        arriving = [(int(row.edge), bytes(row.tuples)) for row in collected]
        container.take(in_order(container, arriving))
        self._store(batch, container)

    def _at(self, batch: int) -> Container:
        """The container as it was after the batch before."""
        if self.container is None or self.batch != batch - 1:
            self.container = self._make()
            stored = self._path(batch - 1)
            if stored.exists():
                self.container.recall(pickle.loads(stored.read_bytes()))
        return self.container

    def _store(self, batch: int, container: Container) -> None:
        path = self._path(batch)
        part = path.with_suffix(".part")
        part.write_bytes(pickle.dumps(container.remember(), protocol=5))
        os.replace(part, path)
        self.batch = batch
        self._path(batch - KEPT_STATES).unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self.folder / f"{batch:020d}.state"
