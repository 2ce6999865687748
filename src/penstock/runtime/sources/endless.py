"""Sources that make tuples for ever, as far as the text of a program tells."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.ir.expressions import Call, Expression, Literal, Unary
from penstock.ir.graph import Application, Operator
from penstock.ir.statements import While


def endless_sources(application: Application) -> Iterator[Operator]:
    """The sources that make tuples for ever, as far as their text tells: a Beacon without a count, an endless loop."""
    for operator in application.operators:
        if not operator.inputs and (_lacks_an_end(operator) or _has_endless_loop(operator)):
            yield operator


def _lacks_an_end(operator: Operator) -> bool:
    """Whether it has none of the parameters that would end it."""
    needed = operator.facts.never_ends_without
    return bool(needed) and not any(map(operator.param, needed))


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
