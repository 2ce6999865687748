"""Sinks on Spark: one PE that runs in the driver and writes each batch exactly once.

After a batch is written, the sinks' state (how far each file is written, what each remembers, what has been counted) is
stored under the checkpoint with the batch's id. A batch that comes again starts from the state that the batch before it
left: files are cut back to where they were and written again. Sinks that commit batches by themselves
(`kinds.BatchSink`) know which they have committed.

The rows of a batch come from Spark partition by partition and wait in a file (`order`), so the size of a batch is
not bounded by the driver's memory, but for sinks that take one tuple at a time.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import make_folder, read_sealed, write_sealed
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import REPORT, Item
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Application
from penstock.profiler.clock import cpu_ns
from penstock.profiler.raw_statistics import Statistics
from penstock.reference.result import DeadLetter
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import in_order
from penstock.runtime.pes.prints import write_in_order
from penstock.runtime.pes.reports import Counts, Report, add, decode_report
from penstock.runtime.sinks.dead_letters import MOST_AT_ONCE, LetterFile, WaitingLetters
from penstock.runtime.sinks.order import Chunk, Spool
from penstock.spark.sinks.collected_rows import RowsOfBatches
from penstock.spark.sinks.kinds import BatchSink, JobOutput, batch_sink, column_takers, fed_by_tuple, with_outlets
from penstock.toolkit.analysis.effects import does_print
from penstock.toolkit.core.program import Program
from penstock.toolkit.files.file_records import FileRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEPT_STATES = 3
JOB_ID = "job"
SINKS_STATE = "the state of the sinks"

Committing = Callable[[int], AbstractContextManager[object]]
"""Guards what is written for a batch: it begins before the first byte, and ends when the batch's state is stored."""


def _unguarded(batch: int) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(slots=True)
class Totals:
    """What all batches so far have come to.

    Attributes:
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
        rejected: For each operator, the records that it set aside.
        letters: What the file of dead letters holds; None before it is there.
        late: For each source, the tuples that came behind the clock.
    """

    received: Counts = field(default_factory=dict)
    submitted: Counts = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    letters: FileRecord | None = None
    late: dict[str, int] = field(default_factory=dict)

    def add(self, report: Report) -> None:
        """Count a PE's batch."""
        self.received = add(self.received, report.received)
        self.submitted = add(self.submitted, report.submitted)
        for source, count in report.late.items():
            self.late[source] = self.late.get(source, 0) + count


class SinkPE:
    """All sinks of a job.

    Attributes:
        totals: What has been counted up to the last batch that is written.
        statistics: What submit signals have collected in this run, if the plan asks for any.
    """

    def __init__(
        self,
        program: Program,
        plan: PhysicalPlan,
        pe: int | None,
        environment: Environment,
        folder: Path,
        committing: Committing = _unguarded,
    ) -> None:
        self._pe, self._environment, self._folder = pe, environment, folder
        self._committing = committing
        self._rows = RowsOfBatches(folder / "large")
        self._batch: int | None = None
        self._container: Container | None = None
        self.totals = Totals()
        self.statistics = Statistics()
        make_folder(folder)
        self._sinks = {} if pe is None else _batch_sinks(program, plan, pe, environment, folder)
        self._program, self._plan = with_outlets(program, plan)
        self._letters = LetterFile(environment.output_directory)
        self._ways: dict[str, Way] = {}
        self._by_tuple: frozenset[int] = frozenset()

    def write(self, frame: DataFrame, batch: int) -> None:
        """Write a batch, as `foreachBatch` gives it."""
        self._rows.hand_to(partial(self.write_rows, batch=batch), frame)

    def write_rows(self, rows: Iterable[tuple[int, bytes]], batch: int) -> None:
        """Write a batch of (edge, IPC stream) pairs; nothing is written before they have all come."""
        reports: list[Report] = []
        with Spool() as spool, WaitingLetters() as letters:
            for edge, value in rows:
                if edge == REPORT:
                    reports.append(_without_letters(decode_report(value), letters))
                elif self._pe is not None:
                    spool.add(edge, value)
            with self._committing(batch), self._all_or_nothing():
                self._commit(spool, reports, letters, batch)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Let go of files that a failure leaves in the middle of a batch while they are still ours to write."""
        try:
            yield
        except BaseException:
            self._close_container()
            self._container, self._batch = None, None
            raise

    def _commit(self, spool: Spool, reports: list[Report], letters: WaitingLetters, batch: int) -> None:
        if self._batch is None or self._batch != batch - 1:
            self._go_back_to(batch - 1)
        if self._container is not None:
            reports += self._feed(self._container, spool, letters, batch)
        self._count(reports, letters)
        write_in_order((printed for report in reports for printed in report.prints), self._environment.stdout)
        self.totals.letters = self._letters.write(letters)
        self._store(batch)

    def _count(self, reports: Iterable[Report], letters: WaitingLetters) -> None:
        for report in reports:
            self.totals.add(report)
            for collected in report.signals:
                self.statistics.merge(Statistics.from_json(collected))
        for operator, count in letters.rejected.items():
            self.totals.rejected[operator] = self.totals.rejected.get(operator, 0) + count

    def close(self) -> None:
        """Let go of the sinks' files and connections."""
        self._close_container()
        for sink in self._sinks.values():
            sink.close()

    def _feed(self, container: Container, spool: Spool, letters: WaitingLetters, batch: int) -> list[Report]:
        """Let every sink take its items of a batch, and commit it."""
        for sink in self._sinks.values():
            sink.begin(batch)
        set_aside = container.engine.dead_letters
        received = {id_: self._fed(id_, way, spool) for id_, way in self._ways.items()}
        by_column = {e.index for e in self._plan.into(container.pe)} - self._by_tuple
        items = in_order(container, spool.values(self._by_tuple) + spool.marks(by_column))
        container.take(_emptying(set_aside, letters, items))
        letters.take_from(set_aside)
        for id_, sink in self._sinks.items():
            sink.commit(has_ended=container.node[id_].has_ended)
        return [container.report(), Report(pe=container.pe, received=received)]

    def _fed(self, operator: str, way: Way, spool: Spool) -> list[int]:
        """Hand a sink its items; returns how many tuples came in by each port."""
        began = cpu_ns()
        counts = way.feed(spool, self._by_tuple)
        if self._plan.signals is not None:
            self.statistics.add(("process", operator, 0), float(cpu_ns() - began), tuples=counts[0])
        return counts

    def _go_back_to(self, batch: int) -> None:
        """Stand where the sinks stood after a batch, or at the beginning."""
        self._close_container()
        self._container, self.totals = None, Totals()
        state, container = self._stored(batch), None
        if self._pe is not None:
            container = Container(self._program, self._plan, self._pe, self._environment.renewed())
        if state is not None:
            self.totals = Totals(**state["totals"])
            if container is not None:
                container.recall(state["sinks"])
            self._letters.go_back_to(self.totals.letters)
        # One that could not go back is not closed: its files would be written anew.
        self._container = container
        if state is None:
            # Should the first batch come again, files that it appends to are cut back to where they are now.
            self._store(batch)
        if self._container is not None:
            self._find_ways(self._container)
        self._batch = batch

    def _stored(self, batch: int) -> dict[str, Any] | None:
        """The state that a batch has left; None before the first batch of a new checkpoint.

        Raises:
            UserError: It is missing although there were batches.
        """
        stored = self._path(batch)
        if stored.exists():
            found: dict[str, Any] = pickle.loads(read_sealed(stored, SINKS_STATE))
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
                if self._container is not None:
                    self._container.remember()

    def _find_ways(self, container: Container) -> None:
        """Find out how tuples come to each sink; to be done when the files are open that the sinks go on with."""
        columns = column_takers({id_: container.node[id_] for id_ in self._plan.pes[container.pe].operators})
        for id_ in _printing_together(self._plan.application) & columns.keys():
            del columns[id_]
        self._by_tuple = fed_by_tuple(self._plan, container.pe, frozenset([*columns, *self._sinks]))
        takers: dict[str, Callable[[Chunk], None]] = {id_: sink.take for id_, sink in self._sinks.items()}
        for id_, take in columns.items():
            if self._by_tuple.isdisjoint(_edges(self._plan, container.pe, id_)):
                takers[id_] = _tuples_only(take)
        self._ways = {id_: Way(take, self._plan, container.pe, id_) for id_, take in takers.items()}

    def _close_container(self) -> None:
        if self._container is not None:
            for node in self._container.nodes:
                node.runtime.close()

    def _store(self, batch: int) -> None:
        sinks = None if self._container is None else self._container.remember()
        state = {"totals": asdict(self.totals), "sinks": sinks}
        write_sealed(self._path(batch), pickle.dumps(state, protocol=5))
        self._batch = batch
        self._path(batch - KEPT_STATES).unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:020d}.state"


class Way:
    """The way of tuples to a sink that takes them by the batch."""

    def __init__(self, take: Callable[[Chunk], None], plan: PhysicalPlan, pe: int, operator: str) -> None:
        self._take = take
        self._edges = _edges(plan, pe, operator)
        self._ports = [
            _edges(plan, pe, operator, port) for port in range(len(plan.application.operator[operator].inputs))
        ]

    def feed(self, spool: Spool, by_tuple: frozenset[int]) -> list[int]:
        """Hand the sink its items; returns how many tuples came in by each port and were not counted elsewhere."""
        for chunk in spool.chunks(self._edges):
            self._take(chunk)
        return [spool.count(port - by_tuple) for port in self._ports]


def _without_letters(report: Report, letters: WaitingLetters) -> Report:
    """A report whose letters wait elsewhere."""
    letters.add(report.dead_letters)
    return replace(report, dead_letters=()) if report.dead_letters else report


def _emptying(
    set_aside: list[DeadLetter], letters: WaitingLetters, items: Iterable[tuple[int, Item]]
) -> Iterator[tuple[int, Item]]:
    """Items that are on their way to operators, whose letters are taken away from time to time."""
    for item in items:
        yield item
        letters.take_from(set_aside, least=MOST_AT_ONCE)


def _printing_together(application: Application) -> frozenset[str]:
    """The operators that print, if there are several: what they print has one order, so tuples come one at a time."""
    found = frozenset(o.id for o in application.operators if does_print(o, application.functions))
    return found if len(found) > 1 else frozenset()


def _edges(plan: PhysicalPlan, pe: int, operator: str, port: int | None = None) -> frozenset[int]:
    """The edges that lead to an operator, or to one port of it."""
    return frozenset(
        edge.index
        for edge in plan.into(pe)
        if any(id_ == operator and port in (None, to) for id_, to in edge.subscribers)
    )


def _tuples_only(take: Callable[[pa.RecordBatch], None]) -> Callable[[Chunk], None]:
    return lambda chunk: take(chunk.tuples) if chunk.tuples.num_rows else None


def _batch_sinks(
    program: Program, plan: PhysicalPlan, pe: int, environment: Environment, folder: Path
) -> dict[str, BatchSink]:
    application = program.application
    output = JobOutput(
        application=application.name,
        id=_job_id(folder),
        folder=folder,
        environment=environment,
        evaluator=Evaluator(functions=application.functions, environment=environment),
    )
    made = {id_: batch_sink(application.operator[id_], output) for id_ in plan.pes[pe].operators}
    return {id_: sink for id_, sink in made.items() if sink is not None}


def _job_id(folder: Path) -> str:
    """What tells a job from all others: it is made with the checkpoint."""
    path = folder / JOB_ID
    if not path.exists():
        write_sealed(path, uuid.uuid4().hex.encode())
    return read_sealed(path, "the id of the job").decode()
