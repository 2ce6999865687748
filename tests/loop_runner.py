"""Runs a program with its loop open batch by batch in this process: planner, PEs, sinks and the stream of the loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from compiling import compile_fused
from penstock.codegen.transport.routes import rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.spark.sinks.loop_stream import rounds_folder
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.spark.sources.data_source import Planning, own_sources
from penstock.spark.sources.log import SourceLog, read_rows
from penstock.toolkit.core.program import Program
from plan_runner import as_rows, instance_makers, run_pe

MOST_BATCHES = 500


def run_with_open_loop(
    program: Program,
    fusion: Sequence[Iterable[str]],
    channels: int,
    environment: Environment,
    folder: Path,
    *,
    crashes: Collection[int] = (),
) -> int:
    """Run to the end; returns how many batches it took.

    Args:
        program: With its loop closed.
        fusion: The operators of each PE.
        channels: Of the regions, on the loop too.
        environment: Of the run.
        folder: The checkpoint.
        crashes: Batches behind which everything in memory is lost, and which then come again.
    """
    job = compile_fused(program, fusion, channels=channels, loops="batches")
    opened, plan = job.program, job.plan
    options = {"log": str(folder / "sources"), "rounds": str(rounds_folder(folder / "sinks"))}
    log = SourceLog(folder / "sources")
    routing = {e: route for pe in own_sources(plan) for e, route in routing_of(plan, pe).items()}
    sink = next(pe.index for pe in plan.pes if pe.role == "sink")

    def start() -> tuple[Planning, SinkPE]:
        loaded = opened, plan, environment.renewed()
        return Planning(loaded, options), SinkPE(opened, plan, sink, environment.renewed(), folder / "sinks")

    planning, sinks = start()
    states: dict[tuple[int, int], bytes] = {}
    makers = instance_makers(opened, plan, environment)
    again = set(crashes)
    number = 0
    while number < MOST_BATCHES:
        planning.plan(number)
        batch = log.batch(number)
        assert batch is not None
        rows = as_rows(part for found in read_rows(batch.rows) for part in rerouted(routing, found))
        before = dict(states)
        for pe in plan.pes:
            if pe.role not in ("source", "sink"):
                rows = run_pe(plan, pe, rows, states, makers[pe.index])
        sinks.write_rows([(edge, value) for edge, _, value in rows], number)
        if number in again:
            again.discard(number)
            sinks.close()
            states = before
            planning, sinks = start()
        elif batch.has_ended:
            sinks.close()
            return number + 1
        else:
            number += 1
    raise AssertionError("the loop goes on for ever")
