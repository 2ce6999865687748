"""The sinks of a job at work: they take batch after batch, in the sequential order.

What arrives for a batch waits in a file (`order`) until all of it is there, so the size of a batch is not bounded by
memory, but for sinks that take one tuple at a time. Who stores what between batches is the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from typing import Any

import pyarrow as pa

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import PART, REPORT, TRAFFIC, Item
from penstock.codegen.transport.placed_frames import read_frames
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.profiler.clock import cpu_ns
from penstock.profiler.raw_statistics import Statistics
from penstock.reference.result import DeadLetter
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import in_order
from penstock.runtime.pes.held_state import add_held
from penstock.runtime.pes.prints import write_in_order
from penstock.runtime.pes.reports import Counts, Report, add, decode_report
from penstock.runtime.pes.traffic import TaskTraffic, decode_traffic
from penstock.runtime.sinks.dead_letters import MOST_AT_ONCE, LetterFile, WaitingLetters
from penstock.runtime.sinks.kinds import BatchSink, column_takers, fed_by_tuple, with_outlets
from penstock.runtime.sinks.order import Chunk, Spool
from penstock.runtime.sinks.task_parts import Part
from penstock.toolkit.analysis.effects import does_print
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.task_sink import CommitsParts
from penstock.toolkit.files.file_records import FileRecord


@dataclass(slots=True)
class Totals:
    """The counts of all batches so far.

    Attributes:
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
        rejected: For each operator, the records that it set aside.
        letters: What the file of dead letters holds; None before it is there.
        late: For each operator, the tuples that came too late: behind the clock, or behind the watermark.
        expired: For each operator, the keys that it has dropped because their time to live was over.
        held: For each operator how many keys it holds behind the last batch, and how many bytes.
    """

    received: Counts = field(default_factory=dict)
    submitted: Counts = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    letters: FileRecord | None = None
    late: dict[str, int] = field(default_factory=dict)
    expired: dict[str, int] = field(default_factory=dict)
    held: Counts = field(default_factory=dict)

    def add(self, report: Report) -> None:
        """Count a PE's batch."""
        self.received = add(self.received, report.received)
        # A sink that a PE runs itself has no output, so nothing of it is counted there.
        self.submitted = add(self.submitted, {id_: ports for id_, ports in report.submitted.items() if ports})
        for source, count in report.late.items():
            self.late[source] = self.late.get(source, 0) + count
        for id_, count in report.expired.items():
            self.expired[id_] = self.expired.get(id_, 0) + count


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedBatch:
    """The input of the sinks in one batch: items, reports, dead letters, and what tasks have sent and written."""

    spool: Spool
    reports: list[Report]
    traffic: list[TaskTraffic]
    letters: WaitingLetters
    parts: list[Part]


@contextmanager
def gather(rows: Iterable[tuple[int, bytes]]) -> Iterator[ArrivedBatch]:
    """Let the (edge, IPC stream) pairs of a batch wait until they have all come, reports and letters apart."""
    reports: list[Report] = []
    traffic: list[TaskTraffic] = []
    parts: list[Part] = []
    with Spool() as spool, WaitingLetters() as letters:
        for edge, value in rows:
            if edge == REPORT:
                reports.append(_without_letters(decode_report(value), letters))
            elif edge == TRAFFIC:
                traffic.append(decode_traffic(value))
            elif edge == PART:
                parts.append(Part.decode(value))
            else:
                spool.add(edge, value)
        parts.sort(key=attrgetter("first"))
        yield ArrivedBatch(spool=spool, reports=reports, traffic=traffic, letters=letters, parts=parts)


class SinkWriter:
    """All sinks of a job.

    Args:
        program: What runs.
        plan: How it is cut into PEs.
        environment: Of the run.
        batch_sinks: The sinks that commit whole batches, by operator.
        in_tasks: The sinks whose tuples are written in tasks.

    Attributes:
        totals: What has been counted up to the last batch that is written.
        statistics: What submit signals have collected in this run, if the plan asks for any.
        traffic: What the tasks of the last batch have sent, where they tell it.
    """

    def __init__(
        self,
        program: Program,
        plan: PhysicalPlan,
        environment: Environment,
        batch_sinks: Mapping[str, BatchSink],
        in_tasks: Collection[str] = (),
    ) -> None:
        self._pe = next((pe.index for pe in plan.pes if pe.role == "sink"), None)
        self._environment, self._sinks, self._in_tasks = environment, batch_sinks, frozenset(in_tasks)
        self._container: Container | None = None
        self.totals = Totals()
        self.statistics = Statistics()
        self.traffic: list[TaskTraffic] = []
        self._program, self._plan = with_outlets(program, plan, batch_sinks)
        self._letters = LetterFile(environment.output_directory, environment.dead_letters)
        self._ways: dict[str, Way] = {}
        self._by_tuple: frozenset[int] = frozenset()

    def restore(self, state: dict[str, Any] | None) -> None:
        """Stand where the sinks stood with a snapshot, or at the beginning."""
        self.let_go()
        self.totals, container = Totals(), None
        if self._pe is not None:
            container = Container(self._program, self._plan, self._pe, self._environment.renewed())
            for runtime in (container.node[id_].runtime for id_ in self._in_tasks - self._sinks.keys()):
                assert isinstance(runtime, CommitsParts)
                runtime.leave_to_tasks()
        if state is not None:
            self.totals = Totals(**state["totals"])
            if container is not None:
                container.restore(state["sinks"])
            self._letters.go_back_to(self.totals.letters)
        # One that could not go back is not closed: its files would be written anew.
        self._container = container
        if container is not None:
            self._find_ways(container)

    def snapshot(self) -> dict[str, Any]:
        """The state of the sinks and what has been counted, as plain data; what they have written is on the disk."""
        sinks = None if self._container is None else self._container.snapshot()
        # What is held is measured anew: another plan has other operators together.
        totals = {name: value for name, value in asdict(self.totals).items() if name != "held"}
        return {"totals": totals, "sinks": sinks}

    def write(self, arrived: ArrivedBatch, batch: int) -> None:
        """Let every sink take its items of a batch, and count them."""
        reports = list(arrived.reports)
        if self._container is not None:
            reports += self._feed(self._container, arrived, batch)
        self._count(reports, arrived.letters)
        self.traffic = arrived.traffic
        write_in_order((printed for report in reports for printed in report.prints), self._environment.stdout)
        self.totals.letters = self._letters.write(arrived.letters)

    def let_go(self) -> None:
        """Close what the sinks have open; what they remember is lost."""
        if self._container is not None:
            self._container.close()
        self._container = None

    def close(self) -> None:
        """Let go of the sinks' files and connections."""
        self.let_go()
        for sink in self._sinks.values():
            sink.close()

    def _count(self, reports: Iterable[Report], letters: WaitingLetters) -> None:
        held: Counts = {}
        for report in reports:
            self.totals.add(report)
            held = add_held(held, report.held)
            for collected in report.signals:
                self.statistics.merge(Statistics.from_json(collected))
        # A PE to which nothing has come holds what it held.
        self.totals.held = {**self.totals.held, **held}
        for operator, count in letters.rejected.items():
            self.totals.rejected[operator] = self.totals.rejected.get(operator, 0) + count

    def _feed(self, container: Container, arrived: ArrivedBatch, batch: int) -> list[Report]:
        """Let every sink take its items of a batch, and commit it."""
        spool, letters = arrived.spool, arrived.letters
        for sink in self._sinks.values():
            sink.begin(batch)
        set_aside = container.engine.dead_letters
        received = {id_: self._fed(id_, way, spool) for id_, way in self._ways.items()}
        received |= {id_: self._taken_over(container, id_, arrived.parts, spool) for id_ in self._in_tasks}
        by_column = {e.index for e in self._plan.into(container.pe)} - self._by_tuple
        values = spool.values(self._by_tuple) + spool.marks(by_column)
        frames = read_frames(values, container.plan.schemas(container.plan.into(container.pe)))
        items = in_order(container, frames)
        container.take(_emptying(set_aside, letters, items))
        letters.take_from(set_aside)
        for id_, sink in self._sinks.items():
            sink.commit(has_ended=container.node[id_].has_ended)
        return [container.report(), Report(pe=container.pe, received=received)]

    def _taken_over(self, container: Container, operator: str, parts: Iterable[Part], spool: Spool) -> list[int]:
        """Let a sink take over what tasks have written for it; returns how many tuples came in."""
        mine = [part for part in parts if part.operator == operator]
        sink: Any = self._sinks.get(operator, container.node[operator].runtime)
        sink.take_parts([note for part in mine for note in part.notes])
        if self._plan.signals is not None:
            cost = float(sum(part.cpu_ns for part in mine))
            self.statistics.add(("process", operator, 0), cost, tuples=sum(part.rows for part in mine))
        # What comes tuple by tuple for other sinks is counted by the container.
        elsewhere = spool.count(_edges(self._plan, container.pe, operator) & self._by_tuple)
        return [sum(part.rows for part in mine) - elsewhere]

    def _fed(self, operator: str, way: Way, spool: Spool) -> list[int]:
        """Hand a sink its items; returns how many tuples came in by each port."""
        began = cpu_ns()
        counts = way.feed(spool, self._by_tuple)
        if self._plan.signals is not None:
            self.statistics.add(("process", operator, 0), float(cpu_ns() - began), tuples=counts[0])
        return counts

    def _find_ways(self, container: Container) -> None:
        """Find out how tuples come to each sink; to be done when the files are open that the sinks go on with."""
        here = [id_ for id_ in self._plan.pes[container.pe].operators if id_ not in self._in_tasks]
        columns = column_takers({id_: container.node[id_] for id_ in here})
        for id_ in _printing_together(self._plan.application) & columns.keys():
            del columns[id_]
        self._by_tuple = fed_by_tuple(self._plan, container.pe, frozenset([*columns, *self._sinks, *self._in_tasks]))
        takers: dict[str, Callable[[Chunk], None]] = {
            id_: sink.take for id_, sink in self._sinks.items() if id_ not in self._in_tasks
        }
        for id_, take in columns.items():
            if self._by_tuple.isdisjoint(_edges(self._plan, container.pe, id_)):
                takers[id_] = _tuples_only(take)
        self._ways = {id_: Way(take, self._plan, container.pe, id_) for id_, take in takers.items()}


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
