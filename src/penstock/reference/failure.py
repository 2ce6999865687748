"""The error that ends a run, and the signal that stops one."""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostic, PenstockError, UserError
from penstock.expr.errors import EvaluationError
from penstock.ir.graph import Operator


class OperatorFailed(UserError):
    """An operator could not process a tuple, and its policy is to fail.

    Attributes:
        operator: The operator's id.
        record: The tuple in text form, or the record that could not be read; none if there was none.
        reason: What went wrong.
    """

    def __init__(self, operator: Operator, reason: str, record: str | None = None) -> None:
        what = f"operator `{operator.id}` ({operator.kind}) failed"
        on = "" if record is None else f" on {record}"
        super().__init__(Diagnostic(message=f"{what}{on}: {reason}", span=operator.span))
        self.operator = operator.id
        self.record = record
        self.reason = reason


class Stop(BaseException):
    """Unwinds a source that is being stopped in the middle of its code; no operator may catch it."""


def reason_of(error: BaseException) -> str:
    """The reason of an exception, for a person.

    Example:
        >>> reason_of(ZeroDivisionError("division by zero")), reason_of(KeyError("x"))
        ('ZeroDivisionError: division by zero', "KeyError: 'x'")
    """
    if isinstance(error, UserError):
        return "; ".join(d.message if d.hint is None else f"{d.message}; {d.hint}" for d in error.diagnostics)
    if isinstance(error, PenstockError | EvaluationError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
