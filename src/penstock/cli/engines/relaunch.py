"""Starting an application again after one of its operators has failed, as SPL restarts a PE."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.base.diagnostics import UserError
from penstock.ir.expressions import Expression, Literal, Symbol
from penstock.ir.graph import Application

R = TypeVar("R")

RELAUNCHES = 5
"""How often a program that asks for it is started again: as often as a consistent region of SPL is reset."""


def choose_relaunches(application: Application, given: int | None) -> int:
    """How often a run may be started again: as the user says, or as a restart policy in the program asks for.

    Example:
        >>> choose_relaunches(Application(name="Main"), None)
        0
    """
    if given is not None:
        return given
    asks = any(
        any(a.name == "consistent" for a in o.annotations)
        or any(c.name == "restartable" and any(map(_is_true, c.values)) for c in o.config)
        for o in application.operators
    )
    return RELAUNCHES if asks else 0


def _is_true(value: Expression) -> bool:
    return (isinstance(value, Literal) and value.value is True) or (isinstance(value, Symbol) and value.name == "true")


def run_again(run: Callable[[int], R], most: int, tell: Callable[[str], None]) -> R:
    """The outcome of a run, which is started again as long as an operator fails, at most so many times.

    Args:
        run: Is given how often it was started before.
        most: How often to start it again.
        tell: Is told of each failure.

    Raises:
        UserError: It failed once more, or not in an operator.
    """
    for count in range(most):
        try:
            return run(count)
        except UserError as problem:
            if not any(d.message.startswith("operator `") for d in problem.diagnostics):
                raise
            tell(f"{problem}\nstarting again ({count + 1} of at most {most})")
    return run(most)
