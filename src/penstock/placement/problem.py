"""The placement problem as arrays: a communication graph, the machines, and the limit on imbalance.

A service solves a placement problem at every epoch, and a problem may have a million tasks, so there is no object for
each task: the graph is one compressed sparse row (CSR) matrix and the weights are columns. The objects are frozen; a
placement algorithm is a pure function from a `PlacementProblem` to a `Placement`.

Example:
    >>> graph = communication_graph([3.0, 3.0, 2.0], [0, 1], [1, 2], [10.0, 4.0])
    >>> graph.neighbours(1).tolist(), graph.neighbour_traffic(1).tolist()
    ([0, 2], [10.0, 4.0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Matrix = sparse.csr_array[Any, tuple[int, int]]

# Told a line about the work now and then.
Progress = Callable[[str], None]

DEFAULT_IMBALANCE = 1.03
DEFAULT_RACK_FACTOR = 2.0
_EDGES_A_BLOCK = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommunicationGraph:
    """Tasks, what each of them needs, and what they send to one another.

    An undirected graph: the traffic between two tasks is what they send in both directions, stored at both ends, as
    METIS wants it. The neighbours of task `v` are `adjacent[starts[v]:starts[v + 1]]`, in increasing order.

    Attributes:
        starts: Where each task's neighbours begin; one longer than the number of tasks.
        adjacent: The neighbours, twice the number of edges.
        traffic: What flows over each entry of `adjacent`; positive.
        weights: What a task needs, one row a task, one column a resource.
        volumes: What a task sends to each other machine that holds a neighbour of it (METIS: vertex size).
        ids: The tasks' names, or None where they are the numbers from 1 up.
    """

    starts: Ints
    adjacent: Ints
    traffic: Floats
    weights: Floats
    volumes: Floats
    ids: tuple[str, ...] | None = None

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return len(self.starts) - 1

    @property
    def edges(self) -> int:
        """The number of pairs of tasks that communicate."""
        return len(self.adjacent) // 2

    @property
    def resources(self) -> int:
        """The number of weights that a task has."""
        return int(self.weights.shape[1])

    def task_id(self, task: int) -> str:
        """The name of a task."""
        return str(task + 1) if self.ids is None else self.ids[task]

    def neighbours(self, task: int) -> Ints:
        """The tasks that a task communicates with."""
        return self.adjacent[self.starts[task] : self.starts[task + 1]]

    def neighbour_traffic(self, task: int) -> Floats:
        """The traffic with each of `neighbours(task)`."""
        return self.traffic[self.starts[task] : self.starts[task + 1]]

    def matrix(self) -> Matrix:
        """The symmetric matrix of the traffic; shares our arrays."""
        return sparse.csr_array((self.traffic, self.adjacent, self.starts), shape=(self.tasks, self.tasks))

    def blocks(self) -> Iterator[tuple[slice, slice, Ints]]:
        """Stretches of the graph that are small enough for temporary arrays, so that memory stays bounded.

        Yields:
            The tasks of the block, their stretch of `adjacent`, and the task that each entry of the stretch is of.
        """
        first = 0
        while first < self.tasks:
            last = int(np.searchsorted(self.starts, self.starts[first] + _EDGES_A_BLOCK, side="right")) - 1
            last = min(max(last, first + 1), self.tasks)
            degrees = np.diff(self.starts[first : last + 1])
            sources = np.repeat(np.arange(first, last), degrees)
            yield slice(first, last), slice(int(self.starts[first]), int(self.starts[last])), sources
            first = last


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Machines:
    """Where tasks can be placed.

    Attributes:
        shares: The part of the whole load that a machine should carry, one row a machine, one column a resource; each
            column sums to one.
        capacities: What a machine can carry at most, in the unit of the weights; infinite where nothing was said.
        racks: The rack of each machine, numbered from 0.
        rack_factor: What a unit of traffic between racks costs; within a rack it costs one.
        ids: The machines' names.
        rack_ids: The racks' names.
    """

    shares: Floats
    capacities: Floats
    racks: Ints
    rack_factor: float
    ids: tuple[str, ...]
    rack_ids: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of machines."""
        return len(self.racks)

    @property
    def has_racks(self) -> bool:
        """Whether it matters in which rack a machine stands."""
        return self.rack_factor != 1.0 and len(self.rack_ids) > 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacementProblem:
    """A placement problem: the tasks to place, the machines, and how even the placement must be.

    Attributes:
        graph: The tasks.
        machines: The machines.
        imbalance: The paper's I: how many times its share a machine may carry.
    """

    graph: CommunicationGraph
    machines: Machines
    imbalance: float = DEFAULT_IMBALANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placement:
    """An answer.

    Attributes:
        algorithm: What found it.
        machine_of: The machine of each task.
        cost: Traffic between machines, that between racks multiplied by the rack factor.
        imbalance: The largest ratio of a machine's load to its share of the load.
        within_limit: Whether every machine is within the limit on imbalance and within its capacities.
        seconds: How long it took.
    """

    algorithm: str
    machine_of: Ints
    cost: float
    imbalance: float
    within_limit: bool
    seconds: float


def communication_graph(
    weights: ArrayLike,
    sources: ArrayLike,
    targets: ArrayLike,
    traffic: ArrayLike,
    *,
    volumes: ArrayLike | None = None,
    ids: Sequence[str] | None = None,
) -> CommunicationGraph:
    """Build the graph from directed edges; edges between the same two tasks add up and loops are left out.

    Args:
        weights: One number a task, or one row a task.
        sources: The sending task of each edge.
        targets: The receiving task of each edge.
        traffic: What each edge carries; an edge that carries nothing is left out.
        volumes: The tasks' volumes; one each unless given.
        ids: The tasks' names; the numbers from 1 up unless given.

    Example:
        >>> graph = communication_graph([1, 1], [0, 1, 0], [1, 0, 0], [5, 7, 9])
        >>> graph.edges, graph.traffic.tolist()
        (1, [12.0, 12.0])
    """
    columns = _columns(weights)
    tasks = len(columns)
    matrix = sparse.coo_array(
        (np.asarray(traffic, np.float64), (np.asarray(sources, np.int64), np.asarray(targets, np.int64))),
        shape=(tasks, tasks),
    ).tocsr()
    matrix.setdiag(0.0)
    matrix = sparse.csr_array(matrix + matrix.T)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return CommunicationGraph(
        starts=matrix.indptr.astype(np.int64),
        adjacent=matrix.indices.astype(np.int64),
        traffic=matrix.data.astype(np.float64),
        weights=columns,
        volumes=np.ones(tasks) if volumes is None else np.asarray(volumes, np.float64),
        ids=None if ids is None else tuple(ids),
    )


def equal_machines(count: int, *, resources: int = 1) -> Machines:
    """Machines of one size in one rack, without a limit on their capacity.

    Example:
        >>> equal_machines(4).shares.ravel().tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    return Machines(
        shares=np.full((count, resources), 1.0 / count),
        capacities=np.full((count, resources), np.inf),
        racks=np.zeros(count, np.int64),
        rack_factor=1.0,
        ids=tuple(str(machine) for machine in range(count)),
        rack_ids=("",),
    )


def sized_machines(
    capacities: ArrayLike,
    *,
    hard: bool = True,
    racks: Sequence[str] | None = None,
    rack_factor: float = DEFAULT_RACK_FACTOR,
    ids: Sequence[str] | None = None,
) -> Machines:
    """Machines of different sizes, maybe in several racks; each one's share is as large as its capacity.

    Args:
        capacities: One number a machine, or one row a machine with a column for each resource.
        hard: Whether a machine can carry its capacity at most; otherwise capacities only say who carries how much.
        racks: The name of each machine's rack; one rack for all unless given.
        rack_factor: What a unit of traffic between racks costs.
        ids: The machines' names; the numbers from 0 up unless given.

    Example:
        >>> machines = sized_machines([30, 10], racks=["north", "south"])
        >>> machines.shares.ravel().tolist(), machines.has_racks
        ([0.75, 0.25], True)
    """
    sizes = _columns(capacities)
    names = ["" for _ in sizes] if racks is None else list(racks)
    rack_ids = tuple(dict.fromkeys(names))
    number_of = {name: number for number, name in enumerate(rack_ids)}
    return Machines(
        shares=sizes / sizes.sum(axis=0),
        capacities=sizes if hard else np.full_like(sizes, np.inf),
        racks=np.array([number_of[name] for name in names], np.int64),
        rack_factor=rack_factor,
        ids=tuple(str(machine) for machine in range(len(sizes))) if ids is None else tuple(ids),
        rack_ids=rack_ids,
    )


def _columns(numbers: ArrayLike) -> Floats:
    array = np.asarray(numbers, np.float64)
    return array[:, None] if array.ndim == 1 else array
