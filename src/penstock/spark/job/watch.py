"""Waits for a query: tells of each batch, and stops it between two batches.

Ctrl-C, and the end of the time that was asked for, let the batch in hand finish and be committed. A second Ctrl-C does
not wait; the batch in hand is then processed again when the job is resumed, and changes nothing twice.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.runtime.progress import Notice, Progress

LOOK_SECONDS = 0.2


class Interrupt:
    """Counts how often the user has asked to stop."""

    def __init__(self, notice: Notice) -> None:
        self.count = 0
        self._notice = notice

    def __call__(self, *_: object) -> None:
        """Take a signal."""
        self.count += 1
        if self.count == 1:
            self._notice("stopping after this batch; press Ctrl-C again to stop at once")

    @contextmanager
    def handling(self) -> Iterator[None]:
        """In the main thread, take the place of Spark's own handler, which would cancel the batch."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def watch(
    query: Any,
    on_progress: Progress,
    notice: Notice,
    *,
    seconds: float | None = None,
    stops: Callable[[], int] = lambda: 0,
    on_stop: Callable[[], None] = lambda: None,
    check: Callable[[], None] = lambda: None,
) -> str:
    """Wait until the query ends, the user interrupts it, or so many seconds have passed.

    Args:
        query: That runs.
        on_progress: Is told of every batch.
        notice: Is told what the user should know at once.
        seconds: When to stop.
        stops: How often somebody else than the user at the terminal has asked to stop; the second time at once.
        on_stop: Is called when the query is to stop behind the batch in hand.
        check: Is called again and again, and raises what the query does not notice.

    Returns:
        `done`, `interrupted` or `time`.
    """
    watcher = _Watcher(query, on_progress)
    until = None if seconds is None else time.monotonic() + seconds
    interrupt = Interrupt(notice)
    with interrupt.handling():
        while not watcher.has_ended():
            check()
            if interrupt.count + stops():
                on_stop()
                watcher.stop_at_boundary(lambda: interrupt.count + stops() > 1)
                return "interrupted"
            if until is not None and time.monotonic() >= until:
                on_stop()
                watcher.stop_at_boundary(lambda: interrupt.count + stops() > 0)
                return "time"
    watcher.tell()
    return "done"


def sources_have_ended(progress: Mapping[str, Any]) -> bool:
    """Whether every source says, in the offset behind its last batch, that nothing follows.

    Example:
        >>> sources_have_ended({"sources": [{"endOffset": '{"batch": 3, "ended": 1}'}]})
        True
    """
    offsets = [source.get("endOffset") for source in progress["sources"]]
    read = [json.loads(offset) if isinstance(offset, str) else offset for offset in offsets]
    return all(isinstance(offset, dict) and offset.get("ended") for offset in read)


class _Watcher:
    def __init__(self, query: Any, on_progress: Progress) -> None:
        self._query = query
        self._on_progress = on_progress
        self._seen = -1

    def has_ended(self) -> bool:
        """Wait a moment, and tell of what has happened meanwhile; a query whose sources have all ended is stopped."""
        if self._query.awaitTermination(LOOK_SECONDS):
            return True
        self.tell()
        latest = self._query.lastProgress
        if latest is None or not sources_have_ended(latest):
            return False
        if not self._query.status["isTriggerActive"]:
            self._query.stop()
        return bool(self._query.awaitTermination(LOOK_SECONDS))

    def tell(self) -> None:
        """Tell of the batches since the last time."""
        last = self._query.lastProgress
        if last is None or last["batchId"] <= self._seen:
            return
        for latest in self._query.recentProgress:
            if latest["batchId"] > self._seen and latest["numInputRows"]:
                self._seen = latest["batchId"]
                self._on_progress(dict(latest))

    def stop_at_boundary(self, is_impatient: Callable[[], bool]) -> None:
        """Let the batch in hand be committed, then stop."""
        before = self._seen
        while self._query.status["isTriggerActive"] and self._seen == before and not is_impatient():
            if self.has_ended():
                return
        self._query.stop()
