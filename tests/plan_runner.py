"""Runs a physical plan batch by batch in this process: the same workers, the same bytes between them, no Spark.

It shows in milliseconds what a run on Spark shows in seconds: that cutting an application into PEs, and its input into
batches, and storing state in between, changes nothing. What only Spark can show (exchanges, offsets, crashes) is tested
on Spark.
"""

from __future__ import annotations

import pickle

import pyarrow as pa

from penstock.codegen.plan import PE, PhysicalPlan
from penstock.codegen.transport import REPORT, encode
from penstock.expr.environment import Environment
from penstock.reference.result import DeadLetter
from penstock.spark.container import Container
from penstock.spark.reports import decode_report
from penstock.spark.sources import SourceRun
from penstock.spark.workers import ContainerInstance, Instance, make_instance
from penstock.toolkit.program import Program

Values = list[tuple[int, bytes]]


def run_plan(
    program: Program, plan: PhysicalPlan, environment: Environment, *, turns_per_batch: int
) -> list[DeadLetter]:
    """Run until all sources have ended; returns the dead letters."""
    sources = {p.index: SourceRun(program, plan, p.index, environment) for p in plan.pes if p.role == "source"}
    states: dict[int, bytes] = {}
    letters: list[DeadLetter] = []
    while True:
        values: Values = []
        for source in sources.values():
            source.advance(turns_per_batch)
            values += _leaving(source.container)
        for pe in plan.pes:
            if pe.role != "source":
                instance = _instance(program, plan, pe, environment)
                if pe.index in states:
                    instance.recall(pickle.loads(states[pe.index]))
                values = _rows(instance.process_batch(values))
                if pe.role != "stateless":
                    states[pe.index] = pickle.dumps(instance.remember())
                if isinstance(instance, ContainerInstance):
                    for node in instance.container.nodes:
                        node.runtime.close()
        letters += [x for edge, value in values if edge == REPORT for x in decode_report(value).dead_letters]
        if all(source.has_ended for source in sources.values()):
            return letters


def _instance(program: Program, plan: PhysicalPlan, pe: PE, environment: Environment) -> Instance:
    if pe.role == "sink":
        return ContainerInstance(Container(program, plan, pe.index, environment))
    return make_instance(program, plan, pe.index, environment)


def _leaving(container: Container) -> Values:
    container.pulse()
    report = (REPORT, container.report().encode())
    streams = container.plan.application.streams
    found = [report]
    for edge in container.plan.out_of(container.pe):
        items = container.leaving[edge.index]
        found += [(edge.index, value) for value in encode(items, streams[edge.stream].schema)]
        container.leaving[edge.index] = []
    return found


def _rows(batches: object) -> Values:
    table = pa.Table.from_batches(list(batches))  # type: ignore[call-overload]
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
