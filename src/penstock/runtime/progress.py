"""The callbacks of a run: its progress batch by batch, and notices for the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.ir.graph import Application
from penstock.runtime.sinks.writer import Totals

Progress = Callable[[dict[str, Any]], None]
"""Is told of every batch: `batchId`, `batchDuration` in milliseconds, `totals` so far."""

Notice = Callable[[str], None]
"""Is told what the user should know at once."""


class LateTuples:
    """Warns of each operator whose tuples have come late, once.

    Args:
        notice: Tells the user.
        application: Of the run; an operator with a port for late tuples sends them there, others process them.
    """

    def __init__(self, notice: Notice, application: Application) -> None:
        self._notice = notice
        self._aside = {o.id for o in application.operators if o.facts.late_port is not None}
        self._told: set[str] = set()

    def look(self, totals: Totals) -> None:
        """Look at the totals after a batch."""
        for id_ in sorted(totals.late.keys() - self._told):
            if id_ in self._aside:
                self._notice(f"warning: tuples came too late for `{id_}`: they leave by its second output")
            else:
                self._notice(f"warning: tuples of `{id_}` came late: they stand at the time that the clock had come to")
            self._told.add(id_)
