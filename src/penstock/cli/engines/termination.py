"""SIGTERM during a run: an orderly stop with exit status 0, as whoever operates a service expects."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from penstock.base.diagnostics import PenstockError, UserError


@dataclass(slots=True)
class Termination:
    """Whether somebody has asked the process to terminate."""

    is_asked: bool = False

    def take(self, number: int, frame: FrameType | None) -> None:
        """Take the signal: what Ctrl-C would do now, whichever engine runs."""
        self.is_asked = True
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)


@contextmanager
def stop_on_sigterm() -> Iterator[Termination]:
    """Take SIGTERM as a Ctrl-C that was meant kindly; only the main thread can ask for this.

    Raises:
        UserError: Others have ended with the same signal, such as Spark's Java, before the batch in hand was done.

    Example:
        >>> import os
        >>> with stop_on_sigterm() as termination:
        ...     try:
        ...         os.kill(os.getpid(), signal.SIGTERM)
        ...     except KeyboardInterrupt:
        ...         termination
        Termination(is_asked=True)
    """
    termination = Termination()
    if threading.current_thread() is not threading.main_thread():
        yield termination
        return
    before = signal.signal(signal.SIGTERM, termination.take)
    try:
        yield termination
    except PenstockError:
        raise
    except Exception as error:
        if not termination.is_asked:
            raise
        raise UserError(
            "SIGTERM has ended Spark, too, before the batch in hand was done; what is committed stays",
            hint="start the job again with the same --checkpoint; the next time end this process alone "
            "(with systemd `KillMode=mixed`)",
        ) from error
    finally:
        signal.signal(signal.SIGTERM, before)
