"""Runs a physical plan batch by batch in this process: the same workers, the same bytes between them, no Spark.

It shows in milliseconds what a run on Spark shows in seconds: that cutting an application into PEs, and its input into
batches, and storing state in between, changes nothing. What only Spark can show (exchanges, offsets, crashes) is tested
on Spark.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pyarrow as pa

from penstock.codegen.build import build
from penstock.codegen.plan.physical import PE, PhysicalPlan
from penstock.codegen.transport.batches import REPORT
from penstock.codegen.transport.routes import Router, rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.reference.result import DeadLetter
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import ContainerInstance
from penstock.runtime.pes.instances import instance_maker
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.prints import write_in_order
from penstock.runtime.pes.reports import decode_report
from penstock.runtime.sources.turns import SourceRun
from penstock.spark.sources.planner import TurnPlanner
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
    makers = instance_makers(program, plan, environment)
    while True:
        batch = planner.next_batch(turns_per_batch)
        assert batch is not None
        rows: Rows = as_rows(routed for row in batch.rows for routed in rerouted(routing, row))
        for pe in plan.pes:
            if pe.role != "source":
                rows = run_pe(plan, pe, rows, states, makers[pe.index])
        reports = [decode_report(value) for edge, _, value in rows if edge == REPORT]
        letters += [letter for report in reports for letter in report.dead_letters]
        write_in_order((printed for report in reports for printed in report.prints), environment.stdout)
        if batch.has_ended:
            return letters


Make = Callable[[], PEInstance | ContainerInstance]
Makers = dict[int, Make]


def instance_makers(program: Program, plan: PhysicalPlan, environment: Environment) -> Makers:
    """What makes instances of each PE but the sources; code is generated once."""
    pieces = build(program, plan).pieces
    found: Makers = {pe: instance_maker(program, plan, code, environment.renewed()) for pe, code in pieces.items()}
    for pe in (pe.index for pe in plan.pes if pe.role == "sink"):
        found[pe] = lambda pe=pe: ContainerInstance(Container(program, plan, pe, environment.renewed()))
    return found


def run_pe(
    plan: PhysicalPlan,
    pe: PE,
    rows: Rows,
    states: dict[tuple[int, int], bytes],
    make: Make,
) -> Rows:
    """Every channel of a PE takes its rows, the last channel first: order must not depend on when a channel runs.

    Args:
        plan: How the program is cut.
        pe: The PE.
        rows: What has left all PEs before it.
        states: What the channels of all PEs remember.
        make: Makes an instance of the PE.
    """
    mine = {edge.index for edge in plan.into(pe.index)}
    found = [row for row in rows if row[0] not in mine]
    for channel in reversed(range(pe.channels)):
        values = [(edge, value) for edge, to, value in rows if edge in mine and to == channel]
        instance = make()
        if (pe.index, channel) in states:
            instance.recall(pickle.loads(states[pe.index, channel]))
        found += as_rows(Router(routing_of(plan, pe.index), channel).rows(instance.process_batch(values)))
        if pe.role != "stateless":
            states[pe.index, channel] = pickle.dumps(instance.remember())
        instance.close()
    return found


def as_rows(batches: object) -> Rows:
    """What record batches for Spark hold."""
    table = pa.Table.from_batches(list(batches))  # type: ignore[call-overload]
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
