"""Runs a physical plan batch by batch in this process: the same workers, the same bytes between them, no Spark.

It shows in milliseconds what a run on Spark shows in seconds: that cutting an application into PEs, and its input into
batches, and storing state in between, changes nothing. What only Spark can show (exchanges, offsets, crashes) is tested
on Spark.
"""

from __future__ import annotations

import pickle

import pyarrow as pa

from penstock.codegen.plan import PE, PhysicalPlan
from penstock.codegen.routes import Router, routing_of
from penstock.codegen.transport import REPORT, encode
from penstock.expr.environment import Environment
from penstock.reference.result import DeadLetter
from penstock.spark.container import Container
from penstock.spark.reports import decode_report
from penstock.spark.sources import SourceRun
from penstock.spark.workers import ContainerInstance, Instance, make_instance
from penstock.toolkit.program import Program

Rows = list[tuple[int, int, bytes]]
"""Edge, channel, IPC stream."""


def run_plan(
    program: Program, plan: PhysicalPlan, environment: Environment, *, turns_per_batch: int
) -> list[DeadLetter]:
    """Run until all sources have ended; returns the dead letters."""
    of_source = [pe.index for pe in plan.pes if pe.role == "source"]
    sources = {pe: SourceRun(program, plan, pe, environment.renewed()) for pe in of_source}
    states: dict[tuple[int, int], bytes] = {}
    letters: list[DeadLetter] = []
    while True:
        rows: Rows = []
        for source in sources.values():
            source.advance(turns_per_batch)
            rows += as_rows(Router(routing_of(plan, source.container.pe)).rows(_leaving(source.container)))
        for pe in plan.pes:
            if pe.role != "source":
                rows = run_pe(program, plan, pe, environment, rows, states)
        letters += [x for edge, _, value in rows if edge == REPORT for x in decode_report(value).dead_letters]
        if all(source.has_ended for source in sources.values()):
            return letters


def run_pe(
    program: Program,
    plan: PhysicalPlan,
    pe: PE,
    environment: Environment,
    rows: Rows,
    states: dict[tuple[int, int], bytes],
) -> Rows:
    """Every channel of a PE takes its rows, the last channel first: order must not depend on when a channel runs."""
    mine = {edge.index for edge in plan.into(pe.index)}
    found = [row for row in rows if row[0] not in mine]
    for channel in reversed(range(pe.channels)):
        values = [(edge, value) for edge, to, value in rows if edge in mine and to == channel]
        instance = _instance(program, plan, pe, environment)
        if (pe.index, channel) in states:
            instance.recall(pickle.loads(states[pe.index, channel]))
        found += as_rows(Router(routing_of(plan, pe.index), channel).rows(instance.process_batch(values)))
        if pe.role != "stateless":
            states[pe.index, channel] = pickle.dumps(instance.remember())
        if isinstance(instance, ContainerInstance):
            for node in instance.container.nodes:
                node.runtime.close()
    return found


def _instance(program: Program, plan: PhysicalPlan, pe: PE, environment: Environment) -> Instance:
    if pe.role == "sink":
        return ContainerInstance(Container(program, plan, pe.index, environment.renewed()))
    return make_instance(program, plan, pe.index, environment.renewed())


def _leaving(container: Container) -> list[tuple[int, list[bytes]]]:
    container.pulse()
    streams = container.plan.application.streams
    found = [(REPORT, container.report().encode())]
    for edge in container.plan.out_of(container.pe):
        items = container.leaving[edge.index]
        found.append((edge.index, list(encode(items, streams[edge.stream].schema))))
        container.leaving[edge.index] = []
    return found


def as_rows(batches: object) -> Rows:
    """What record batches for Spark hold."""
    table = pa.Table.from_batches(list(batches))  # type: ignore[call-overload]
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
