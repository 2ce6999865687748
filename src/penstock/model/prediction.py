"""The model's prediction for a plan.

Example:
    A micro-batch takes 0.2 s in any case and 0.5 s for each second of input: tuples may come twice as fast as in the
    profile, and at the profile's rate a micro-batch takes 0.4 s.

    >>> prediction = Prediction(fixed_seconds=0.2, load_seconds=0.5, source_rates={"a": 100.0})
    >>> prediction.scale, prediction.sustained_rates, prediction.batch_seconds(1.0)
    (2.0, {'a': 200.0}, 0.4)
    >>> prediction.batch_seconds(2.5)
    inf
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.model.stage_time import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The bottleneck of a plan, or of one of its stages.

    Attributes:
        limit: Its kind.
        name: The operator, the number of the PE, the host or the rack.
        share: The part of a micro-batch's time that goes by while it is busy, at the highest rate.
    """

    limit: Limit
    name: str = ""
    share: float = 0.0

    def __str__(self) -> str:
        return f"{self.limit.value} {self.name}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePrediction:
    """One stage of a micro-batch.

    Attributes:
        pes: Its PEs, in order.
        seconds: What it takes for a second of input.
        bottleneck: What it waits for.
    """

    pes: tuple[int, ...]
    seconds: float
    bottleneck: Bottleneck


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How far a plan carries.

    Attributes:
        fixed_seconds: What a micro-batch takes in any case.
        load_seconds: What it takes besides for each second of input at the profile's rates.
        batch_limit: The most input that a micro-batch takes, in seconds at the profile's rates.
        source_rates: The profile's rate of each source.
        bottleneck: What holds the plan up.
        stages: In an order in which they run.
        pe_utilization: Of each PE, the part of the time that the process of its slowest channel is busy.
        host_utilization: Of each host, the part of its capacity that is used.
        link_utilization: Of each link of a host, the busier way.
        uplink_utilization: Of each rack's link to the others, the busier way.

    All utilizations are at the highest rate.
    """

    fixed_seconds: float
    load_seconds: float
    batch_limit: float = math.inf
    source_rates: Mapping[str, float]
    bottleneck: Bottleneck = Bottleneck(limit=Limit.OVERHEAD)
    stages: tuple[StagePrediction, ...] = ()
    pe_utilization: tuple[float, ...] = ()
    host_utilization: Mapping[str, float] = field(default_factory=dict)
    link_utilization: Mapping[str, float] = field(default_factory=dict)
    uplink_utilization: Mapping[str, float] = field(default_factory=dict)

    @property
    def scale(self) -> float:
        """By how much all rates may grow over the profile's; infinite where nothing costs anything."""
        return highest_scale(self.fixed_seconds, self.load_seconds, self.batch_limit)

    @property
    def sustained_rates(self) -> dict[str, float]:
        """The highest rate of each source, in tuples a second, when all grow alike."""
        return {source: rate * self.scale for source, rate in self.source_rates.items()}

    def batch_seconds(self, scale: float) -> float:
        """How long a micro-batch takes when tuples come at `scale` times the profile's rates, one after the other.

        Each takes in what came while the one before it ran; it is infinite where that grows without end.
        """
        if scale > self.scale:
            return math.inf
        left = 1.0 - self.load_seconds * scale
        if math.isinf(self.batch_limit):
            return self.fixed_seconds / left if left > 0 else math.inf
        return min(self.fixed_seconds / left if left > 0 else math.inf, self.longest_batch_seconds)

    @property
    def longest_batch_seconds(self) -> float:
        """How long a micro-batch takes that is as large as it may be."""
        return self.fixed_seconds + self.load_seconds * self.batch_limit if self.load_seconds else self.fixed_seconds

    def latency_seconds(self, scale: float) -> float:
        """How old a tuple is, on average, when its micro-batch is done: it waits for half of the one before."""
        return 1.5 * self.batch_seconds(scale)

    def to_json(self) -> dict[str, object]:
        """The prediction as `--json` prints it."""
        return {
            "scale": _finite(self.scale),
            "sustained_tps": {source: _finite(rate) for source, rate in self.sustained_rates.items()},
            "bottleneck": _bottleneck_to_json(self.bottleneck),
            "batch_seconds": _finite(self.batch_seconds(1.0)),
            "latency_seconds": _finite(self.latency_seconds(1.0)),
            "fixed_seconds": self.fixed_seconds,
            "load_seconds": self.load_seconds,
            "stages": [
                {"pes": list(s.pes), "seconds": s.seconds, "bottleneck": _bottleneck_to_json(s.bottleneck)}
                for s in self.stages
            ],
            "utilization": {
                "pes": list(self.pe_utilization),
                "hosts": dict(self.host_utilization),
                "links": dict(self.link_utilization),
                "uplinks": dict(self.uplink_utilization),
            },
        }


def highest_scale(fixed_seconds: float, load_seconds: float, batch_limit: float) -> float:
    """The scale at which micro-batches of `batch_limit` just keep up with their input."""
    if math.isinf(batch_limit):
        return 1.0 / load_seconds if load_seconds > 0 else math.inf
    seconds = fixed_seconds + load_seconds * batch_limit
    return batch_limit / seconds if seconds > 0 else math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _bottleneck_to_json(found: Bottleneck) -> dict[str, object]:
    return {"kind": found.limit.value, "name": found.name, "share": found.share}
