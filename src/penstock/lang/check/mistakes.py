"""How checks fail: with a message at a place, or silently where the message has been given before."""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostic, Span, UserError

EVENT_TIME = (
    "windows by event time are operators: EventOrder puts a stream in the order of a time, "
    "EventWindows closes windows, EventAggregate computes them"
)
"""What to do instead of SPL's own windows by event time."""


def error(message: str, span: Span, hint: str | None = None) -> UserError:
    """A mistake at a place."""
    return UserError(Diagnostic(message=message, span=span, hint=hint))


def silent() -> UserError:
    """An error without a message, for a name that is reported as wrong already."""
    return UserError(())
