"""Programs with keyed operators mean the same in the reference, in process and on Spark, however they are cut."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from equivalence.keyed_programs import draw_program
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.reference import run
from penstock.toolkit.core.program import Program
from plan_runner import run_plan


def draw_fusion(rng: Random, application: Application) -> list[list[str]]:
    """All operators in one PE, each in its own, or those next to each other in the order of the graph."""
    ids = sorted(application.operator, key=application.rank.__getitem__)
    some = sorted(rng.sample(range(1, len(ids)), rng.randrange(len(ids) - 1)))
    cuts = rng.choice([[], list(range(1, len(ids))), some])
    return [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]


def written(go: Callable[[Environment], object]) -> dict[str, bytes] | None:
    """The files that a run writes; nothing if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        with contextlib.suppress(UserError):
            go(Environment(data_directory=out, output_directory=out))
            return {path.name: path.read_bytes() for path in out.iterdir()}
    return None


def cut_and_run(rng: Random, program: Program) -> dict[str, bytes] | None:
    fusion = draw_fusion(rng, program.application)
    plan = physical_plan(program.application, fusion, rng.choice([1, 1, 2, 3, 5]))
    turns = rng.choice([1, 2, 5, 20, 200])
    return written(lambda surroundings: run_plan(program, plan, surroundings, turns_per_batch=turns))


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_programs_drawn_at_random_mean_the_same_however_they_are_cut(start):
    for seed in range(start, start + 20):
        rng = Random(seed)
        program = draw_program(rng)
        wanted = written(lambda surroundings, made=program: run(made, environment=surroundings))
        assert cut_and_run(rng, program) == wanted, f"seed {seed}"
