"""Submit signals inside a loop over tuples: timers for sampled tuples.

Introduction:
    In a loop the operators of a segment nest as in the paper: what follows a submit stands inside the lines of the one
    who submits. A sampled tuple leaves a mark with the time where the lines of an operator begin and where they end;
    what a submit took is the sum of what its consumers took. A mark costs little more than reading the clock on the
    wall, and all else is done when the loop is over.

Formulation:
    The sampled tuples say how the time of the loop is divided among operators, the CPU clock before and after it says
    how much there is to divide. With n_o tuples that operator o took (known exactly) and the mean time of its own for a
    sampled tuple t_o, all sampled times are multiplied by

        CPU time of the loop / sum of n_o t_o.

    A sampled tuple during which the thread had to wait for a core is left out: its time on the wall is longer than its
    CPU time.

Example:
    >>> signals = LoopSignals(Stride(0.5, seed=1), (Site("F", None, 0),), tuples=4, reservoir=10)
    >>> for mark in (CPU, 0, 0, 0, END, 90_000, CPU, 90_000):
    ...     signals.mark(mark)
    >>> found = signals.observed(400_000.0, {"F": [4]}, {"F": [4]})
    >>> 95_000 < found.mean(("process", "F", 0)) <= 100_000
    True

Algorithm:
    Marks are pairs of numbers in one array. Brackets of one depth alternate, so that a stable sort by depth pairs them.
    A metric gets up to `GROUPS` observations, each of the tuples of one part of the batch.

Reference:
    Gedik et al., CIKM 2009, sections 3.1 and 3.3.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.expr.environment import Tuple
from penstock.ir.types import Schema
from penstock.profiler.clock import cpu_ns, wall_ns
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.sizes import memory_bytes
from penstock.profiler.stride import Stride
from penstock.profiler.timers import mark_cost

Counts = Mapping[str, Sequence[int]]

GROUPS = 16
SIZES = 100
"""How many tuples of a batch are measured for their size, about: sizes vary less than times do."""

END, CPU = -1, -2
"""Instead of a site: its lines end; the CPU clock, before and after a sampled tuple."""

_WAITED_NS = 5_000
"""A thread that had to wait for a core waited longer than this."""


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
        mark: Takes a site or what stands instead of one, then the time.
        clock: The time on the wall.
        cpu: The CPU time of the thread.
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
        self._marks = array("q")
        self.mark, self.clock, self.cpu = self._marks.append, wall_ns, cpu_ns
        self._sites = sites
        self._schemas = schemas or {}
        self._seen: dict[str, list[Tuple]] = {}
        self._reservoir = reservoir

    def seen(self, stream: str, tuple_: Tuple) -> None:
        """A sampled tuple is on a stream that ends inside the loop."""
        self._seen.setdefault(stream, []).append(tuple_)

    def observed(self, took: float, received: Counts, submitted: Counts) -> Statistics:
        """The metrics of the sampled tuples, given the CPU time of the whole loop and the numbers of tuples."""
        found = self._replayed()
        estimate = _estimate(found, received, submitted)
        all_ns = max(0.0, took - len(self._marks) / 2 * mark_cost())
        found = found.scaled(all_ns / estimate if estimate > 0 else 1.0)
        for stream, tuples in self._seen.items():
            if (schema := self._schemas.get(stream)) is not None:
                some = tuples[:: len(tuples) // SIZES + 1]
                found.add(("size", stream, 0), memory_bytes(some, schema), tuples=len(some))
        return found

    def _replayed(self) -> Statistics:
        """Marks turned into process times, and into submit times of the operators around them."""
        found = Statistics(self._reservoir)
        what, when = np.frombuffer(self._marks, np.int64).reshape(-1, 2).T
        tuple_of, has_waited = _sampled_tuples(what, when)
        site, took, of = _calls(what, when, tuple_of)
        kept = ~has_waited[of]
        site, took, group = site[kept], took[kept], of[kept] * GROUPS // max(1, len(has_waited))
        cell = site * GROUPS + group
        size = len(self._sites) * GROUPS
        sums, counts = np.bincount(cell, took, size), np.bincount(cell, minlength=size)
        for index in np.flatnonzero(counts):
            operator, producer, port = self._sites[int(index) // GROUPS]
            found.add(("process", operator, 0), float(sums[index]), tuples=int(counts[index]))
            if producer is not None:
                found.add(("submit", producer, port), float(sums[index]), tuples=int(counts[index]))
        return found


def _sampled_tuples(what: Any, when: Any) -> tuple[Any, Any]:
    """For each mark the number of its sampled tuple, and for each tuple whether the thread had to wait for a core."""
    is_cpu = what == CPU
    tuple_of = (np.cumsum(is_cpu) - 1) // 2
    cpu = when[is_cpu]
    tuples = len(cpu) // 2
    on_wall = ~is_cpu
    first, last = np.full(tuples, np.iinfo(np.int64).max), np.zeros(tuples, np.int64)
    np.minimum.at(first, tuple_of[on_wall], when[on_wall])
    np.maximum.at(last, tuple_of[on_wall], when[on_wall])
    has_waited = (last - first) - (cpu[1::2] - cpu[::2]) > _WAITED_NS
    return tuple_of, has_waited if not has_waited.all() else np.zeros(tuples, bool)


def _calls(what: Any, when: Any, tuple_of: Any) -> tuple[Any, Any, Any]:
    """Site, time and sampled tuple of every run of an operator's lines."""
    marks = np.flatnonzero(what != CPU)
    is_start = what[marks] != END
    depth = np.cumsum(np.where(is_start, 1, -1)) + ~is_start
    order = marks[np.argsort(depth, kind="stable")]
    start, end = order[::2], order[1::2]
    took = np.maximum(0.0, when[end] - when[start] - mark_cost() * (end - start))
    return what[start], took, tuple_of[start]


def _estimate(found: Statistics, received: Counts, submitted: Counts) -> float:
    """The estimated time of all tuples, from the means of the sampled ones."""
    inclusive = sum(received[o][i] * found.mean((kind, o, i)) for kind, o, i in found.metrics if kind == "process")
    passed_on = sum(submitted[o][i] * found.mean((kind, o, i)) for kind, o, i in found.metrics if kind == "submit")
    return inclusive - passed_on
