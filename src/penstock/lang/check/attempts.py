"""Checks that may fail one by one, so that a mistake in one part of an invocation does not hide those in the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.base.diagnostics import Diagnostics, UserError

T = TypeVar("T")


class Attempts:
    """Collects the mistakes of several checks.

    Attributes:
        found: The mistakes.
        failed: Whether a check failed; it may do so without a message, where the mistake has been reported before.

    Example:
        >>> attempts = Attempts()
        >>> def check(text):
        ...     raise UserError(f"`{text}` is wrong")
        >>> attempts.of(check, "a") is None
        True
        >>> [d.message for d in attempts.found]
        ['`a` is wrong']
    """

    def __init__(self) -> None:
        self.found = Diagnostics()
        self.failed = False

    def of(self, check: Callable[..., T], *arguments: object) -> T | None:
        """The result of a check; None after taking its mistakes."""
        try:
            return check(*arguments)
        except UserError as problem:
            self.found.extend(problem)
            self.failed = True
            return None

    def __bool__(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.failed or self.found)
