"""PEs at work in this process: the same workers and the same bytes between them as on Spark, and nothing else.

What PEs cost can be measured so without what Spark does around them.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import PULSE, PULSE_NUMBER, REPORT, TUPLE, Item, encode
from penstock.compiler import CompiledJob
from penstock.expr.environment import Environment, Tuple
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.refine import own_seconds
from penstock.runtime.pes.instances import instance_maker
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.reports import Counts, add, decode_report

Values = list[tuple[int, bytes]]


@dataclass(slots=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        cpu_seconds: CPU time of all PEs.
        statistics: The statistics that signals have collected.
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
    """

    cpu_seconds: float = 0.0
    statistics: Statistics = field(default_factory=Statistics)
    received: Counts = field(default_factory=dict)
    submitted: Counts = field(default_factory=dict)

    def costs(self) -> dict[str, float]:
        """The CPU time of each operator in the whole run, by equation 1."""
        return {
            id_: own_seconds(id_, self.statistics, ports, self.submitted.get(id_, []))
            for id_, ports in self.received.items()
        }


def _makers(job: CompiledJob) -> dict[int, Callable[[], PEInstance]]:
    """The functions that make instances of each PE but sources and sinks."""
    pieces = job.build.pieces.items()
    return {pe: instance_maker(job.program, job.plan, code, Environment()) for pe, code in pieces}


class PEs:
    """The PEs of a job but its sources and sinks, on one channel."""

    def __init__(self, job: CompiledJob) -> None:
        self._plan = job.plan
        self._makers = _makers(job)

    def run(self, batches: Iterable[Values]) -> Outcome:
        """Process batches, as `encoded` gives them, with fresh state."""
        outcome = Outcome()
        instances = {pe: make() for pe, make in self._makers.items()}
        with as_in_a_worker():
            for values in batches:
                self._take(instances, list(values), outcome)
        return outcome

    def _take(self, instances: Mapping[int, PEInstance], values: Values, outcome: Outcome) -> None:
        for pe, instance in instances.items():
            mine = {edge.index for edge in self._plan.into(pe)}
            taken = [value for value in values if value[0] in mine]
            began = time.process_time()
            left = list(instance.process_batch(taken))
            outcome.cpu_seconds += time.process_time() - began
            values = [value for value in values if value[0] not in mine]
            for edge, found in left:
                if edge == REPORT:
                    _count(found[0], outcome)
                else:
                    values += [(edge, value) for value in found]


@contextmanager
def as_in_a_worker() -> Iterator[None]:
    """Keep the garbage collector from walking over what was there before, as the daemon of Spark's workers does."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _count(value: bytes, outcome: Outcome) -> None:
    report = decode_report(value)
    outcome.received = add(outcome.received, report.received)
    outcome.submitted = add(outcome.submitted, report.submitted)
    for collected in report.signals:
        outcome.statistics.merge(Statistics.from_json(collected))


def encoded(plan: PhysicalPlan, tuples: Sequence[Tuple], batch: int) -> Iterator[Values]:
    """The tuples of the plan's only source on their way to all who take them, in batches."""
    edges = [edge for edge in plan.edges if plan.pes[edge.producer].role == "source"]
    schema = plan.application.streams[edges[0].stream].schema
    for start in range(0, len(tuples), batch):
        part = tuples[start : start + batch]
        values: Values = []
        for step, edge in enumerate(edges):
            items = [Item(0, start + i, step.to_bytes(4), TUPLE, row) for i, row in enumerate(part)]
            items.append(Item(0, PULSE_NUMBER, b"", PULSE))
            values += [(edge.index, value) for value in encode(items, schema)]
        yield values
