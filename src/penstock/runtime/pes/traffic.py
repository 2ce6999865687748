"""The traffic of one task in one batch: what a PE's channel has sent to each channel behind it, and what that took.

Two things are counted. What a PE sends by its own edges is the communication graph of the application. What a task
passes on for others travels too, because the PEs of a query stand in one line: rows of all edges go from stage to
stage. Both together are what crosses an exchange.

A meter stands around what a task gives away. It reads the length of each value and, of the PE's own, the number of its
tuples; it decodes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from penstock.codegen.transport.batches import REPORT, TRAFFIC, values_as_rows
from penstock.profiler.clock import all_threads_ns
from penstock.runtime.pes.group_traffic import GroupMeter

Sent = dict[int, list[int]]
"""By channel of the receiver, how many tuples and how many bytes went there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTraffic:
    """What one task has sent in one batch.

    Attributes:
        pe: The PE that it is a channel of; of a source the first that it reads.
        channel: Which channel; of a source the number of the part that it reads.
        sent: By edge of the PE, what went to each channel of its consumer.
        passed: By channel, the bytes of other PEs that the task passed on, reports included.
        cpu_seconds: The processor time of the PE.
        state_bytes: The size of the state that the channel holds.
        executor: Spark's number of the executor that ran it; empty where the worker cannot tell.
        host: Of the executor.
        arrived: By key group, how many tuples have come, where that is asked for.
        between: From group to group: edge, group that came, group that left, tuples and bytes.
    """

    pe: int
    channel: int
    sent: dict[int, Sent] = field(default_factory=dict)
    passed: dict[int, int] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    state_bytes: int = 0
    executor: str = ""
    host: str = ""
    arrived: dict[int, int] = field(default_factory=dict)
    between: list[list[int]] = field(default_factory=list)

    @property
    def to_channels(self) -> dict[int, int]:
        """The bytes that leave for each channel, whoever they are from."""
        found = dict(self.passed)
        for sent in self.sent.values():
            for channel, (_, size) in sent.items():
                found[channel] = found.get(channel, 0) + size
        return found

    def encode(self) -> bytes:
        """The traffic as a value of a row."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()


def decode_traffic(value: bytes) -> TaskTraffic:
    """The traffic that is in a value.

    Example:
        >>> told = TaskTraffic(pe=1, channel=0, sent={4: {2: [10, 300]}}, passed={0: 50, 2: 1})
        >>> decode_traffic(told.encode()) == told, told.to_channels
        (True, {0: 50, 2: 301})
    """
    read = json.loads(value)
    sent = {int(e): {int(c): list(n) for c, n in by.items()} for e, by in read.pop("sent").items()}
    passed = {int(channel): size for channel, size in read.pop("passed").items()}
    arrived = {int(group): count for group, count in read.pop("arrived").items()}
    return TaskTraffic(**read, sent=sent, passed=passed, arrived=arrived)


class TrafficMeter:
    """Counts what a task gives away.

    Args:
        own: The edges that leave its PE.
        groups: Counts by key group, too, where that is asked for.
    """

    def __init__(self, own: Collection[int], groups: GroupMeter | None = None) -> None:
        self._own = frozenset(own)
        self.groups = groups
        self._cpu_ns = 0
        self.sent: dict[int, Sent] = {}
        self.passed: dict[int, int] = {}

    @property
    def cpu_seconds(self) -> float:
        """The processor time that was taken to make what was given away."""
        return self._cpu_ns / 1e9

    def metered(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows as they are, counted; the time between two of them is the PE's."""
        while True:
            began = all_threads_ns()
            batch = next(batches, None)
            self._cpu_ns += all_threads_ns() - began
            if batch is None:
                return
            self.count(batch)
            if self.groups is not None:
                self.groups.give(batch)
            yield batch

    def count(self, batch: pa.RecordBatch) -> None:
        """Count rows."""
        sizes = pc.binary_length(batch.column(2)).to_pylist()
        edges, channels = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        for row, (edge, channel, size) in enumerate(zip(edges, channels, sizes, strict=True)):
            if edge in self._own:
                counted = self.sent.setdefault(edge, {}).setdefault(channel, [0, 0])
                counted[0] += _tuples(batch.column(2)[row])
                counted[1] += size
            else:
                # A report goes where whatever has no channel goes.
                channel = 0 if edge == REPORT else channel
                self.passed[channel] = self.passed.get(channel, 0) + size

    def row(self, pe: int, channel: int, *, state_bytes: int = 0, executor: str = "", host: str = "") -> pa.RecordBatch:
        """What was counted, as a row that goes to the driver."""
        told = TaskTraffic(
            pe=pe,
            channel=channel,
            sent=self.sent,
            passed=self.passed,
            cpu_seconds=self.cpu_seconds,
            state_bytes=state_bytes,
            executor=executor,
            host=host,
            arrived={} if self.groups is None else self.groups.arrived,
            between=[] if self.groups is None else self.groups.rows(),
        )
        return values_as_rows(TRAFFIC, [told.encode()])


def _tuples(value: pa.BinaryScalar) -> int:
    """How many tuples an encoded value holds."""
    source = pa.BufferReader(value.as_buffer())
    with pa.ipc.open_stream(source) as header:
        header.read_all()
    with pa.ipc.open_stream(source) as tuples:
        return int(tuples.read_next_batch().num_rows)
