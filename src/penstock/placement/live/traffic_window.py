"""A window over what tasks have told, batch by batch; it forgets what is older than so many batches.

Of what it holds the newest counts the most, so that load that drifts shows after a few batches.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.placement.live.channel_graph import ChannelGraph, Task
from penstock.runtime.pes.traffic import TaskTraffic

BATCHES = 20
"""How many batches the window holds."""

HALF_LIFE = 4
"""A batch counts half as much as one that is so many batches newer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The PEs of a query, as they stand behind one another.

    Attributes:
        pes: All but sources and sinks, in order.
        sources: The PEs that read.
        consumers: From edge to the PE that it leads to.
    """

    pes: tuple[int, ...]
    sources: frozenset[int]
    consumers: Mapping[int, int]

    def next_of(self, pe: int) -> int | None:
        """The PE behind one; None behind the last, whose rows go to the driver."""
        if pe in self.sources:
            return self.pes[0] if self.pes else None
        at = self.pes.index(pe) + 1
        return self.pes[at] if at < len(self.pes) else None


class TrafficWindow:
    """The traffic of the last batches.

    Args:
        line: The PEs of the job.
        batches: How many are remembered.

    Example:
        >>> line = Line(pes=(1, 2), sources=frozenset([0]), consumers={5: 2})
        >>> window = TrafficWindow(line)
        >>> window.add([TaskTraffic(pe=1, channel=0, sent={5: {1: [10, 400]}}, passed={1: 100}, cpu_seconds=0.5)])
        >>> window.graph().flows, window.graph().tuples
        ({((1, 0), (2, 1)): 500.0}, {(5, (1, 0), (2, 1)): (10.0, 400.0)})
    """

    def __init__(self, line: Line, batches: int = BATCHES) -> None:
        self._line = line
        self._batches: deque[Sequence[TaskTraffic]] = deque(maxlen=batches)
        self.homes: dict[Task, tuple[str, str]] = {}

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, traffic: Sequence[TaskTraffic]) -> None:
        """Take a batch; `homes` then says on which executor and host each task ran last."""
        self._batches.append(traffic)
        for task in traffic:
            if task.executor:
                self.homes[task.pe, task.channel] = task.executor, task.host

    def forget(self) -> None:
        """Begin anew, as after a change of what is measured."""
        self._batches.clear()

    def graph(self) -> ChannelGraph:
        """The communication graph, in the weighted mean of the batches; of state the newest size."""
        flows: defaultdict[tuple[Task, Task], float] = defaultdict(float)
        cpu: defaultdict[Task, float] = defaultdict(float)
        tuples: dict[tuple[int, Task, Task], tuple[float, float]] = {}
        state: dict[Task, int] = {}
        source_bytes = 0.0
        weights = [0.5 ** (age / HALF_LIFE) for age in range(len(self._batches))][::-1]
        shares = [weight / sum(weights) for weight in weights]
        counted = zip(self._batches, shares, strict=True)
        for told, share in ((task, share) for batch, share in counted for task in batch):
            here, behind = (told.pe, told.channel), self._line.next_of(told.pe)
            for edge, sent in told.sent.items():
                for channel, (number, size) in sent.items():
                    way = (edge, here, (self._line.consumers[edge], channel))
                    before = tuples.get(way, (0.0, 0.0))
                    tuples[way] = before[0] + number * share, before[1] + size * share
            if told.pe in self._line.sources:
                source_bytes += sum(told.to_channels.values()) * share
                continue
            cpu[here] += told.cpu_seconds * share
            state[here] = told.state_bytes
            if behind is not None:
                for channel, size in told.to_channels.items():
                    flows[here, (behind, channel)] += size * share
        place = {pe: i for i, pe in enumerate(self._line.pes)}
        tasks = {*cpu, *(end for pair in flows for end in pair)}
        return ChannelGraph(
            tasks=tuple(sorted(tasks, key=lambda task: (place[task[0]], task[1]))),
            flows=dict(flows),
            cpu_seconds=dict(cpu),
            state_bytes=state,
            tuples=tuples,
            source_bytes=source_bytes,
            batches=len(self._batches),
        )
