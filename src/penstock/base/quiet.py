"""Standard output is for answers: what libraries in C print there is dropped."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.RLock()
_LIBRARY = ctypes.CDLL(None)


@contextmanager
def drop_output() -> Iterator[None]:
    """Drop what is written to file descriptor 1 meanwhile, by whatever means.

    C's own buffer is flushed on both sides: text that a library has only buffered would otherwise appear at the end of
    the program, behind or before the answer.
    """
    with _LOCK:
        try:
            kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        except OSError:
            yield
            return
        _flush()
        os.dup2(nowhere, 1)
        try:
            yield
        finally:
            _flush()
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()
    _LIBRARY.fflush(None)
