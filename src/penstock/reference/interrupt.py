"""Ctrl-C during a run: the first asks for an orderly stop, the second ends the program as usual."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on the first Ctrl-C instead of raising; only the main thread can ask for this.

    Example:
        >>> import os
        >>> seen = []
        >>> with on_interrupt(lambda: seen.append("stop")):
        ...     os.kill(os.getpid(), signal.SIGINT)
        >>> seen
        ['stop']
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
