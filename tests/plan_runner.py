"""Runs a physical plan on the local engine, with everything in memory lost between two batches but what is stored.

It shows in milliseconds what a run on Spark shows in seconds: that cutting an application into PEs, and its input into
batches, and storing state in between, changes nothing. What only Spark can show (exchanges, offsets, crashes) is tested
on Spark.
"""

from __future__ import annotations

import json
import pickle

from penstock.codegen.build import build
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.local.line import Line
from penstock.reference.result import DEAD_LETTERS, DeadLetter
from penstock.runtime.sinks.writer import SinkWriter, gather
from penstock.toolkit.core.program import Program


def run_plan(
    program: Program, plan: PhysicalPlan, environment: Environment, *, turns_per_batch: int
) -> list[DeadLetter]:
    """Run until all sources have ended; returns the dead letters."""
    line = Line(program, plan, build(program, plan).pieces, environment)
    sinks = SinkWriter(program, plan, environment, {})
    sinks.restore(None)
    number, has_ended = 0, False
    while not has_ended:
        batch = line.run_batch(turns_per_batch)
        assert batch is not None
        with gather(batch.rows) as arrived:
            sinks.write(arrived, number)
        line.restore(pickle.loads(pickle.dumps(line.snapshot())))
        number, has_ended = number + 1, batch.has_ended
    line.close()
    sinks.close()
    return take_letters(environment)


def take_letters(environment: Environment) -> list[DeadLetter]:
    """What was set aside; its file is removed, for the reference interpreter writes none."""
    path = environment.output_directory / DEAD_LETTERS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [DeadLetter(**json.loads(line)) for line in lines]
