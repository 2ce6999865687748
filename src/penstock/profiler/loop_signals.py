"""Submit signals inside a loop over tuples: timers for sampled tuples.

Introduction:
    In a loop the operators of a segment nest as in the paper: what follows a submit stands inside the lines of the one
    who submits. A sampled tuple leaves a mark with the time where the lines of an operator begin and where they end;
    what a submit took is the sum of what its consumers took. A mark costs little more than reading the clock, and all
    else is done when the loop is over.

Formulation:
    The sampled tuples say how the time of the loop is divided among operators, the clock before and after it says how
    much there is to divide. With n_o tuples that operator o took (known exactly) and the mean time of its own for
    a sampled tuple t_o, all sampled times are multiplied by

        CPU time of the loop / sum of n_o t_o.

Example:
    >>> signals = LoopSignals(Stride(0.5, seed=1), (Site("F", None, 0),), tuples=4, reservoir=10)
    >>> signals.mark((0, signals.clock()))
    >>> signals.mark((-1, signals.clock()))
    >>> found = signals.observed(8_000.0, {"F": [4]}, {"F": [4]})
    >>> 1000 < found.mean(("process", "F", 0)) <= 2000
    True

Reference:
    Gedik et al., CIKM 2009, sections 3.1 and 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.expr.environment import Tuple
from penstock.ir.types import Schema
from penstock.profiler.clock import cpu_ns
from penstock.profiler.mark_cost import mark_cost
from penstock.profiler.raw_statistics import Key, Statistics
from penstock.profiler.sizes import memory_bytes
from penstock.profiler.stride import Stride

Counts = Mapping[str, Sequence[int]]


class Site(NamedTuple):
    """Where the lines of an operator stand in a loop.

    Attributes:
        operator: Whose lines they are.
        producer: The operator of the loop that submits to it; none for the head.
        port: Which of the producer's output ports.
    """

    operator: str
    producer: str | None
    port: int


class LoopSignals:
    """The signals of one loop for one batch.

    Args:
        stride: Says which tuples are sampled; one at least, whatever it says.
        sites: By their numbers.
        tuples: How many tuples there are.
        reservoir: How many values of a metric are kept.
        schemas: Of the streams on which sizes differ.

    Attributes:
        positions: Those of the sampled tuples, the next one last; at the end -1, which is no position.
        mark: Takes (number of a site, time) where its lines begin, and (-1, time) where they end.
        clock: What `mark` wants to know.
    """

    def __init__(
        self,
        stride: Stride,
        sites: Sequence[Site],
        tuples: int,
        reservoir: int,
        schemas: Mapping[str, Schema] | None = None,
    ) -> None:
        sampled = stride.take(tuples) or [tuples // 2] * min(tuples, 1)
        self.positions = [-1, *reversed(sampled)]
        self.clock = cpu_ns
        self._marks: list[tuple[int, int]] = []
        self.mark = self._marks.append
        self._sites = sites
        self._schemas = schemas or {}
        self._seen: dict[str, list[Tuple]] = {}
        self._statistics = Statistics(reservoir)

    def seen(self, stream: str, tuple_: Tuple) -> None:
        """A sampled tuple is on a stream that ends inside the loop."""
        self._seen.setdefault(stream, []).append(tuple_)

    def observed(self, took: float, received: Counts, submitted: Counts) -> Statistics:
        """The metrics of the sampled tuples, given the CPU time of the whole loop and the numbers of tuples."""
        self._replay()
        estimate = self._estimate(received, submitted)
        all_ns = max(0.0, took - len(self._marks) * mark_cost())
        found = self._statistics.scaled(all_ns / estimate if estimate > 0 else 1.0)
        for stream, tuples in self._seen.items():
            if (schema := self._schemas.get(stream)) is not None:
                found.add(("size", stream, 0), memory_bytes(tuples, schema), tuples=len(tuples))
        return found

    def _replay(self) -> None:
        """Turn marks into process times, and into submit times of the operators around them."""
        cost = mark_cost()
        running: list[tuple[int, int, int]] = []
        observe = self._statistics.add
        for number, (site, now) in enumerate(self._marks):
            if site >= 0:
                running.append((site, number, now))
                continue
            site, began, then = running.pop()
            inclusive = max(0.0, now - then - cost * (number - began))
            operator, producer, port = self._sites[site]
            observe(("process", operator, 0), inclusive)
            if producer is not None:
                observe(("submit", producer, port), inclusive)

    def _estimate(self, received: Counts, submitted: Counts) -> float:
        """What all tuples took, going by the sampled ones."""
        mean = self._statistics.mean
        keys: set[Key] = set(self._statistics.metrics)
        inclusive = sum(received[o][i] * mean((kind, o, i)) for kind, o, i in keys if kind == "process")
        passed_on = sum(submitted[o][i] * mean((kind, o, i)) for kind, o, i in keys if kind == "submit")
        return inclusive - passed_on
