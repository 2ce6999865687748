"""Brings a placement within what demands on hosts allow, and improves it there.

Introduction:
    The algorithms for graphs know loads and traffic. Where some tasks may only be on some places, their answer is a
    start: it is changed by as little as the demands ask for.

Algorithm:
    1. Places of one size change names, so that as many tasks as possible are where they may be: METIS numbers its parts
       as it likes. That is an assignment problem.
    2. A task that is still elsewhere goes to the place that it talks to most, of those with room; to the emptiest if
       none has.
    3. Sweeps: a task goes where it talks to more, if it may and there is room, until nothing changes.

Preserves:
    A placement that keeps the demands is only changed for less traffic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from penstock.placement.live.channel_graph import ChannelGraph, Task

_SWEEPS = 8

Floats = NDArray[np.float64]


def keep_within(
    graph: ChannelGraph,
    chosen: Mapping[Task, str],
    weights: Floats,
    sizes: Mapping[str, int],
    allowed: Mapping[Task, frozenset[str]],
    imbalance: float,
) -> dict[Task, str]:
    """A placement like another in which every task is on a place that it may be on.

    Args:
        graph: The tasks.
        chosen: The place of each.
        weights: The load of each, a row a task, a column a stage.
        sizes: By place, how much it takes of a stage.
        allowed: The places of those tasks that may not be on any.
        imbalance: How many times its share a place may carry of a stage.

    Example:
        >>> graph = ChannelGraph(tasks=((1, 0), (1, 1)))
        >>> only = {(1, 0): frozenset(["b"])}
        >>> keep_within(graph, {(1, 0): "a", (1, 1): "b"}, np.ones((2, 1)), {"a": 1, "b": 1}, only, 1.1)
        {(1, 0): 'b', (1, 1): 'a'}
    """
    if not allowed:
        return dict(chosen)
    found = _renamed(chosen, sizes, allowed)
    work = _Work(graph, found, weights, sizes, allowed, imbalance)
    for task in sorted(allowed, key=lambda task: (len(allowed[task]), task)):
        if task in found and found[task] not in allowed[task]:
            work.put(task, work.nearest(task))
    for _ in range(_SWEEPS):
        if not sum(work.improve(task) for task in graph.tasks):
            break
    return work.place_of


def _renamed(
    chosen: Mapping[Task, str], sizes: Mapping[str, int], allowed: Mapping[Task, frozenset[str]]
) -> dict[Task, str]:
    """The same placement under the names that keep the most tasks where they may be."""
    names = list(sizes)
    wins = np.zeros((len(names), len(names)))
    for task, places in allowed.items():
        if task in chosen:
            for name in places.intersection(names):
                wins[names.index(chosen[task]), names.index(name)] += 1
    same = np.array([[sizes[one] == sizes[other] for other in names] for one in names])
    # A name is kept where another gains nothing.
    cost = np.where(same, -wins - 0.5 * np.eye(len(names)), 1e9)
    rows, columns = linear_sum_assignment(cost)
    name_of = {names[row]: names[column] for row, column in zip(rows, columns, strict=True)}
    return {task: name_of[place] for task, place in chosen.items()}


class _Work:
    """A placement while it is changed."""

    def __init__(
        self,
        graph: ChannelGraph,
        place_of: dict[Task, str],
        weights: Floats,
        sizes: Mapping[str, int],
        allowed: Mapping[Task, frozenset[str]],
        imbalance: float,
    ) -> None:
        self.place_of = place_of
        self._row = {task: row for row, task in enumerate(graph.tasks)}
        self._weights, self._allowed, self._names = weights, allowed, list(sizes)
        total = weights.sum(axis=0)
        share = total / sum(sizes.values())
        # A single task may be more than its share.
        largest = weights.max(axis=0, initial=0.0)
        self._most = {name: np.maximum(share * size * imbalance, largest) for name, size in sizes.items()}
        self._load = {name: np.zeros(weights.shape[1]) for name in sizes}
        for task, place in place_of.items():
            self._load[place] += weights[self._row[task]]
        self._others: dict[Task, dict[Task, float]] = {}
        for (one, other), size in graph.flows.items():
            for here, there in ((one, other), (other, one)):
                ends = self._others.setdefault(here, {})
                ends[there] = ends.get(there, 0.0) + size

    def put(self, task: Task, place: str) -> None:
        """Put a task on a place."""
        weight = self._weights[self._row[task]]
        self._load[self.place_of[task]] -= weight
        self._load[place] += weight
        self.place_of[task] = place

    def nearest(self, task: Task) -> str:
        """The place that a task talks to most, of those that it may be on."""
        talk = self._talk(task)
        weight = self._weights[self._row[task]]

        def rank(place: str) -> tuple[bool, float, float]:
            is_full = not self._has_room(task, place)
            fill = float(((self._load[place] + weight) / np.maximum(self._most[place], 1e-12)).max())
            return is_full, fill if is_full else -talk.get(place, 0.0), fill

        return min(self._places(task), key=rank)

    def improve(self, task: Task) -> bool:
        """Put a task where it talks to more, if it may and there is room; tells whether it has moved."""
        here, talk = self.place_of[task], self._talk(task)
        better = [
            place
            for place in self._places(task)
            if place != here and talk.get(place, 0.0) > talk.get(here, 0.0) and self._has_room(task, place)
        ]
        if not better:
            return False
        self.put(task, max(better, key=lambda place: talk.get(place, 0.0)))
        return True

    def _places(self, task: Task) -> Sequence[str]:
        may = self._allowed.get(task)
        return self._names if may is None else [name for name in self._names if name in may]

    def _talk(self, task: Task) -> dict[str, float]:
        found: dict[str, float] = {}
        for other, size in self._others.get(task, {}).items():
            if other in self.place_of:
                place = self.place_of[other]
                found[place] = found.get(place, 0.0) + size
        return found

    def _has_room(self, task: Task, place: str) -> bool:
        weight = self._weights[self._row[task]]
        return bool((self._load[place] + weight <= self._most[place] * (1 + 1e-9))[weight > 0].all())
