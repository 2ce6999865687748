"""Tells the gate behind the sources (`source_gate`) what only time tells: that partitions give nothing more.

Spark makes a batch when a source has something new, so a topic on which nothing comes would let no time pass. This
source has a row for the gate now and then. In a run that goes on for ever it says, once a second, what time it is on
the wall. In a run until everything is done it says which partitions have been read to the end that they had when the
run started.

What a row says stands in its offset, which Spark stores, so a batch that comes again is the same. How far Spark has
read the topics is in Spark's own log of offsets, which is written before each batch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from penstock.spark.sources.admission import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "penstock_clock"

TICK_SECONDS = 1.0
LOOK_SECONDS = 0.05
"""How long to wait where there is nothing to say: Spark asks again at once."""

Offset = dict[str, Any]
"""`tick`: the number of rows so far; `now_ns`: the time on the wall; `ended`: the lanes that have come to their end."""

Positions = dict[str, dict[str, int]]
"""By topic and partition the offset of the next message."""


class ClockReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says what time it is, or what has ended.

    Args:
        options: `continuous`; or `offsets`, the folder of Spark's log, `sources`, as JSON a pair of order and topics
            for each source that reads Kafka, `ends`, as JSON by topic and partition where the run ends; and
            `began`, where the query began.
    """

    def __init__(self, options: dict[str, str]) -> None:
        self._is_continuous = options.get("continuous") == "true"
        self._offsets = Path(options.get("offsets", ""))
        self._sources: list[tuple[int, list[str]]] = json.loads(options.get("sources", "[]"))
        self._began: Positions = json.loads(options.get("began", "{}"))
        self._ends: Positions = json.loads(options.get("ends", "{}"))
        self._told: list[list[int]] = []

    def initialOffset(self) -> Offset:
        """Nothing has been said."""
        return {"tick": 0, "now_ns": 0, "ended": []}

    def prepareForTriggerAvailableNow(self) -> None:
        """Where the run ends is known already."""

    def getDefaultReadLimit(self) -> ReadLimit:
        """A row at a time."""
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """One more row, if there is anything to say."""
        return self._time(start) if self._is_continuous else self._ended(start)

    def _ended(self, start: Offset) -> Offset:
        read = {**self._began, **positions(self._offsets)}
        found = [
            [order, lane]
            for order, topics in self._sources
            for topic in topics
            for lane, partition in lanes_of(topic, topics, self._ends.get(topic, {}))
            if read.get(topic, {}).get(partition, -1) >= self._ends[topic][partition]
        ]
        if found == self._told:
            return start
        self._told = found
        return {"tick": start["tick"] + 1, "now_ns": 0, "ended": found}

    def _time(self, start: Offset) -> Offset:
        now_ns = time.time_ns()
        # A clock on the wall that was set back says nothing until it has come to where it was.
        if now_ns - start["now_ns"] < TICK_SECONDS * 1e9:
            time.sleep(LOOK_SECONDS)
            return start
        return {"tick": start["tick"] + 1, "now_ns": now_ns, "ended": []}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """One row, for the last offset."""
        return [InputPartition({"now_ns": end["now_ns"]} if end["now_ns"] else {"ended": end["ended"]})]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The row."""
        from penstock.codegen.transport.batches import values_as_rows
        from penstock.spark.gate.source_gate import CLOCK

        yield values_as_rows(CLOCK, [json.dumps(partition.value).encode()])


def lanes_of(topic: str, topics: Sequence[str], partitions: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """The lanes of the partitions of a topic, one of those that a source reads, with the partitions.

    Example:
        >>> list(lanes_of("b", ["b", "a"], {"0": 7, "3": 9}))
        [(1, '0'), (7, '3')]
    """
    known = sorted(topics)
    return ((int(partition) * len(known) + known.index(topic), partition) for partition in partitions)


def positions(folder: Path) -> Positions:
    """How far Kafka has been read by all of Spark's sources together, by the last batch that Spark has logged."""
    numbers = [int(path.name) for path in folder.glob("[0-9]*") if path.name.isdecimal()]
    if not numbers:
        return {}
    lines = (folder / str(max(numbers))).read_text(encoding="utf-8").splitlines()
    return furthest_behind(dict(_offsets_in(line)) for line in lines)


def furthest_behind(read: Iterable[Positions]) -> Positions:
    """How far several sources have come together.

    Example:
        >>> furthest_behind([{"a": {"0": 7}}, {"a": {"0": 4, "1": 1}}])
        {'a': {'0': 4, '1': 1}}
    """
    found: Positions = {}
    for own in read:
        for topic, partitions in own.items():
            known = found.setdefault(topic, {})
            for partition, offset in partitions.items():
                known[partition] = min(offset, known.get(partition, offset))
    return found


def _offsets_in(line: str) -> Iterator[tuple[str, dict[str, int]]]:
    """The positions by topic, if a line of the log is of a source that reads Kafka."""
    try:
        value = json.loads(line)
    except ValueError:
        return
    for topic, partitions in value.items() if isinstance(value, dict) else ():
        if isinstance(partitions, dict) and partitions and all(map(str.isdecimal, partitions)):
            yield topic, partitions
