"""The callbacks of a run: its progress batch by batch, and notices for the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.sinks.writer import Totals

Progress = Callable[[dict[str, Any]], None]
"""Is told of every batch: `batchId`, `batchDuration` in milliseconds, `totals` so far."""

Notice = Callable[[str], None]
"""Is told what the user should know at once."""


class LateTuples:
    """Warns of each source whose tuples have come late, once."""

    def __init__(self, notice: Notice) -> None:
        self._notice = notice
        self._told: set[str] = set()

    def look(self, totals: Totals) -> None:
        """Look at the totals after a batch."""
        for source in totals.late.keys() - self._told:
            self._notice(f"warning: tuples of `{source}` came late: they stand at the time that the clock had come to")
            self._told.add(source)
