"""Runs a physical plan batch by batch in this process: the same workers, the same bytes between them, no Spark.

It shows in milliseconds what a run on Spark shows in seconds: that cutting an application into PEs, and its input into
batches, and storing state in between, changes nothing. What only Spark can show (exchanges, offsets, crashes) is tested
on Spark.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pyarrow as pa

from penstock.codegen.plan.physical import PE, PhysicalPlan
from penstock.codegen.transport.batches import REPORT
from penstock.codegen.transport.routes import Router, rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.reference.result import DeadLetter
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.reports import decode_report
from penstock.runtime.sources.turns import SourceRun
from penstock.spark.sources.planner import TurnPlanner
from penstock.spark.workers.instances import ContainerInstance, Instance, make_instance
from penstock.toolkit.core.program import Program

Rows = list[tuple[int, int, bytes]]
"""Edge, channel, IPC stream."""


def run_plan(
    program: Program, plan: PhysicalPlan, environment: Environment, *, turns_per_batch: int
) -> list[DeadLetter]:
    """Run until all sources have ended; returns the dead letters."""
    of_source = [pe.index for pe in plan.pes if pe.role == "source"]
    # Turn by turn even where a source could be read by columns: batches of one turn then are just that.
    planner = TurnPlanner([SourceRun(program, plan, pe, environment.renewed()) for pe in of_source], None, False)
    routing = {edge: route for pe in of_source for edge, route in routing_of(plan, pe).items()}
    states: dict[tuple[int, int], bytes] = {}
    letters: list[DeadLetter] = []
    while True:
        batch = planner.next_batch(turns_per_batch)
        assert batch is not None
        rows: Rows = as_rows(routed for row in batch.rows for routed in rerouted(routing, row))
        for pe in plan.pes:
            if pe.role != "source":
                rows = run_pe(program, plan, pe, environment, rows, states)
        letters += [x for edge, _, value in rows if edge == REPORT for x in decode_report(value).dead_letters]
        if batch.has_ended:
            return letters


def run_pe(
    program: Program,
    plan: PhysicalPlan,
    pe: PE,
    environment: Environment,
    rows: Rows,
    states: dict[tuple[int, int], bytes],
    make: Callable[[], Instance] | None = None,
) -> Rows:
    """Every channel of a PE takes its rows, the last channel first: order must not depend on when a channel runs.

    Args:
        program: What runs.
        plan: How it is cut.
        pe: The PE.
        environment: Of the run.
        rows: What has left all PEs before it.
        states: What the channels of all PEs remember.
        make: Makes an instance of the PE, for who runs many batches with code that is generated once.
    """
    mine = {edge.index for edge in plan.into(pe.index)}
    found = [row for row in rows if row[0] not in mine]
    for channel in reversed(range(pe.channels)):
        values = [(edge, value) for edge, to, value in rows if edge in mine and to == channel]
        instance = _instance(program, plan, pe, environment) if make is None else make()
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


def as_rows(batches: object) -> Rows:
    """What record batches for Spark hold."""
    table = pa.Table.from_batches(list(batches))  # type: ignore[call-overload]
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
