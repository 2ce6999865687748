"""The four topologies of the scheduling paper as communication graphs, for any number of machines.

The paper measures its graphs on a running cluster; these follow its description (section IV-C, figures 2, 3 and 5). As
in the paper a task's weight is the number of tuples that it receives and emits. An edge's weight here is bytes a second
and not tuples, so that the cut is the bandwidth that figure 6 shows.

The tasks stand in random order: Storm 0.9 deals tasks out in the order of a hash set, which knows nothing of chains. In
an order by component, dealing P x 8 tasks out to P machines would happen to put every chain of Parallel on one machine.

What the paper does not say, and we had to choose, stands in the constants that `open_gov` uses.

Example:
    >>> topology = TOPOLOGIES["parallel"](10, np.random.default_rng(1))
    >>> topology.graph.tasks, topology.graph.edges, topology.tuple_bytes
    (80, 70, 16.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from penstock.placement.problem import CommunicationGraph, Floats, Ints, communication_graph

_DEPTH = 7
_SPOUT_TPS = 4000.0
_PARALLEL_BYTES, _PAYLOAD_BYTES, _REFERENCE_BYTES, _OPEN_GOV_BYTES = 16.0, 3072.0, 12.0, 80.0

# Of each tuple that a ticker task reads, the part that leaves the filter, that of the contracts, and that of the join.
_FILTERED, _CONTRACTS, _JOINED = 0.05, 0.2, 0.01
# Every company has one quote a day; contracts go to few of them, with this exponent of Zipf's law.
_COMPANIES, _ZIPF = 3000, 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topology:
    """A topology as it runs.

    Attributes:
        graph: The traffic in bytes a second; weights in tuples a second.
        sources: The sending task of each stream between two tasks.
        targets: Its receiving task.
        rates_tps: What flows on it, in tuples a second.
        spout_tps: What all spouts emit, in tuples a second.
        tuple_bytes: The size of a tuple.
        is_acked: Whether every tuple is acknowledged to a task of Storm's own, chosen by a random number.
    """

    graph: CommunicationGraph
    sources: Ints
    targets: Ints
    rates_tps: Floats
    spout_tps: float
    tuple_bytes: float
    is_acked: bool


class _Tuples:
    """Collects the tuples a second between components, and shuffles the tasks at the end."""

    def __init__(self) -> None:
        self.tasks = 0
        self.sources: list[Ints] = []
        self.targets: list[Ints] = []
        self.rates: list[Floats] = []

    def component(self, parallelism: int) -> Ints:
        """The tasks of a new spout or bolt."""
        self.tasks += parallelism
        return np.arange(self.tasks - parallelism, self.tasks)

    def connect(self, one: Ints, other: Ints, rates: ArrayLike) -> None:
        """Connect every task of one component to every task of another; `rates[i, j]` tuples a second."""
        table = np.broadcast_to(np.asarray(rates, np.float64), (len(one), len(other)))
        i, j = np.nonzero(table)
        self.sources.append(one[i])
        self.targets.append(other[j])
        self.rates.append(table[i, j])

    def topology(self, spouts: list[Ints], tuple_bytes: float, is_acked: bool, rng: np.random.Generator) -> Topology:
        """The topology with its tasks in random order."""
        sources, targets, rates = (np.concatenate(part) for part in (self.sources, self.targets, self.rates))
        emitted = np.bincount(sources, weights=rates, minlength=self.tasks)
        received = np.bincount(targets, weights=rates, minlength=self.tasks)
        position = rng.permutation(self.tasks)
        weights = np.empty(self.tasks)
        weights[position] = emitted + received
        graph = communication_graph(weights, position[sources], position[targets], rates * tuple_bytes)
        spout_tps = float(emitted[np.concatenate(spouts)].sum())
        return Topology(
            graph=graph,
            sources=position[sources],
            targets=position[targets],
            rates_tps=np.asarray(rates, np.float64),
            spout_tps=spout_tps,
            tuple_bytes=tuple_bytes,
            is_acked=is_acked,
        )


def parallel(machines: int, rng: np.random.Generator, *, tuple_bytes: float = _PARALLEL_BYTES) -> Topology:
    """As many chains of a spout and seven bolts as there are machines; nothing passes between chains."""
    tuples = _Tuples()
    chain = [tuples.component(machines) for _ in range(_DEPTH + 1)]
    for one, other in pairwise(chain):
        tuples.connect(one, other, _SPOUT_TPS * np.eye(machines))
    return tuples.topology([chain[0]], tuple_bytes, True, rng)


def payload(machines: int, rng: np.random.Generator) -> Topology:
    """Parallel with tuples of 3 KiB, the size of an e-mail."""
    return parallel(machines, rng, tuple_bytes=_PAYLOAD_BYTES)


def reference(machines: int, rng: np.random.Generator) -> Topology:
    """A chain of eight components in which every task sends equally to every task of the next component."""
    tuples = _Tuples()
    chain = [tuples.component(machines) for _ in range(_DEPTH + 1)]
    for one, other in pairwise(chain):
        tuples.connect(one, other, _SPOUT_TPS / machines)
    return tuples.topology([chain[0]], _REFERENCE_BYTES, False, rng)


def open_gov(machines: int, rng: np.random.Generator) -> Topology:
    """Stock tickers (T) aggregated (A), compared (B), filtered (F) and joined (J) with contracts (C), to one output.

    T to A and C to J are grouped by company, so each reader sends to all; A to J keep the company's key, so they run in
    straight lines. Every company has as many quotes; contracts follow Zipf's law.
    """
    tuples = _Tuples()
    tickers, contracts = tuples.component(machines - machines // 2), tuples.component(max(1, machines // 2))
    aggregate, compare, keep, join = (tuples.component(machines) for _ in range(4))
    output = tuples.component(1)
    task_of_company = rng.integers(0, machines, _COMPANIES)
    quotes = _shares(task_of_company, np.ones(_COMPANIES), machines)
    ranks = np.arange(1, _COMPANIES + 1, dtype=np.float64)
    awards = _shares(task_of_company, np.power(ranks, -_ZIPF), machines)
    arriving = _SPOUT_TPS * len(tickers) * quotes
    tuples.connect(tickers, aggregate, np.outer(np.full(len(tickers), _SPOUT_TPS), quotes))
    tuples.connect(aggregate, compare, np.diag(arriving))
    tuples.connect(compare, keep, np.diag(arriving))
    tuples.connect(keep, join, np.diag(_FILTERED * arriving))
    tuples.connect(contracts, join, np.outer(np.full(len(contracts), _CONTRACTS * _SPOUT_TPS), awards))
    tuples.connect(join, output, (_JOINED * arriving)[:, None])
    return tuples.topology([tickers, contracts], _OPEN_GOV_BYTES, True, rng)


def _shares(task_of_company: Ints, popularity: Floats, tasks: int) -> Floats:
    """The share of the tuples that each task of a bolt gets when companies are hashed to tasks."""
    return np.asarray(np.bincount(task_of_company, weights=popularity / popularity.sum(), minlength=tasks), np.float64)


TOPOLOGIES: dict[str, Callable[[int, np.random.Generator], Topology]] = {
    "open_gov": open_gov,
    "parallel": parallel,
    "payload": payload,
    "reference": reference,
}
