"""Runs a program on the local engine, and changes its fusion, channels, key tables and batch size while it runs.

Between two plans nothing is left but a savepoint: the files of the sinks, and what was stored.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

from penstock.base.diagnostics import UserError
from penstock.codegen.build import Build, build
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import PhysicalPlan, is_sink, is_source, physical_plan
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.local.line import Line
from penstock.local.local_state import restore_state, take_state
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.savepoint_files import Savepoint, read_savepoint, write_savepoint
from penstock.runtime.sinks.writer import SinkWriter, gather
from penstock.toolkit.core.program import Program


def run_changing(program: Program, environment: Environment, rng: Random, changes: int) -> list[PhysicalPlan]:
    """Run until all sources have ended; returns the plans that it had."""
    plans: list[PhysicalPlan] = []
    state: JobState | None = None
    has_ended = False
    while not has_ended:
        is_last = len(plans) > changes
        plan, code = draw_plan(program, rng)
        plans.append(plan)
        state, has_ended = _run_for_a_while(program, plan, code, environment, rng, state, is_last)
        state = through_files(state, program.application)
    return plans


def through_files(state: JobState, application: Application) -> JobState:
    """A state as it comes back from a savepoint."""
    with tempfile.TemporaryDirectory() as folder:
        write_savepoint(Savepoint(state=state), application, Path(folder))
        return read_savepoint(Path(folder)).state


def draw_plan(program: Program, rng: Random) -> tuple[PhysicalPlan, Build]:
    """Any fusion and any channels, with any table of key groups."""
    application = program.application
    channels = choose_channels(application, rng.choice([1, 1, 2, 3, 5]), groups=rng.choice([720, 12]))
    tables = {
        region: tuple(rng.randrange(channels.width[region]) for _ in table) for region, table in channels.tables.items()
    }
    plan = physical_plan(application, draw_fusion(application, rng), replace(channels, tables=tables))
    return plan, build(program, plan)


def draw_fusion(application: Application, rng: Random) -> list[list[str]]:
    """Operators thrown together at random until no path leaves a PE and comes back, and no loop is cut."""
    inner = [o.id for o in application.operators if not is_source(o) and not is_sink(o)]
    for _ in range(20):
        most = rng.choice([1, 2, 3, 1 + len(inner)])
        groups: dict[int, list[str]] = {}
        for i, id_ in enumerate(inner):
            groups.setdefault(i if most > len(inner) else rng.randrange(most), []).append(id_)
        try:
            physical_plan(application, list(groups.values()))
        except UserError:
            continue
        return list(groups.values())
    return [inner]


def _run_for_a_while(
    program: Program,
    plan: PhysicalPlan,
    code: Build,
    environment: Environment,
    rng: Random,
    state: JobState | None,
    is_last: bool,
) -> tuple[JobState, bool]:
    line = Line(program, plan, code.pieces, environment)
    sinks = SinkWriter(program, plan, environment, {})
    if state is None:
        sinks.restore(None)
    else:
        restore_state(state, plan, code.pieces, line, sinks)
    turns, number = rng.choice([1, 3, 7, 50]), 0 if state is None else state.batch
    batches = 10**9 if is_last else rng.randint(0, 4)
    has_ended = False
    while not has_ended and batches > 0:
        batch = line.run_batch(turns)
        assert batch is not None
        with gather(batch.rows) as arrived:
            sinks.write(arrived, number)
        has_ended, number, batches = batch.has_ended, number + 1, batches - 1
    taken = take_state(plan, code.pieces, line, sinks, number)
    line.close()
    sinks.close()
    return taken, has_ended


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
