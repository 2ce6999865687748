"""Runs a program on the local engine, and changes its fusion, channels, key tables and batch size while it runs.

Between two plans nothing is left but a savepoint, and the files of the sinks. As a program it tries many seeds::

    python tests/changing_plans.py timed|keyed|hostile|fixtures COUNT [--start SEED]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
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
from penstock.reference import run
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.savepoint_files import Savepoint, read_savepoint, write_savepoint
from penstock.runtime.sinks.writer import SinkWriter, gather
from penstock.toolkit.core.program import Program
from plan_runner import take_letters


def run_changing(
    program: Program, environment: Environment, rng: Random, changes: int
) -> tuple[list[PhysicalPlan], JobState]:
    """Run until all sources have ended; returns the plans that it had, and the last state."""
    plans: list[PhysicalPlan] = []
    state: JobState | None = None
    has_ended = False
    while not has_ended:
        is_last = len(plans) > changes
        plan, code = draw_plan(program, rng)
        plans.append(plan)
        state, has_ended = _run_for_a_while(program, plan, code, environment, rng, state, is_last)
        state = through_files(state, program.application)
    assert state is not None
    return plans, state


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


def assert_equal_while_plans_change(program: Program, data: Path, folder: Path, rng: Random, changes: int = 3) -> None:
    """Every sink gets what the reference gives it, in the same order, whatever changes meanwhile."""
    with _environment(data, folder / "reference") as environment:
        told = run(program, environment=environment)
    with _environment(data, folder / "changing") as environment:
        plans, state = run_changing(program, environment, rng, changes)
        letters = take_letters(environment)
    found, wanted = _files(folder / "changing"), _files(folder / "reference")
    shown = [([pe.operators for pe in plan.pes], plan.channels) for plan in plans]
    assert found == wanted, shown
    assert sorted(map(str, letters)) == sorted(map(str, told.dead_letters)), shown
    assert state.totals["expired"] == told.expired, shown


@contextmanager
def _environment(data: Path, out: Path) -> Iterator[Environment]:
    """The environment of a run; what it prints becomes a file like those that it writes."""
    out.mkdir(exist_ok=True)
    with (out / "printed").open("w") as printed:
        yield Environment(data_directory=data, output_directory=out, application_directory=data, stdout=printed)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _programs(kind: str, seeds: range) -> Iterator[tuple[object, Callable[[], Program], Path]]:
    """Programs of a kind: what to call each, how to make it, and its data."""
    from penstock.lang import compile_text

    if kind == "timed":
        from timed_programs import timed_program

        yield from ((seed, partial(compile_text, timed_program(seed)), Path()) for seed in seeds)
    elif kind == "keyed":
        from keyed_programs import draw_program

        yield from ((seed, partial(draw_program, Random(seed)), Path()) for seed in seeds)
    elif kind == "hostile":
        for seed in seeds:
            with tempfile.TemporaryDirectory() as data:
                program = hostile_program(seed, Path(data))
                if program is not None:
                    yield seed, partial(_same, program), Path(data)
    else:
        folder = Path(__file__).parent / "fixtures" / "spl" / "valid"
        for path in sorted(folder.glob("*.spl")):
            for seed in seeds:
                yield (path.stem, seed), partial(compile_text, path.read_text(), path=path.name), folder / "data"


def _same(program: Program) -> Program:
    return program


def hostile_program(seed: int, data: Path) -> Program | None:
    """A random program whose keys come and go, with times to live and keys of every type; none if it fails."""
    from fuzz.execute import compile_program, run_reference, write_files
    from fuzz.keyed import generate_keyed

    drawn = generate_keyed(seed)
    write_files(drawn, data)
    program = compile_program(drawn)
    return program if run_reference(program, data).error is None else None


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["timed", "keyed", "hostile", "fixtures"])
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=0)
    given = parser.parse_args()
    failed = tried = 0
    for name, make, data in _programs(given.kind, range(given.start, given.start + given.count)):
        tried += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                assert_equal_while_plans_change(make(), data, Path(folder), Random(str(name)))
            except Exception as error:
                failed += 1
                print(name, type(error).__name__, str(error)[:500], flush=True)
    print(f"{tried} runs, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent / "equivalence"))
    sys.exit(_main())
