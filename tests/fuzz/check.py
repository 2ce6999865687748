"""Checks a seed, and tells in one text what a person needs to look into a difference."""

from __future__ import annotations

from penstock.base.diagnostics import UserError

from .compare import Difference, find_difference
from .generate import Size, generate
from .keyed import generate_keyed
from .program import FuzzProgram
from .setting import draw_faults, draw_setting
from .shrink import Case, shrink

SHRINKING_SECONDS = 3.0
"""How long a smaller program may run: where a statement is left out, a loop may not end."""


def check_seed(task: tuple[int, Size | None, bool]) -> tuple[int, str | None]:
    """A seed, and a report if its program means something else when it is compiled.

    Args:
        task: The seed; how large programs are, or None for programs whose state is in a store and in files, in which
            many things go wrong; whether what is reported is made small.
    """
    seed, size, shrinks = task
    case = _draw(seed, size)
    try:
        difference = find_difference(*case)
    except UserError as error:
        return seed, f"the program does not compile:\n{error}\n{case[0].text()}"
    if difference is None:
        return seed, None
    if shrinks:
        case = shrink(case, lambda smaller: differs_alike(smaller, difference))
        difference = _attempt(case) or difference
    return seed, report(seed, size, case, difference)


def _draw(seed: int, size: Size | None) -> Case:
    return (generate_keyed(seed), draw_faults(seed)) if size is None else (generate(seed, size), draw_setting(seed))


def report(seed: int, size: Size | None, case: Case, difference: Difference) -> str:
    """The program, how it was run, what both gave, and how to see it again."""
    how = "--state" if size is None else f"--timed {size.timed}"
    again = f"python -m tests.fuzz --seeds {seed} {how}"
    return f"{difference.kind}: {difference.details}\n{text_of(case)}again: {again}\n"


def describe(seed: int, size: Size | None) -> str:
    """The program of a seed, and how it is run."""
    return text_of(_draw(seed, size))


def text_of(case: tuple[FuzzProgram, object]) -> str:
    """A program, what it reads, and how it is run."""
    program, setting = case
    files = "".join(f"-- {name}\n" + "".join(f"{line}\n" for line in lines) for name, lines in program.files.items())
    return f"{program.text()}{files}{setting}\n"


def differs_alike(case: Case, difference: Difference) -> bool:
    """Whether a case shows a difference of the same kind."""
    found = _attempt(case)
    return found is not None and found.kind == difference.kind


def _attempt(case: Case) -> Difference | None:
    try:
        return find_difference(*case, limit=SHRINKING_SECONDS)
    except UserError:
        return None
