"""Greedy placement: the traffic-based online scheduler of Aniello et al.

Introduction:
    Puts the two ends of heavy traffic into one worker (a process), heaviest first, as long as no worker is
    overloaded; then puts workers that communicate onto one machine in the same way. It is the paper's Greedy.

Formulation:
    Minimize the traffic between workers, then between machines, subject to a limit on each one's load
    (`measure.limits`). A machine has one worker slot, a machine n times as large as the smallest has n.

Example:
    Tasks a, b, c of weight 1, two workers that take at most 2, traffic a-b 10 and b-c 9: a and b share a worker; c
    would overload it, so of the nine cases the best that fits leaves a and b together and puts c into the other.

When it does not apply:
    It never looks ahead and never moves more than the two tasks at hand. On a graph of equal traffic everywhere its
    order, and so its answer, is an accident. Where nothing fits, a task goes to the worker with most room and the
    limit is broken; `place` then relieves the overloaded machines, which the original does not, so that all our
    algorithms are compared within one limit.

Algorithm:
    1. Sort the pairs of communicating tasks by descending traffic.
    2. For each pair: if neither is placed and both fit, put both into the least loaded worker. Otherwise try each of
       the two in the worker of the first, the worker of the second and the least loaded one: nine cases. Take the one
       with the least traffic between workers that overloads none.
    3. Tasks without traffic go to the least loaded worker, one by one.
    4. The same for the workers as tasks and the machines as workers, with the slots as one more resource.
    O(edges (log edges + K + mean degree)).

Preserves:
    A pair that was placed together is split only where that lowers the traffic.

Reference:
    Aniello, Baldoni, Querzoni, DEBS 2013, as section IV-B2 of Fischer and Bernstein, BigData 2015, describes it. We
    depart in three points: overload is the limit on imbalance that all our algorithms share, in the place of CPU
    clock rates; where machines stand in racks, the least loaded machines of the two racks at hand are tried too; and
    a deadline ends step 2 early.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.base.deadline import Deadline
from penstock.placement.measure import fair_loads, limits
from penstock.placement.problem import (
    CommunicationGraph,
    Floats,
    Ints,
    Machines,
    PlacementProblem,
    Progress,
    communication_graph,
)

_NOWHERE = -1
_MOST_SLOTS = 16
_PAIRS_A_CHECK, _PAIRS_A_REPORT = 1024, 100_000


def place_greedily(
    problem: PlacementProblem, *, deadline: Deadline | None = None, progress: Progress | None = None
) -> Ints:
    """Place tasks in workers and workers on machines, heaviest traffic first.

    Example:
        >>> from penstock.placement.problem import equal_machines
        >>> graph = communication_graph([1, 1, 1], [0, 1], [1, 2], [10, 9])
        >>> place_greedily(PlacementProblem(graph=graph, machines=equal_machines(2), imbalance=1.4)).tolist()
        [0, 0, 1]
    """
    deadline = deadline or Deadline.after(None)
    slots = worker_slots(problem.machines)
    workers = int(slots.sum())
    graph = problem.graph
    even_share = graph.weights.sum(axis=0) * problem.imbalance / workers
    worker_of = _CoLocation(graph, np.tile(even_share * (1 + 1e-9), (workers, 1)), None).run(deadline, progress)
    machine_of_worker = _place_workers(problem, worker_of, slots, deadline)
    return machine_of_worker[worker_of]


def worker_slots(machines: Machines) -> Ints:
    """How many workers each machine takes: one, or more where it is larger than the smallest.

    Example:
        >>> from penstock.placement.problem import sized_machines
        >>> worker_slots(sized_machines([8, 8, 24])).tolist()
        [1, 1, 3]
    """
    size = machines.shares.mean(axis=1)
    return np.asarray(np.clip(np.rint(size / size[size > 0].min()), 1, _MOST_SLOTS), np.int64)


def _place_workers(problem: PlacementProblem, worker_of: Ints, slots: Ints, deadline: Deadline) -> Ints:
    quotient = _workers_as_tasks(problem.graph, worker_of, int(slots.sum()))
    room = np.column_stack([limits(problem, problem.imbalance), slots])
    # A machine without a share of a resource has no room for it, and `fill` divides by the room.
    room[:, :-1][fair_loads(problem) <= 0] = 0.0
    return _CoLocation(quotient, room, problem.machines if problem.machines.has_racks else None).run(deadline)


def _workers_as_tasks(graph: CommunicationGraph, worker_of: Ints, workers: int) -> CommunicationGraph:
    """The graph of the traffic between workers; the last of a worker's weights is the slot that it takes."""
    columns = [np.bincount(worker_of, weights=column, minlength=workers) for column in graph.weights.T]
    weights = np.column_stack([*columns, np.ones(workers)])
    sources = np.repeat(worker_of, np.diff(graph.starts))
    return communication_graph(weights, sources, worker_of[graph.adjacent], graph.traffic / 2.0)


class _CoLocation:
    """Steps 1 to 3 of the algorithm: members (tasks, workers) into bins (workers, machines)."""

    def __init__(self, graph: CommunicationGraph, room: Floats, racked: Machines | None) -> None:
        self.graph = graph
        self.room = room
        self.racked = racked
        self.bin_of = np.full(graph.tasks, _NOWHERE, np.int64)
        self.load = np.zeros_like(room)
        self.unit = np.where(room > 0, room, np.inf)
        # A machine without any of a resource that others have takes no member.
        closed = ((room <= 0) & (room > 0).any(axis=0)).any(axis=1)
        self.is_closed = closed & ~closed.all()

    def run(self, deadline: Deadline, progress: Progress | None = None) -> Ints:
        """Place every member."""
        for step, (one, other, traffic) in enumerate(self._pairs()):
            if step % _PAIRS_A_CHECK == 0 and deadline.has_passed():
                break
            if progress is not None and step and step % _PAIRS_A_REPORT == 0:
                progress(f"{step:,} of {self.graph.edges:,} pairs")
            if self.bin_of[one] == _NOWHERE or self.bin_of[one] != self.bin_of[other]:
                self._place_pair(one, other, traffic)
        self._place_rest()
        return self.bin_of

    def _pairs(self) -> zip[tuple[int, int, float]]:
        graph = self.graph
        sources = np.repeat(np.arange(graph.tasks), np.diff(graph.starts))
        once = np.flatnonzero(sources < graph.adjacent)
        order = once[np.argsort(-graph.traffic[once], kind="stable")]
        return zip(sources[order].tolist(), graph.adjacent[order].tolist(), graph.traffic[order].tolist(), strict=True)

    def _place_pair(self, one: int, other: int, traffic: float) -> None:
        least = self._least_loaded()
        if self.bin_of[one] == self.bin_of[other] == _NOWHERE:
            together = self._fits(one, least, other, least)
            self._move(one, least)
            if together:
                self._move(other, least)
                return
            least = self._least_loaded()
        best = self._best_case(one, other, traffic, self._candidates(one, other, least))
        if best is None:
            best = (int(self.bin_of[one]), int(self.bin_of[other]))
        for member, chosen in zip((one, other), best, strict=True):
            self._move(member, chosen if chosen != _NOWHERE else self._least_loaded())

    def _candidates(self, one: int, other: int, least: int) -> list[int]:
        placed = [int(b) for b in (self.bin_of[one], self.bin_of[other]) if b != _NOWHERE]
        near = [] if self.racked is None else [self._least_loaded_near(b, self.racked) for b in placed]
        return list(dict.fromkeys([*placed, *near, least]))

    def _best_case(self, one: int, other: int, traffic: float, bins: list[int]) -> tuple[int, int] | None:
        """The nine cases: where the two ends go, or None where no case fits."""
        pull_one, pull_other = self._pull(one, other, bins), self._pull(other, one, bins)
        best, best_pull = None, -math.inf
        for p in sorted(bins, key=lambda b: b != self.bin_of[one]):
            for q in sorted(bins, key=lambda b: b != self.bin_of[other]):
                pull = pull_one[p] + pull_other[q] + traffic * self._nearness(p, q)
                if pull > best_pull and self._fits(one, p, other, q):
                    best, best_pull = (p, q), pull
        return best

    def _pull(self, member: int, without: int, bins: list[int]) -> dict[int, float]:
        neighbours = self.graph.neighbours(member)
        traffic = np.where(neighbours == without, 0.0, self.graph.neighbour_traffic(member))
        places = self.bin_of[neighbours]
        if self.racked is None:
            return {b: float(traffic @ (places == b)) for b in bins}
        placed = places != _NOWHERE
        return {
            b: sum(t * self._nearness(b, int(q)) for t, q in zip(traffic[placed], places[placed], strict=True))
            for b in bins
        }

    def _nearness(self, p: int, q: int) -> float:
        if p == q:
            return 1.0 if self.racked is None else self.racked.rack_factor
        if self.racked is None or self.racked.racks[p] != self.racked.racks[q]:
            return 0.0
        return self.racked.rack_factor - 1.0

    def _fits(self, one: int, p: int, other: int, q: int) -> bool:
        weights = self.graph.weights
        change = {p: np.zeros(weights.shape[1]), q: np.zeros(weights.shape[1])}
        for member, to in ((one, p), (other, q)):
            change[to] = change[to] + weights[member]
            if self.bin_of[member] in change:
                change[int(self.bin_of[member])] = change[int(self.bin_of[member])] - weights[member]
        grown = ((b, c) for b, c in change.items() if (c > 0).any())
        return all(bool((self.load[b] + c <= self.room[b]).all()) for b, c in grown)

    def _move(self, member: int, to: int) -> None:
        if self.bin_of[member] != _NOWHERE:
            self.load[self.bin_of[member]] -= self.graph.weights[member]
        self.load[to] += self.graph.weights[member]
        self.bin_of[member] = to

    def _fill(self) -> Floats:
        return np.where(self.is_closed, np.inf, (self.load / self.unit).max(axis=1))

    def _least_loaded(self) -> int:
        return int(self._fill().argmin())

    def _least_loaded_near(self, bin_: int, racked: Machines) -> int:
        apart = racked.racks != racked.racks[bin_]
        return int(np.where(apart, np.inf, self._fill()).argmin())

    def _place_rest(self) -> None:
        """Heaviest first, each to the bin that it fills least, so that the rest evens the loads out."""
        rest = np.flatnonzero(self.bin_of == _NOWHERE)
        heaviest = rest[np.argsort(-self.graph.weights[rest].max(axis=1), kind="stable")]
        for member in heaviest.tolist():
            filled = ((self.load + self.graph.weights[member]) / self.unit).max(axis=1)
            self._move(member, int(np.where(self.is_closed, np.inf, filled).argmin()))
