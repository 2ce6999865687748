"""The objective of a placement, kept up to date while single units change.

Computing the six metrics anew costs streams x pieces of network; here a change costs only the streams of the unit
that changes.
"""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from penstock.scheduler.macrow.metrics import SHORTFALL_WEIGHT, link_shares, passing_mbps
from penstock.scheduler.macrow.task import Floats, Ints, Task


class Tally:
    """Loads and traffic of a placement.

    Attributes:
        fractions: Units by nodes; change it with `set` alone.
    """

    def __init__(self, task: Task, fractions: Floats) -> None:
        self._task = task
        self.fractions = fractions.copy()
        self._sides = task.sides.T.astype(float)
        self._beside = self.fractions @ self._sides
        self._passing = passing_mbps(task, self.fractions)
        self._given = task.goal_mips @ self.fractions
        self._missed = float(task.goal_mips @ (1 - self.fractions.sum(axis=1)))
        self._total = float(task.goal_mips.sum()) or 1.0
        weights = np.array(astuple(task.weights))
        self._weights = weights / max(float(weights.sum()), 1e-12)
        self._cards = 2 * task.side_mbps[: len(task.nodes)]
        self._partners = _partners(task)

    def set(self, unit: int, fractions: Floats) -> None:
        """Put one unit elsewhere."""
        goal = self._task.goal_mips[unit]
        self._given += goal * (fractions - self.fractions[unit])
        self._missed -= float(goal * (fractions.sum() - self.fractions[unit].sum()))
        beside = fractions @ self._sides
        others, mbps = self._partners[unit]
        if len(others):
            there = self._beside[others]
            self._passing += mbps @ (np.abs(beside - there) - np.abs(self._beside[unit] - there))
        self._beside[unit] = beside
        self.fractions[unit] = fractions

    def objective(self) -> float:
        """The value of `metrics.objective` for the fractions."""
        busy = self._given / np.maximum(self._task.capacity_mips, 1e-12)
        cards = self._passing[: len(busy)] / self._cards
        links = link_shares(self._task, self._passing)
        six = (busy.mean(), busy.max(), links.mean(), links.max(), cards.mean(), cards.max())
        return float(self._weights @ np.array(six)) + SHORTFALL_WEIGHT * self._missed / self._total


def _partners(task: Task) -> list[tuple[Ints, Floats]]:
    """For each unit, the units at the other ends of its streams, and what these carry."""
    ends: list[list[tuple[int, float]]] = [[] for _ in task.units]
    for (one, other), mbps in zip(task.streams, task.traffic_mbps, strict=True):
        ends[one].append((int(other), float(mbps)))
        ends[other].append((int(one), float(mbps)))
    return [(np.array([u for u, _ in mine], dtype=int), np.array([m for _, m in mine])) for mine in ends]
