"""Raw statistics: what submit signals have collected, before anything is made of it.

A metric is a reservoir of observations; an observation is the time of day, what was measured, and of how many tuples
(one, or all of a batch). The metrics are those of section 3.1 of the SPADE paper:

    process   CPU time to process a tuple that came to an input port, with all that follows inside the PE
    submit    CPU time to submit a tuple by an output port: all that follows
    size      bytes of a tuple on a stream
    receive   CPU time of a PE to take tuples in
    send      CPU time of a PE to hand tuples on

and, for operators with threads of their own, their base CPU time. Numbers of tuples are counted, not sampled; they
travel beside these.

Example:
    >>> one, other = Statistics(), Statistics()
    >>> one.add(("process", "F", 0), 2_000, tuples=2)
    >>> other.add(("process", "F", 0), 4_000, tuples=2)
    >>> one.merge(Statistics.from_json(other.to_json()))
    >>> one.mean(("process", "F", 0))
    1500.0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.profiler.clock import now_ns
from penstock.profiler.reservoir import Reservoir

Key = tuple[str, str, int]
"""Which metric, of which operator (or stream, or PE), at which port."""

Observation = tuple[int, float, int]
"""When, how much, of how many tuples."""

RESERVOIR = 5_000


class Statistics:
    """The metrics of one PE, or of several.

    Args:
        size: Of every reservoir.

    Attributes:
        metrics: The reservoir of each metric.
        base_ns: CPU time of the threads of an operator that no tuple drives.
    """

    def __init__(self, size: int = RESERVOIR) -> None:
        self.size = size
        self.metrics: dict[Key, Reservoir] = {}
        self.base_ns: dict[str, float] = {}

    def add(self, key: Key, amount: float, *, tuples: int = 1) -> None:
        """Collect one observation."""
        self._metric(key).add((now_ns(), amount, tuples))

    def add_base(self, operator: str, cpu_ns: float) -> None:
        """Count CPU time that no tuple drives."""
        self.base_ns[operator] = self.base_ns.get(operator, 0.0) + cpu_ns

    def observations(self, key: Key) -> Iterable[Observation]:
        """The observations of a metric that are kept; none where nothing was observed."""
        return self.metrics[key].values if key in self.metrics else ()

    def mean(self, key: Key) -> float:
        """The average amount for a tuple; 0 where nothing was observed."""
        found = self.observations(key)
        tuples = sum(n for _, _, n in found)
        return sum(amount for _, amount, _ in found) / tuples if tuples else 0.0

    def variance(self, key: Key) -> float:
        """By how much single tuples differ.

        An observation of n tuples tells of their mean only: its square distance counts n times, as that of a mean of n
        independent ones does.
        """
        found, mean = list(self.observations(key)), self.mean(key)
        distances = [n * (amount / n - mean) ** 2 for _, amount, n in found if n]
        return sum(distances) / (len(distances) - 1) if len(distances) > 1 else 0.0

    def merge(self, other: Statistics) -> None:
        """Take what another has collected: other channels, other batches, other PEs."""
        for key, reservoir in other.metrics.items():
            self._metric(key).merge(reservoir)
        for operator, cpu_ns in other.base_ns.items():
            self.add_base(operator, cpu_ns)

    def scaled(self, factor: float) -> Statistics:
        """The same with every amount multiplied."""
        for metric in self.metrics.values():
            metric.values = [(at, amount * factor, tuples) for at, amount, tuples in metric.values]
        return self

    def to_json(self) -> dict[str, Any]:
        """Plain data for a report."""
        metrics = [[*key, found.seen, found.values] for key, found in self.metrics.items()]
        return {"size": self.size, "metrics": metrics, "base_ns": self.base_ns}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Statistics:
        """Statistics from the value that `to_json` gave."""
        made = cls(value["size"])
        for kind, owner, port, seen, values in value["metrics"]:
            metric = made._metric((kind, owner, port))
            metric.seen, metric.values = seen, [tuple(v) for v in values]
        made.base_ns = dict(value["base_ns"])
        return made

    def _metric(self, key: Key) -> Reservoir:
        if key not in self.metrics:
            self.metrics[key] = Reservoir(self.size)
        return self.metrics[key]
