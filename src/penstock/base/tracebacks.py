"""Tracebacks of mistakes in a user's program: the user's own lines and the message, without the frames of our code.

The command line prints the message alone, and notebooks do so by `_render_traceback_`. A script ends with Python's own
traceback, in which the one line that counts would stand below fifty of ours. An error that is a bug of ours keeps all
its frames. `PENSTOCK_TRACEBACKS=full` keeps them everywhere.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

from penstock.base.diagnostics import Infeasible, UserError

_HERE = str(Path(__file__).resolve().parent.parent) + os.sep


def hide_our_frames() -> None:
    """Let a script that ends with a mistake of its own show that without our frames."""
    earlier = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, UserError | Infeasible) and os.environ.get("PENSTOCK_TRACEBACKS") != "full":
            trace = _users_frames(trace)
            simplify_cause(error)
        earlier(kind, error.with_traceback(trace), trace)

    sys.excepthook = show


def simplify_cause(error: BaseException) -> None:
    """Leave of what led to an error only exceptions of the user's code, with the user's frames.

    Example:
        >>> try:
        ...     raise UserError("operator `f` failed") from KeyError("an inner one of ours")
        ... except UserError as error:
        ...     simplify_cause(error)
        ...     error.__cause__ is None, error.__suppress_context__
        (True, True)
    """
    cause, context = error.__cause__, None if error.__suppress_context__ else error.__context__
    led = cause or context
    if led is not None and _is_users(led):
        led.__traceback__ = _users_frames(led.__traceback__)
        simplify_cause(led)
    else:
        error.__cause__ = None  # which suppresses the context, too


def _is_users(error: BaseException) -> bool:
    """Whether an exception was raised by the user's code, or by what that called."""
    return not type(error).__module__.startswith("penstock") and _users_frames(error.__traceback__) is not None


def _users_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without our frames, and without those of code that we generate."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        file = frame.tb_frame.f_code.co_filename
        if not file.startswith((_HERE, "<PE ", "<penstock")):
            kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept
