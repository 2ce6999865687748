"""Submit signals for the tuples that enter a container: nested timers for those that are sampled.

The sum of what the sampled tuples took, over their fraction, is an estimate of what all of them took. What they did
take is known, from the clock before and after. The ratio of the two corrects every sampled time.

Example:
    >>> signals = EntrySignals(Stride(0.5, seed=1), tuples=4, reservoir=10)
    >>> len(signals.positions), signals.positions[0]
    (3, -1)
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.expr.environment import Tuple
from penstock.ir.types import Schema
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.sizes import memory_bytes
from penstock.profiler.stride import Stride
from penstock.profiler.timers import Timers


class EntrySignals:
    """The signals of a container for one batch.

    Args:
        stride: Says which tuples are sampled; one at least, whatever it says.
        tuples: How many there are.
        reservoir: How many values of a metric are kept.
        schemas: Of the streams on which sizes differ.

    Attributes:
        positions: Those of the sampled tuples, the next one last; at the end -1, which is no position.
        start: Starts a timer.
        stop: Stops the last one.
    """

    def __init__(
        self, stride: Stride, tuples: int, reservoir: int, schemas: Mapping[str, Schema] | None = None
    ) -> None:
        sampled = stride.take(tuples) or [tuples // 2] * min(tuples, 1)
        self.positions = [-1, *reversed(sampled)]
        self._fraction = len(sampled) / tuples if tuples else 0.0
        self._schemas = schemas or {}
        self._seen: dict[str, list[Tuple]] = {}
        self._statistics = Statistics(reservoir)
        self._timers = Timers(self._statistics)
        self.start, self.stop = self._timers.start, self._timers.stop

    def seen(self, stream: str, tuple_: Tuple) -> None:
        """A sampled tuple is on a stream."""
        self._seen.setdefault(stream, []).append(tuple_)

    def observed(self, took: float) -> Statistics:
        """The metrics of the sampled tuples, given the CPU time of all of them."""
        outermost = self._timers.outermost_ns
        all_ns = took - self._timers.overhead_ns
        factor = max(0.0, all_ns) * self._fraction / outermost if outermost > 0 else 1.0
        found = self._statistics.scaled(factor)
        for stream, tuples in self._seen.items():
            if (schema := self._schemas.get(stream)) is not None:
                found.add(("size", stream, 0), memory_bytes(tuples, schema), tuples=len(tuples))
        return found
