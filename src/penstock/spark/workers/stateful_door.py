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
from penstock.spark.workers.state_mark import StateMark

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import TimerValues


def stateful_door(
    program: str,
    plan: PhysicalPlan,
    pe: int,
    initial: Path | None = None,
    large: str | None = None,
    limit: int | None = None,
    mark: StateMark | None = None,
    *,
    metered: bool = False,
) -> StatefulProcessor:
    """The processor of a stateful PE for `transformWithState`; being local to a function, it is pickled by value.

    Args:
        program: The address of the pickled program.
        plan: Of the job.
        pe: The PE's index.
        initial: The folder with the state that channels begin with, where it is not an empty one.
        large: Where rows go that are too many to be sent to the driver, if they are for it.
        limit: How many bytes of state a channel may hold.
        mark: What the state must have been written under, where no checkpoint of ours says it.
        metered: Whether each task tells what it has sent.
    """
    start = None if initial is None else str(initial)
    mine = frozenset(edge.index for edge in plan.into(pe))
    # As bytes, because what is inside would be imported wherever it is unpickled.
    routing = pickle.dumps(routing_of(plan, pe))
    marked = None if mark is None else pickle.dumps(mark)
    by_group = plan.meters_groups
    columns = "data binary" if mark is None else f"data binary, {mark.column}"

    class Door(StatefulProcessor):
        """The state of each channel is a map of entries: a head, and the rows of its tables."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            """Open the state."""
            # One variable: each costs every task a few milliseconds.
            self.entries = handle.getMapState("entries", "name string", columns)

        def handleInputRows(
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
        ) -> Iterator[pd.DataFrame]:
            """Process a batch."""
            from penstock.spark.workers.instances import stateful_pe

            how = (start, large, limit, marked, metered, by_group)
            return stateful_pe(self.entries, rows, program, pe, mine, routing, *how)

        def close(self) -> None:
            """Nothing is held open."""

    return Door()
