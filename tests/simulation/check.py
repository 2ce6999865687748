"""Checks the history of a seed, and tells in one text what a person needs to look into a difference."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from fuzz.check import SHRINKING_SECONDS, text_of
from fuzz.compare import LIMIT_SECONDS, Difference, find_difference
from fuzz.execute import Outcome
from fuzz.generate import Size, generate
from fuzz.program import FuzzProgram
from fuzz.shrink import shrink
from penstock.base.diagnostics import UserError
from penstock.toolkit.core.program import Program

from .history import History, draw_history, simpler_histories
from .job import run_simulated

SIZE = Size(sources=2, operators=5, items=14, fails=False)
"""How large programs are: what happens to them costs more than they do."""

PATIENCE_SECONDS = 0.5
"""How long the sequential run of a program may take; some make millions of tuples."""

Case = tuple[FuzzProgram, History]


def check_seed(task: tuple[int, bool]) -> tuple[int, str | None]:
    """A seed, and a report if a sink does not hold what the reference gives it.

    Args:
        task: The seed, and whether what is reported is made small.
    """
    seed, shrinks = task
    case = draw_case(seed)
    difference = find(case)
    if difference is None:
        return seed, None
    if shrinks:
        case = shrink(case, partial(differs_alike, difference=difference), simpler_histories)
        difference = _attempt(case) or difference
    return seed, f"{difference.kind}: {difference.details}\n{text_of(case)}again: {_command(seed)}\n"


def draw_case(seed: int) -> Case:
    """The program and the history of a seed."""
    return generate(seed, SIZE), draw_history(seed)


def describe(seed: int) -> str:
    """The program of a seed, and what happens to it."""
    return text_of(draw_case(seed))


def find(case: Case, limit: float = LIMIT_SECONDS) -> Difference | None:
    """The difference between what a history leaves and what the reference gives.

    Raises:
        UserError: The program does not compile.
    """
    return find_difference(*case, limit=limit, run=_run, patience=PATIENCE_SECONDS)


def differs_alike(case: Case, difference: Difference) -> bool:
    """Whether a case shows a difference of the same kind."""
    found = _attempt(case)
    return found is not None and found.kind == difference.kind


def _run(program: Program, data: Path, history: History) -> Outcome:
    with tempfile.TemporaryDirectory() as root:
        return run_simulated(program, data, history, Path(root))


def _attempt(case: Case) -> Difference | None:
    try:
        return find(case, limit=SHRINKING_SECONDS)
    except UserError:
        return None


def _command(seed: int) -> str:
    return f"python -m tests.simulation --seeds {seed}"
