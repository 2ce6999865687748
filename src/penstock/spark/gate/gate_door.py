"""The gate behind the sources on Spark (`source_gate`): one instance, whose state is in Spark's state store.

As with PEs (`stateful_door`), the class is pickled by value and imports what it needs when rows come.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark.sql.functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.spark.gate.source_gate import Gate, GatedSource, GateState, Row

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import MapState, TimerValues, ValueState


def gated(
    frame: DataFrame, sources: Sequence[GatedSource], *, continuous: bool, initial: Path | None = None
) -> DataFrame:
    """Rows of sources as they pass the gate; one task sees all of them.

    Args:
        frame: The rows.
        sources: All that the gate is for.
        continuous: Whether the run goes on when there is nothing new.
        initial: What the gate begins with, where it goes on from a savepoint.
    """
    grouped = frame.withColumn("slot", F.lit(0)).groupBy("slot")
    return grouped.transformWithStateInPandas(_door(sources, continuous, initial), SPARK_SCHEMA, "Append", "None")


def _door(sources: Sequence[GatedSource], continuous: bool, initial: Path | None) -> StatefulProcessor:
    start = None if initial is None else str(initial)
    # As bytes, because what is inside would be imported wherever it is unpickled.
    pickled = pickle.dumps(tuple(sources))

    class Door(StatefulProcessor):
        """Small state as one value, and each piece that waits by its number."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            """Open the state."""
            self.state = handle.getValueState("gate", "data binary")
            self.waiting = handle.getMapState("waiting", "number long", "edge int, channel int, tuples binary")

        def handleInputRows(
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
        ) -> Iterator[pd.DataFrame]:
            """Let a batch pass."""
            from penstock.spark.gate.gate_door import pass_batch

            return pass_batch(self.state, self.waiting, rows, pickled, continuous, start)

        def close(self) -> None:
            """Nothing is held open."""

    return Door()


def pass_batch(
    state: ValueState,
    waiting: MapState,
    frames: Iterator[pd.DataFrame],
    sources: bytes,
    continuous: bool,
    initial: str | None = None,
) -> Iterator[pd.DataFrame]:
    """The rows of a batch that pass the gate; its state is restored before and stored after."""
    import pandas as pd

    before = state.get()
    if before is not None:
        known = pickle.loads(before[0])
    elif initial is not None:
        known = _begin(waiting, Path(initial))
    else:
        known = GateState()
    gate = Gate(pickle.loads(sources), known, _Waiting(waiting), continuous=continuous)
    for passed in gate.take(_rows(frames)):
        if isinstance(passed, tuple):
            yield pd.DataFrame([passed], columns=["edge", "channel", "tuples"])
        else:
            yield passed.to_pandas()
    state.update((pickle.dumps(known, protocol=5),))


def _begin(waiting: MapState, initial: Path) -> GateState:
    """The state that a gate begins with; what waits is put into Spark's store."""
    from penstock.spark.gate.gate_memory import read_gate

    known, pieces = read_gate(initial)
    for number, row in pieces.items():
        waiting.updateValue((number,), row)
    return known


def _rows(frames: Iterator[pd.DataFrame]) -> Iterator[Row]:
    for frame in frames:
        for edge, channel, value in zip(frame["edge"], frame["channel"], frame["tuples"], strict=True):
            yield int(edge), int(channel), value


class _Waiting:
    """Pieces in a state of Spark's."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def put(self, number: int, row: Row) -> None:
        """Keep a piece."""
        self._state.updateValue((number,), row)

    def take(self, number: int) -> Row:
        """Give a piece back, and forget it."""
        found = self._state.getValue((number,))
        assert found is not None, "a piece waits until it is taken"
        self._state.removeKey((number,))
        edge, channel, value = found
        return int(edge), int(channel), bytes(value)
