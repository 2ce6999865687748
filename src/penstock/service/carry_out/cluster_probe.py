"""Whether the Spark master that jobs are to be started on is there: without it a start would fail, minutes later."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable

_FRESH_SECONDS, _PATIENCE_SECONDS = 2.0, 1.0
_ADDRESS = re.compile(r"(.+):(\d+)")


class ClusterProbe:
    """Asks whether any master of a URL accepts connections; the answer holds for a moment.

    Args:
        master: The URL; of masters that are not a standalone cluster's nothing is asked.
        now: The clock.

    Example:
        >>> ClusterProbe("local").is_there
        True
        >>> ClusterProbe("spark://127.0.0.1:1").is_there
        False
    """

    def __init__(self, master: str, now: Callable[[], float] = time.monotonic) -> None:
        self.master = master
        found = re.sub("^spark://", "", master).split(",") if master.startswith("spark://") else []
        self._addresses = [(m[1].strip("[]"), int(m[2])) for a in found if (m := _ADDRESS.fullmatch(a))]
        self._now, self._asked_at, self._answer = now, -_FRESH_SECONDS, True

    @property
    def is_there(self) -> bool:
        """Whether jobs can be started."""
        if self._addresses and self._now() - self._asked_at >= _FRESH_SECONDS:
            self._answer = any(_accepts(*address) for address in self._addresses)
            self._asked_at = self._now()
        return self._answer


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), _PATIENCE_SECONDS):
            return True
    except (OSError, OverflowError):
        return False
