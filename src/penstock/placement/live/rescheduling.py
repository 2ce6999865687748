"""Whether moving tasks pays: what a placement saves in each batch, and what the moves cost once.

Formulation:
    A stage takes as long as its fullest executor computes; the stages of a batch follow one another. What crosses
    between hosts takes its bytes over the speed of a link. A move costs the reading of the task's state over a link,
    and a fixed time for opening it. Moves pay if what they save until it is looked at again is more than they cost, and
    no less than some part of a batch.

Example:
    >>> before, after = Sides(network=2.0, stages=1.0), Sides(network=0.5, stages=1.0)
    >>> round(Prediction(before=before, after=after, remote_bytes=(10.0, 2.0), move_seconds=0.2).saved, 3)
    1.5
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.placement.live.channel_graph import ChannelGraph, Task

LINK_BYTES_A_SECOND = 125e6
"""A link of a gigabit a second, as in the paper, where nothing is said of links."""

OPEN_SECONDS = 0.1
"""The time to open the state of a partition on another executor."""

BATCHES_TO_PAY = 100
"""Over how many batches a move is paid off, where it is compared with what crosses in a batch."""

LEAST_GAIN = 0.03
"""Moves save at least such a part of what the network and the stages take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The seconds of a batch: on the network, and in its stages."""

    network: float
    stages: float

    @property
    def seconds(self) -> float:
        """Both."""
        return self.network + self.stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What moves are to change.

    Attributes:
        before: A batch as it is.
        after: A batch behind them.
        remote_bytes: What crosses between hosts in a batch, before and after.
        move_seconds: What they cost once.
    """

    before: Sides
    after: Sides
    remote_bytes: tuple[float, float]
    move_seconds: float

    @property
    def saved(self) -> float:
        """The seconds that a batch takes less."""
        return self.before.seconds - self.after.seconds

    def to_json(self) -> dict[str, Any]:
        """The prediction, as plain data."""
        return {
            "before": asdict(self.before),
            "after": asdict(self.after),
            "remote_bytes": list(self.remote_bytes),
            "move_seconds": self.move_seconds,
            "saved_seconds": self.saved,
        }


def move_costs(graph: ChannelGraph, link_bytes: float = LINK_BYTES_A_SECOND) -> dict[Task, float]:
    """What the move of each task costs a batch, in bytes over a link that carries so many in a second."""
    opening = OPEN_SECONDS * link_bytes
    return {task: (graph.state_bytes.get(task, 0) + opening) / BATCHES_TO_PAY for task in graph.tasks}


def predict(
    graph: ChannelGraph,
    before: Mapping[Task, str],
    after: Mapping[Task, str],
    hosts: Mapping[str, str],
    link_bytes: float = LINK_BYTES_A_SECOND,
) -> Prediction:
    """What changes if tasks are placed otherwise.

    Args:
        graph: What they cost and send in a batch.
        before: The executor of each task.
        after: The executor that each is to have.
        hosts: Of each executor.
        link_bytes: What a link carries in a second.
    """
    moved = [task for task in after if before.get(task) != after[task]]
    state = sum(graph.state_bytes.get(task, 0) for task in moved)
    bytes_of = [graph.cut({task: hosts.get(home, home) for task, home in homes.items()}) for homes in (before, after)]
    return Prediction(
        before=_sides(graph, before, bytes_of[0] / link_bytes),
        after=_sides(graph, after, bytes_of[1] / link_bytes),
        remote_bytes=(bytes_of[0], bytes_of[1]),
        move_seconds=state / link_bytes + OPEN_SECONDS * len(moved),
    )


def may_move(prediction: Prediction, horizon_seconds: float | None) -> bool:
    """Whether moves pay until it is looked at again."""
    if horizon_seconds is None or prediction.before.seconds <= 0:
        return False
    share = prediction.saved / prediction.before.seconds
    batches = horizon_seconds / prediction.before.seconds
    return share >= LEAST_GAIN and prediction.saved * batches > prediction.move_seconds


def _sides(graph: ChannelGraph, homes: Mapping[Task, str], network: float) -> Sides:
    loads = graph.stage_loads(homes)
    return Sides(
        network=network,
        stages=sum(max(stage.values(), default=0.0) for stage in loads.values()),
    )
