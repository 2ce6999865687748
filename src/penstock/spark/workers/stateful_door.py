"""A stateful PE's door to Spark, small enough to be carried around.

For each `transformWithState` Spark first asks the processor, in a process of its own, which state it has. This class is
pickled by value and imports what processes tuples when they come, so that process imports next to nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.routes import routing_of

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import TimerValues


def stateful_door(program: str, plan: PhysicalPlan, pe: int, initial: Path | None = None) -> StatefulProcessor:
    """The processor of a stateful PE for `transformWithState`; being local to a function, it is pickled by value.

    Args:
        program: The path of the pickled program.
        plan: Of the job.
        pe: The PE's index.
        initial: The folder with the state that channels begin with, where it is not an empty one.
    """
    start = None if initial is None else str(initial)
    mine = frozenset(edge.index for edge in plan.into(pe))
    # As bytes, because what is inside would be imported wherever it is unpickled.
    routing = pickle.dumps(routing_of(plan, pe))

    class Door(StatefulProcessor):
        """The state of each channel is a map of entries: a head, and the rows of its tables."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            """Open the state."""
            # One variable: each costs every task a few milliseconds.
            self.entries = handle.getMapState("entries", "name string", "data binary")

        def handleInputRows(
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
        ) -> Iterator[pd.DataFrame]:
            """Process a batch."""
            from penstock.spark.workers.instances import stateful_pe

            return stateful_pe(self.entries, rows, program, pe, mine, routing, start)

        def close(self) -> None:
            """Nothing is held open."""

    return Door()
