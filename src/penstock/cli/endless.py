"""What to know of a run that does not end by itself."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.ir.expressions import Call, Expression, Literal, Unary
from penstock.ir.graph import Application, Operator
from penstock.ir.statements import While

HOW_TO_STOP = "stop it with Ctrl-C, or give --for SECONDS"
NAMES_PER_BATCH = 100
"""How many names of files a batch gives to a FileSource: each of them is a whole file."""
TUPLES_PER_BATCH = 200_000


def endless_sources(application: Application) -> Iterator[Operator]:
    """The sources that make tuples for ever, as far as their text tells: a Beacon without a count, an endless loop."""
    for operator in application.operators:
        if not operator.inputs and (_is_endless_beacon(operator) or _has_endless_loop(operator)):
            yield operator


def _is_endless_beacon(operator: Operator) -> bool:
    return operator.kind == "Beacon" and not operator.param("iterations")


def _has_endless_loop(operator: Operator) -> bool:
    if operator.logic is None or operator.logic.on_process is None:
        return False
    return any(isinstance(s, While) and _holds_always(s.test) for s in operator.logic.statements())


def _holds_always(test: Expression) -> bool:
    """Whether a condition is `true` or `!isShutdown()`."""
    if isinstance(test, Literal):
        return test.value is True
    if not isinstance(test, Unary) or test.operator != "!":
        return False
    return isinstance(test.operand, Call) and test.operand.function == "isShutdown"


def describe_end(application: Application, can_have_more: bool) -> str | None:
    """A notice for a run without an end; None if it ends by itself."""
    names = ", ".join(f"`{operator.id}`" for operator in endless_sources(application))
    if names:
        return f"this run has no end, because {names} makes tuples for ever; {HOW_TO_STOP}"
    return f"this run goes on as long as its sources may have more; {HOW_TO_STOP}" if can_have_more else None


def choose_batch(application: Application, batch: int | None) -> int:
    """How many tuples sources give for one batch: as the user says, or so many that a batch is done in seconds."""
    if batch is not None:
        return batch
    reads_names = any(o.kind == "FileSource" and o.inputs for o in application.operators)
    return NAMES_PER_BATCH if reads_names else TUPLES_PER_BATCH
