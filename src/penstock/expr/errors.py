"""Errors in the evaluation of an expression."""

from __future__ import annotations


class EvaluationError(Exception):
    """A value has no answer: an integer divided by zero, an index out of range, a missing key, null unwrapped.

    What follows is the operator's error policy. In a vectorised evaluation, `row` is the position of the first row
    on which the expression fails.

    Example:
        >>> raise EvaluationError("division by zero")
        Traceback (most recent call last):
        penstock.expr.errors.EvaluationError: division by zero
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
