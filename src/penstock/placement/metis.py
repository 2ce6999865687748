"""Placement by graph partitioning: METIS, and a refinement on top of it.

Introduction:
    The paper's scheduler. The communication graph is partitioned into as many parts as there are machines, so that
    little is sent between parts while each carries its share of the load.

Formulation:
    Variables: the machine of each task. Minimize cost(G, P) (`measure.cost`), or with the objective `volume` the total
    communication volume (`measure.volume`). Subject to loadImba(G, P) <= I for every resource and to the machines'
    capacities (`measure.limits`). Where no placement keeps I, the least imbalance that can be kept takes its place
    (`packing.attainable_bound`).

Example:
    Parallel chains of eight tasks, one chain for each machine: every chain becomes one part, and nothing is sent.

When it does not apply:
    Fewer tasks than machines is refused when the problem is read. On a graph without edges, and where METIS finds
    nothing within the limits, packing by weight answers.

Algorithm:
    1. Starts: METIS k-way with several seeds; METIS recursive bisection; unless the graph is large both with METIS's
       own defaults too, which makes the answer no worse than a plain call of METIS; with racks METIS into racks and
       then into the machines of each; for graphs that are not large the greedy placement; and the present placement.
    2. Each start is brought within the limits (`relief.relieve`, `exchange.relieve_by_exchange`), swept
       (`sweep.improve`) and climbed (`climb.climb`); of a large problem only the best start is climbed.
    3. Of small problems the best is shaken: the tasks of three machines are dealt out anew and refined again.
    4. The best by (overload, objective, cost).
    METIS and the sweeps are near linear in the edges; the climb is bounded by its patience.

Preserves:
    Never worse than any start that keeps the limits, so never worse than METIS alone; the same seed gives the same
    answer unless a deadline cuts the work short.

Reference:
    Fischer and Bernstein, BigData 2015, section III-C; Karypis and Kumar, SIAM J. Sci. Comput. 1998. The paper runs
    `gpmetis` once with the volume objective, which ignores how much an edge carries. We minimize the traffic itself by
    default, run several seeds, and refine. pymetis passes METIS a single weight and no vertex sizes: several weights go
    in as the sum of their shares and are balanced by our refinement, and vertex sizes are counted by ours alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from penstock.base.deadline import Deadline
from penstock.placement.climb import climb, is_small
from penstock.placement.exchange import relieve_by_exchange
from penstock.placement.greedy import place_greedily
from penstock.placement.measure import cost, limits, loads, overload, volume
from penstock.placement.packing import Packing, attainable_bound, pack_longest_first
from penstock.placement.partition import Objective, partition, partition_by_rack
from penstock.placement.problem import CommunicationGraph, Floats, Ints, PlacementProblem, Progress
from penstock.placement.relief import relieve
from penstock.placement.sweep import improve
from penstock.placement.volume import lower_volume

_SMALL_EDGES = 20_000
_GREEDY_EDGES = 60_000
_LARGE_EDGES = 500_000
_SHAKEN_MACHINES = 3
_MOST_SHAKES, _SHAKEN_CELLS = 120, 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MetisSettings:
    """How to search.

    Attributes:
        seed: What the random choices start from.
        starts: How many seeds METIS is run with; by default the fewer the larger the graph.
        shakes: How often the best is shaken; by default often for small problems and not at all for large ones.
        objective: What is minimized: the traffic between machines, or METIS's communication volume.
        refine: Whether to refine what METIS finds.
    """

    seed: int = 1
    starts: int | None = None
    shakes: int | None = None
    objective: Objective = "cut"
    refine: bool = True


def place_by_partitioning(
    problem: PlacementProblem,
    settings: MetisSettings | None = None,
    *,
    present: Ints | None = None,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> Ints:
    """Partition the communication graph and place each part on a machine.

    Args:
        problem: What to place.
        settings: How to search.
        present: Where the tasks are now; one more start, so that the answer is not worse than staying.
        deadline: When to return the best found so far; the first start is always finished.
        progress: Called with a line for each start.

    Raises:
        Infeasible: The capacities cannot be kept.

    Example:
        >>> from penstock.placement.problem import communication_graph, equal_machines
        >>> graph = communication_graph([1, 1, 1, 1], [0, 2, 1], [1, 3, 2], [9, 9, 1])
        >>> machine_of = place_by_partitioning(PlacementProblem(graph=graph, machines=equal_machines(2)))
        >>> bool(machine_of[0] == machine_of[1] != machine_of[2] == machine_of[3])
        True
    """
    settings = settings or MetisSettings()
    deadline = deadline or Deadline.after(None)
    packing = attainable_bound(problem)
    search = _Search(problem, settings, packing, deadline)
    for number, (name, start) in enumerate(_starts(problem, settings, packing, present, deadline)):
        search.consider(start)
        if progress is not None:
            progress(f"start {number + 1}, {name}: the best so far costs {search.best_cost():.6g}")
        if deadline.has_passed() or search.is_perfect():
            return search.within_limits()
    search.finish()
    for _ in range(_shakes(problem, settings)):
        search.shake()
        if deadline.has_passed() or search.is_perfect():
            break
    return search.within_limits()


class _Search:
    """Refines starts and keeps the best."""

    def __init__(
        self, problem: PlacementProblem, settings: MetisSettings, packing: Packing, deadline: Deadline
    ) -> None:
        self.problem = problem
        self.settings = settings
        self.limit = limits(problem, packing.bound)
        self.deadline = deadline
        self.rng = np.random.default_rng(settings.seed)
        self.found: tuple[tuple[float, float, float], Ints] | None = None

    def consider(self, start: Ints) -> None:
        # Large problems are climbed once, from the best start, because a climb takes far longer than METIS.
        how = refine if is_small(self.problem) else settle
        self._keep(how(self.problem, start, self.limit, self.settings, self.rng, self.deadline))

    def finish(self) -> None:
        if not is_small(self.problem):
            self._keep(refine(self.problem, self.best(), self.limit, self.settings, self.rng, self.deadline))

    def _keep(self, after: Ints) -> None:
        score = self._score(after)
        if self.found is None or score < self.found[0]:
            self.found = (score, after)

    def shake(self) -> None:
        machine_of = self.best().copy()
        count = self.problem.machines.count
        some = self.rng.choice(count, min(_SHAKEN_MACHINES, count), replace=False)
        there = np.flatnonzero(np.isin(machine_of, some))
        machine_of[there] = self.rng.permutation(machine_of[there])
        self.consider(machine_of)

    def best(self) -> Ints:
        assert self.found is not None, "there is always a start"
        return self.found[1]

    def within_limits(self) -> Ints:
        """The best, or tasks dealt out by weight where there was no time to relieve the machines of any start."""
        assert self.found is not None, "there is always a start"
        if self.found[0][0] > 0 and self.settings.refine:
            self._keep(pack_longest_first(self.problem))
        return self.best()

    def best_cost(self) -> float:
        assert self.found is not None, "there is always a start"
        return self.found[0][2]

    def is_perfect(self) -> bool:
        return self.found is not None and self.found[0][0] == 0.0 and self.found[0][2] == 0.0

    def _score(self, machine_of: Ints) -> tuple[float, float, float]:
        excess = overload(loads(self.problem, machine_of), self.limit)
        traffic = cost(self.problem, machine_of)
        if self.settings.objective == "cut":
            return excess, traffic, traffic
        return excess, volume(self.problem, machine_of), traffic


def settle(
    problem: PlacementProblem,
    start: Ints,
    limit: Floats,
    settings: MetisSettings,
    rng: np.random.Generator,
    deadline: Deadline,
) -> Ints:
    """Bring a placement within its limits and make the moves that gain at once."""
    if not settings.refine:
        return start
    kept = relieve_by_exchange(problem, relieve(problem, start, limit, deadline), limit, rng, deadline)
    if settings.objective == "volume":
        return lower_volume(problem, kept, limit, deadline)
    return improve(problem, kept, limit, deadline)


def refine(
    problem: PlacementProblem,
    start: Ints,
    limit: Floats,
    settings: MetisSettings,
    rng: np.random.Generator,
    deadline: Deadline,
) -> Ints:
    """Bring a placement within its limits and lower the objective; never worse by (overload, objective)."""
    settled = settle(problem, start, limit, settings, rng, deadline)
    if not settings.refine or settings.objective == "volume":
        return settled
    return climb(problem, settled, limit, rng, deadline)


def _starts(
    problem: PlacementProblem, settings: MetisSettings, packing: Packing, present: Ints | None, deadline: Deadline
) -> Iterator[tuple[str, Ints]]:
    graph, count = problem.graph, problem.machines.count
    if packing.machine_of is not None:
        yield "packed by weight", packing.machine_of
    if count == 1 or not graph.edges:
        if packing.machine_of is None:
            yield "dealt out", np.arange(graph.tasks) % count
        return
    if present is not None:
        yield "the present placement", present
    for seed in range(settings.seed, settings.seed + (settings.starts or _default_starts(graph))):
        if problem.machines.has_racks:
            yield f"metis by rack, seed {seed}", partition_by_rack(problem, settings.objective, seed)
        yield f"metis, seed {seed}", partition(problem, settings.objective, seed)
    if graph.edges <= _LARGE_EDGES:
        yield "metis, recursive", partition(problem, "cut", settings.seed, recursive=True)
        yield "metis as it comes", partition(problem, settings.objective, None)
        yield "metis as it comes, recursive", partition(problem, "cut", None, recursive=True)
    if graph.edges <= _GREEDY_EDGES and settings.refine:
        yield "greedy", place_greedily(replace(problem, imbalance=packing.bound), deadline=deadline)


def _shakes(problem: PlacementProblem, settings: MetisSettings) -> int:
    if not settings.refine or problem.machines.count == 1 or not problem.graph.edges:
        return 0
    if settings.shakes is not None:
        return settings.shakes
    return min(_MOST_SHAKES, _SHAKEN_CELLS // (problem.graph.tasks * problem.machines.count))


def _default_starts(graph: CommunicationGraph) -> int:
    if graph.edges <= _SMALL_EDGES:
        return 8
    return 4 if graph.edges <= _LARGE_EDGES else 1
