"""How checks fail: with a message at a place, or silently where the message has been given before."""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostic, Span, UserError


def error(message: str, span: Span, hint: str | None = None) -> UserError:
    """A mistake at a place."""
    return UserError(Diagnostic(message=message, span=span, hint=hint))


def silent() -> UserError:
    """An error without a message, for a name that is reported as wrong already."""
    return UserError(())
