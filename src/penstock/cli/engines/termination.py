"""SIGTERM during a run: an orderly stop with exit status 0, as whoever operates a service expects."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


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
    finally:
        signal.signal(signal.SIGTERM, before)
