"""The output of a generated piece in one batch: collected by edge and given its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.paths import Paths
from penstock.codegen.rows.places import Array, Level, Places, ranks
from penstock.codegen.run.arriving import Arriving
from penstock.codegen.transport.batches import FINAL, TUPLE, WINDOW
from penstock.codegen.transport.placed_frames import PlacedFrame


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Items of one kind that leave by one edge."""

    edge: int
    kind: int
    places: Places


class Leaving:
    """The items that leave a PE.

    Args:
        arriving: What they descend from.
        edges: By which they leave.
    """

    def __init__(self, arriving: Arriving, edges: Iterable[int]) -> None:
        self._bases = arriving.time_ns, arriving.number, arriving.paths
        self._pulse = arriving.pulse
        self._offset = 0
        self._parts: list[_Part] = []
        self._frames: dict[int, Frame] = {}
        self._finals: dict[int, list[tuple[int, int]]] = {edge: [] for edge in edges}

    def stand_on(self, time_ns: Array, number: Array, paths: Paths) -> None:
        """Let what leaves descend from other items than those that came, which stand behind them."""
        self._offset = len(time_ns) - len(self._bases[0])
        self._bases = time_ns, number, paths

    def add(self, edge: int, frame: Frame) -> None:
        """Let the tuples and markers of a stream leave."""
        self._frames[edge] = frame
        self._parts.append(_Part(edge, TUPLE, frame.places))
        if frame.marks is not None:
            self._parts.append(_Part(edge, WINDOW, frame.marks))

    def add_final(self, edge: int, item: int, rank: int) -> None:
        """Let the end of a stream leave."""
        self._finals[edge].append((item + self._offset, rank))

    def frames(self, time_ns: int) -> dict[int, PlacedFrame]:
        """The items of each edge, closed by the mark that the batch is complete up to a time."""
        present = [part for part in self._parts if len(part.places)]
        ranked = list(zip(present, ranks([p.places for p in present]) if present else [], strict=True))
        pulses = ((time_ns, self._pulse),)
        return {
            edge: self._placed(edge, [(part, rank) for part, rank in ranked if part.edge == edge], pulses)
            for edge in self._finals
        }

    def _placed(
        self, edge: int, parts: Sequence[tuple[_Part, Level]], pulses: tuple[tuple[int, int], ...]
    ) -> PlacedFrame:
        """The items of an edge, in order."""
        finals = self._finals[edge]
        item = np.concatenate([*(p.places.item for p, _ in parts), np.array([i for i, _ in finals], np.int64)])
        rank = np.concatenate([*(_filled(r, p.places) for p, r in parts), np.array([r for _, r in finals], np.int64)])
        kind = np.concatenate([*(np.full(len(p.places), p.kind) for p, _ in parts), np.full(len(finals), FINAL)])
        if len(parts) + bool(finals) > 1:
            order = np.lexsort((rank, item))
            item, rank, kind = item[order], rank[order], kind[order]
        times, numbers, before = self._bases
        return PlacedFrame(
            time_ns=times[item],
            number=numbers[item],
            paths=before.grown(item, rank if len(rank) else 0),
            kind=kind,
            tuples=self._frames[edge],
            pulses=pulses,
        )


def _filled(value: Level, places: Places) -> Array:
    return np.full(len(places), value, np.int64) if isinstance(value, int) else value
