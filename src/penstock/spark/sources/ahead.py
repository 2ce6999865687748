"""Plans the next batch while Spark processes the last one.

Where sources run turn by turn, planning a batch takes about as long as processing it. The process in which batches are
planned has nothing else to do meanwhile, so it goes on with the next one in a thread. What is planned goes to the log,
where a batch that Spark has not asked for yet is as good as one that was planned before a crash.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ahead:
    """At most one batch that is being planned.

    Example:
        >>> ahead, done = Ahead(), []
        >>> ahead.begin(lambda: done.append("batch 1"))
        >>> ahead.wait()
        >>> done
        ['batch 1']
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def begin(self, plan: Callable[[], object]) -> None:
        """Plan in a thread of its own; one that hangs does not keep the process from ending."""

        def work() -> None:
            try:
                plan()
            except Exception as error:
                self._error = error

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the batch is planned, if one is being planned.

        Raises:
            Exception: What went wrong when it was planned.
        """
        if self._thread is None:
            return
        self._thread.join()
        self._thread, error, self._error = None, self._error, None
        if error is not None:
            raise error
