"""Sinks on Spark: one PE that runs in the driver and writes each batch exactly once.

After a batch is written, the sinks' state (how far each file is written, what each remembers, what has been counted) is
stored under the checkpoint with the batch's id. A batch that comes again starts from the state that the batch before it
left: files are cut back to where they were and written again. Sinks that commit batches by themselves
(`runtime.sinks.kinds.BatchSink`) know which they have committed.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import make_folder, read_sealed, write_sealed
from penstock.base.plain_pickle import load_plain
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Operator
from penstock.parallel.pe_demands import host_demands, operators_of
from penstock.profiler.raw_statistics import Statistics
from penstock.runtime.pes.traffic import TaskTraffic
from penstock.runtime.sinks.kinds import JobOutput, make_batch_sinks
from penstock.runtime.sinks.task_parts import task_sinks
from penstock.runtime.sinks.writer import SinkWriter, Totals, gather
from penstock.spark.sinks.batch_sinks import SPARK_SINKS
from penstock.spark.sinks.collected_rows import RowsOfBatches
from penstock.spark.sinks.task_sinks import TASK_SINKS
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.task_sink import TaskSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEPT_STATES = 3
LARGE = "large"
"""The folder for rows of tasks that have too many to send."""
JOB_ID = "job"
SINKS_STATE = "the state of the sinks"

Committing = Callable[[int], AbstractContextManager[object]]
"""Guards what is written for a batch: it begins before the first byte, and ends when the batch's state is stored."""


def _unguarded(batch: int) -> AbstractContextManager[object]:
    return nullcontext()


class SinkPE:
    """All sinks of a job.

    Args:
        program: What runs.
        plan: How it is cut into PEs.
        environment: Of the run.
        folder: Where the state of the sinks lies.
        committing: Guards what is written for a batch.
        in_tasks: Whether tasks write for the sinks that let them.

    Attributes:
        in_tasks: Those sinks.
    """

    def __init__(
        self,
        program: Program,
        plan: PhysicalPlan,
        environment: Environment,
        folder: Path,
        committing: Committing = _unguarded,
        *,
        in_tasks: bool = False,
    ) -> None:
        self._folder = folder
        self._committing = committing
        self._rows = RowsOfBatches(folder / LARGE)
        self._batch: int | None = None
        make_folder(folder)
        output = _output(program, environment, folder)
        operators = [program.application.operator[id_] for pe in plan.pes if pe.role == "sink" for id_ in pe.operators]
        batch_sinks = make_batch_sinks(SPARK_SINKS, operators, output)
        # Of the driver's host it is known where it is.
        placed = operators_of(host_demands(plan.application))
        free = [operator for operator in operators if operator.id not in placed]
        self.in_tasks = task_sinks(plan, _task_sinks(free, output) if in_tasks else {})
        self._writer = SinkWriter(program, plan, environment, batch_sinks, self.in_tasks.sinks)

    @property
    def totals(self) -> Totals:
        """The counts up to the last batch that is written."""
        return self._writer.totals

    @property
    def statistics(self) -> Statistics:
        """The statistics of the submit signals in this run, if the plan asks for any."""
        return self._writer.statistics

    @property
    def traffic(self) -> list[TaskTraffic]:
        """What the tasks of the last batch have sent."""
        return self._writer.traffic

    def write(self, frame: DataFrame, batch: int) -> None:
        """Write a batch, as `foreachBatch` gives it."""
        self._rows.hand_to(partial(self.write_rows, batch=batch), frame)

    def write_rows(self, rows: Iterable[tuple[int, bytes]], batch: int) -> None:
        """Write a batch of (edge, IPC stream) pairs; nothing is written before they have all come."""
        with gather(rows) as arrived, self._committing(batch), self._all_or_nothing():
            if self._batch is None or self._batch != batch - 1:
                self._go_back_to(batch - 1)
            self._writer.write(arrived, batch)
            self._store(batch)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Let go of files that a failure leaves in the middle of a batch while they are still ours to write."""
        try:
            yield
        except BaseException:
            self._writer.let_go()
            self._batch = None
            raise

    def close(self) -> None:
        """Let go of the sinks' files and connections."""
        self._writer.close()

    def _go_back_to(self, batch: int) -> None:
        """Stand where the sinks stood after a batch, or at the beginning."""
        state = self._stored(batch)
        self._writer.restore(state)
        if state is None:
            # Should the first batch come again, files that it appends to are cut back to where they are now.
            self._store(batch)
        self._batch = batch

    def _stored(self, batch: int) -> dict[str, Any] | None:
        """The state that a batch has left; None before the first batch of a new checkpoint.

        Raises:
            UserError: It is missing although there were batches.
        """
        stored = self._path(batch)
        if stored.exists():
            found: dict[str, Any] = load_plain(read_sealed(stored, SINKS_STATE), SINKS_STATE)
            return found
        last = self._last_stored()
        if batch < 0 and last is None:
            return None
        have = "there is none at all" if last is None else f"the last one is of batch {last}"
        what = "the start of the job" if batch < 0 else f"batch {batch}"
        message = f"the state of the sinks after {what} is missing: there is no `{stored}`, and {have}"
        hint = "put the whole checkpoint back as it was at one time, or start anew with another checkpoint"
        raise UserError(message, hint=hint)

    def _last_stored(self) -> int | None:
        return max((int(path.stem) for path in self._folder.glob("*.state")), default=None)

    def check_unwritten(self) -> None:
        """Where this run has brought no batch, make sure that the files are still those of the last one.

        Raises:
            UserError: They are not.
        """
        last = self._last_stored()
        if self._batch is None and last is not None:
            with self._committing(last), self._all_or_nothing():
                self._go_back_to(last)
                self._writer.snapshot()

    def _store(self, batch: int) -> None:
        write_sealed(self._path(batch), pickle.dumps(self._writer.snapshot(), protocol=5))
        self._batch = batch
        self._path(batch - KEPT_STATES).unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:020d}.state"


def _output(program: Program, environment: Environment, folder: Path) -> JobOutput:
    application = program.application
    return JobOutput(
        application=application.name,
        id=_job_id(folder),
        folder=folder,
        environment=environment,
        evaluator=Evaluator(functions=application.functions, environment=environment),
    )


def _task_sinks(operators: Iterable[Operator], output: JobOutput) -> dict[str, TaskSink]:
    found = {o.id: TASK_SINKS[o.kind](o, output) for o in operators if o.kind in TASK_SINKS}
    return {id_: sink for id_, sink in found.items() if sink is not None}


def _job_id(folder: Path) -> str:
    """The unique id of the job; it is made with the checkpoint."""
    path = folder / JOB_ID
    if not path.exists():
        write_sealed(path, uuid.uuid4().hex.encode())
    return read_sealed(path, "the id of the job").decode()
