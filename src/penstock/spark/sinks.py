"""Sinks on Spark: one PE that runs in the driver and writes each batch exactly once.

After a batch is written, the sinks' state (how far each file is written, what each remembers, what has been counted) is
stored under the checkpoint with the batch's id. A batch that comes again starts from the state that the batch before it
left: files are cut back to where they were and written again.
"""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.codegen.plan import PhysicalPlan
from penstock.codegen.transport import REPORT
from penstock.expr.environment import Clock, Environment
from penstock.reference.result import DEAD_LETTERS, DeadLetter
from penstock.spark.container import Container
from penstock.spark.reports import Counts, Report, add, decode_report
from penstock.spark.workers import in_order
from penstock.toolkit.program import Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEPT_STATES = 3


@dataclass(slots=True)
class Totals:
    """What all batches so far have come to.

    Attributes:
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
        rejected: For each operator, the records that it set aside.
        letters_bytes: How long the file of dead letters is.
    """

    received: Counts = field(default_factory=dict)
    submitted: Counts = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    letters_bytes: int = 0

    def add(self, report: Report) -> None:
        """Count a PE's batch."""
        self.received = add(self.received, report.received)
        self.submitted = add(self.submitted, report.submitted)
        for letter in report.dead_letters:
            self.rejected[letter.operator] = self.rejected.get(letter.operator, 0) + 1


class SinkPE:
    """All sinks of a job.

    Attributes:
        totals: What has been counted up to the last batch that is written.
    """

    def __init__(
        self, program: Program, plan: PhysicalPlan, pe: int | None, environment: Environment, folder: Path
    ) -> None:
        self._program, self._plan, self._pe, self._environment = program, plan, pe, environment
        self._folder = folder
        self._batch: int | None = None
        self._container: Container | None = None
        self.totals = Totals()
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, frame: DataFrame, batch: int) -> None:
        """Write a batch, as `foreachBatch` gives it."""
        if self._batch is None or self._batch != batch - 1:
            self._go_back_to(batch - 1)
        collected: Any = frame.collect()
        arriving = [(int(row["edge"]), bytes(row["tuples"])) for row in collected]
        reports = [decode_report(value) for edge, value in arriving if edge == REPORT]
        if self._container is not None:
            self._container.take(in_order(self._container, arriving))
            reports.append(self._container.report())
        for report in reports:
            self.totals.add(report)
        self._write_letters([letter for report in reports for letter in report.dead_letters])
        self._store(batch)

    def close(self) -> None:
        """Let go of the sinks' files."""
        if self._container is not None:
            for node in self._container.nodes:
                node.runtime.close()

    def _go_back_to(self, batch: int) -> None:
        """Stand where the sinks stood after a batch, or at the beginning."""
        self.close()
        self.totals = Totals()
        if self._pe is not None:
            self._container = Container(self._program, self._plan, self._pe, _fresh(self._environment))
        stored = self._path(batch)
        if stored.exists():
            state = pickle.loads(stored.read_bytes())
            self.totals = Totals(**state["totals"])
            if self._container is not None:
                self._container.recall(state["sinks"])
        else:
            # Should the first batch come again, files that it appends to are cut back to where they are now.
            self._store(batch)
        self._batch = batch

    def _write_letters(self, letters: Sequence[DeadLetter]) -> None:
        path = self._environment.output_directory / DEAD_LETTERS
        if not letters and not path.exists():
            return
        with path.open("ab") as file:
            file.truncate(self.totals.letters_bytes)
            file.seek(0, os.SEEK_END)
            for letter in letters:
                file.write(letter.line())
            self.totals.letters_bytes = file.tell()

    def _store(self, batch: int) -> None:
        sinks = None if self._container is None else self._container.remember()
        state = {"totals": asdict(self.totals), "sinks": sinks}
        path = self._path(batch)
        part = path.with_suffix(".part")
        part.write_bytes(pickle.dumps(state, protocol=5))
        os.replace(part, path)
        self._batch = batch
        self._path(batch - KEPT_STATES).unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:020d}.state"


def _fresh(environment: Environment) -> Environment:
    """The same surroundings with a clock, random numbers and metrics of their own."""
    return replace(
        environment,
        clock=Clock(environment.clock.now_ns),
        random=copy.copy(environment.random),
        metrics=dict(environment.metrics),
        open_files={},
    )
