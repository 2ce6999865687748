"""`@parallel` of SPL: an instruction about the number of channels, where the operator is safe to replicate.

Penstock finds regions without annotations, and an annotation does not make an operator safe: `@parallel` on an operator
that must stay sequential is not followed, and the user is told why. Inside composites that are themselves annotated
the widths multiply, as in SPL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.expressions import Expression
from penstock.ir.graph import Annotation, Operator
from penstock.parallel.reasons import Reason

PARALLEL = "parallel"


def widths_of(operator: Operator) -> tuple[Expression, ...]:
    """The widths that annotations ask for, those of the operator first, then of the composites around it.

    Example:
        >>> from penstock.expr.typing import literal
        >>> from penstock.ir.graph import Param
        >>> wide = Annotation(name="parallel", arguments=(Param(name="width", values=(literal(4),)),))
        >>> [w.value for w in widths_of(Operator(id="A", kind="Functor", annotations=(wide,)))]
        [4]
    """
    instructions = (a for a in operator.annotations if a.name == PARALLEL)
    return tuple(value for a in instructions for value in _argument(a, "width"))


def is_instructed(operator: Operator) -> bool:
    """Whether an annotation asks for the operator to be parallel."""
    return any(a.name == PARALLEL for a in operator.annotations)


def channels(widths: Iterable[Expression], evaluate: Callable[[Expression], Any]) -> int | None:
    """The number of channels that a region's instructions ask for; None without instructions.

    Args:
        widths: Of the region.
        evaluate: Gives the value of a constant expression, which may be a submission-time value.

    Raises:
        UserError: A width is not a positive integer.

    Example:
        >>> from penstock.expr.typing import literal
        >>> channels([literal(4), literal(2)], lambda width: width.value)
        8
    """
    values = [(width, evaluate(width)) for width in widths]
    wrong = [(w, v) for w, v in values if not isinstance(v, int) or isinstance(v, bool) or v < 1]
    if wrong:
        hint = "give a positive integer"
        raise UserError(Diagnostic(message=f"`width` of @parallel is {v}", span=w.span, hint=hint) for w, v in wrong)
    return prod(v for _, v in values) if values else None


def not_followed(operator: Operator, reasons: tuple[Reason, ...]) -> Diagnostic:
    """The warning about an instruction that would change the program's results."""
    because = "; ".join(reason.text for reason in reasons)
    message = f"`@parallel` on `{operator.id}` is not followed, because {because}"
    return Diagnostic(message=message, span=operator.span, hint="it runs on one channel")


def _argument(annotation: Annotation, name: str) -> tuple[Expression, ...]:
    return next((a.values for a in annotation.arguments if a.name == name), ())
