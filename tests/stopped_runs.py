"""Runs a program on the local engine for some batches; what is left is its state, as it comes back from a savepoint."""

from __future__ import annotations

from pathlib import Path

from changing_plans import through_files
from penstock.codegen.build import build
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.expr.environment import Environment
from penstock.local.line import Line
from penstock.local.local_state import restore_state, take_state
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.program_changes import describe_program
from penstock.runtime.savepoints.savepoint_files import Savepoint, write_savepoint
from penstock.runtime.sinks.writer import SinkWriter, gather
from penstock.spark.checkpoint.code_fingerprint import fingerprint_code
from penstock.spark.checkpoint.plan_record import record_of
from penstock.toolkit.core.program import Program


def run_some(
    program: Program, out: Path, state: JobState | None = None, *, batches: int = 99, channels: int = 1
) -> JobState:
    """Run a program in batches of three tuples, from a state if there is one."""
    environment = Environment(output_directory=out, data_directory=out)
    plan = _plan(program, channels)
    pieces = build(program, plan).pieces
    line, sinks = Line(program, plan, pieces, environment), SinkWriter(program, plan, environment, {})
    number = 0 if state is None else state.batch
    if state is None:
        sinks.restore(None)
    else:
        restore_state(state, plan, pieces, line, sinks)
    for _ in range(batches):
        batch = line.run_batch(3)
        assert batch is not None
        with gather(batch.rows) as arrived:
            sinks.write(arrived, number)
        number += 1
        if batch.has_ended:
            break
    taken = take_state(plan, pieces, line, sinks, number)
    line.close()
    sinks.close()
    return through_files(taken, program.application)


def save(program: Program, state: JobState, folder: Path) -> None:
    """Write a savepoint, as `penstock savepoint` does."""
    described = record_of(_plan(program, 1), fingerprint_code(program))
    described |= {"operators": describe_program(program.application)}
    write_savepoint(Savepoint(state=state, program=described), program.application, folder)


def _plan(program: Program, channels: int) -> PhysicalPlan:
    application = program.application
    pes = [[o.id for o in application.operators if o.inputs and o.outputs]]
    return physical_plan(application, pes, choose_channels(application, channels))
