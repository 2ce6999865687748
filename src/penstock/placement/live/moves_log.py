"""The log of moves: why tasks moved, what that was to gain, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.placement.live.channel_graph import ChannelGraph, Task
from penstock.placement.live.rescheduling import Prediction

HELD_BATCHES = 10
"""How many batches a task that has moved stays where it is, so that nothing goes back and forth."""

_MOST = 200


@dataclass(slots=True, kw_only=True)
class Move:
    """Tasks that moved together, between two batches.

    Attributes:
        batch: The first batch behind the move.
        at: When, in seconds since 1970.
        cause: Why.
        tasks: Where each was and where it is.
        prediction: What it was to change.
        remote_bytes: What crosses between hosts behind it, by where tasks then ran; None before that.
    """

    batch: int
    at: float
    cause: str
    tasks: Mapping[Task, tuple[str, str]]
    prediction: Prediction
    remote_bytes: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The move, as plain data."""
        return {
            "batch": self.batch,
            "at": round(self.at, 3),
            "cause": self.cause,
            "tasks": [{"pe": t[0], "channel": t[1], "from": a, "to": b} for t, (a, b) in self.tasks.items()],
            "predicted": self.prediction.to_json(),
            "remote_bytes": self.remote_bytes,
        }


@dataclass(slots=True)
class MovesLog:
    """The moves of a run, the newest last.

    Attributes:
        moves: The last of them.
        count: How many tasks have ever moved.
    """

    moves: list[Move] = field(default_factory=list)
    count: int = 0

    def add(self, move: Move) -> None:
        """Note a move."""
        self.moves = [*self.moves, move][-_MOST:]
        self.count += len(move.tasks)

    def awaits(self, batch: int) -> bool:
        """Whether a batch is the first behind a move."""
        return bool(self.moves) and self.moves[-1].remote_bytes is None and batch >= self.moves[-1].batch

    def observe(self, graph: ChannelGraph, hosts: Mapping[Task, str]) -> None:
        """Note what crosses between hosts, now that the tasks of the last move have run."""
        self.moves[-1].remote_bytes = graph.cut(hosts)

    def has_just_moved(self, task: Task, batch: int) -> bool:
        """Whether a task has moved in one of the last batches."""
        return any(task in move.tasks for move in self.moves if batch - move.batch < HELD_BATCHES)
