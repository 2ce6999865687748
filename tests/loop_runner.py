"""Runs a program with its loop open batch by batch in this process: planner, PEs, sinks and the stream of the loop."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from compiling import compile_fused
from penstock.codegen.transport.routes import rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.local.pes import PEs
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.rounds import rounds_folder
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.spark.sources.data_source import Planning
from penstock.spark.sources.log import SourceLog, read_rows
from penstock.toolkit.core.program import Program

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
    pes = PEs(opened, plan, job.build.pieces, environment)

    def start() -> tuple[Planning, SinkPE]:
        loaded = opened, plan, environment.renewed()
        return Planning(loaded, options), SinkPE(opened, plan, environment.renewed(), folder / "sinks")

    planning, sinks = start()
    again = set(crashes)
    number = 0
    while number < MOST_BATCHES:
        planning.plan(number)
        batch = log.batch(number)
        assert batch is not None
        before = pickle.dumps(pes.snapshot())
        rows = (part for found in read_rows(batch.rows) for part in rerouted(routing, found))
        sinks.write_rows(pes.process(rows), number)
        if number in again:
            again.discard(number)
            sinks.close()
            pes.restore(pickle.loads(before))
            planning, sinks = start()
        elif batch.has_ended:
            sinks.close()
            return number + 1
        else:
            number += 1
    raise AssertionError("the loop goes on for ever")
