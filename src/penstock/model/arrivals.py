"""How much input comes over time, and how it falls on keys: what a simulation is fed with.

The unit is the second of input: what the sources of a profile give in a second. `steady(2.0)` is input at twice the
profile's rates.

Example:
    >>> steps([(0, 1.0), (10, 3.0)]).between(8, 12)
    8.0
    >>> round(wave(mean=1.0, amplitude=0.5, period_seconds=60).between(0, 60), 9)
    60.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.base.diagnostics import UserError


class Arrivals(Protocol):
    """Input over time."""

    def between(self, start: float, end: float) -> float:
        """Seconds of input that come from `start` to `end`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Input whose rate changes in steps: from each time on, so many times the profile's; nothing before the first."""

    times: tuple[float, ...]
    scales: tuple[float, ...]

    def between(self, start: float, end: float) -> float:
        """Seconds of input."""
        edges = np.array([*self.times, math.inf])
        overlap = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0.0, None)
        return float(overlap @ np.array(self.scales))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Input that rises and falls evenly, as over a day; it starts at its mean, rising."""

    mean: float
    amplitude: float
    period_seconds: float

    def between(self, start: float, end: float) -> float:
        """Seconds of input."""
        pace = 2 * math.pi / self.period_seconds
        swing = (math.cos(pace * start) - math.cos(pace * end)) / pace
        return self.mean * (end - start) + self.amplitude * swing


def steady(scale: float) -> Steps:
    """Input at always the same rate."""
    return steps([(0.0, scale)])


def steps(points: Sequence[tuple[float, float]]) -> Steps:
    """Input that changes at the given times to the given scales.

    Raises:
        UserError: The times do not grow, or a scale is negative.
    """
    times, scales = tuple(t for t, _ in points), tuple(s for _, s in points)
    if not points or list(times) != sorted(set(times)) or min(scales) < 0:
        raise UserError(f"steps of input are {list(points)}", hint="give (time, scale) pairs with growing times")
    return Steps(times=times, scales=scales)


def wave(*, mean: float, amplitude: float, period_seconds: float) -> Wave:
    """Input that rises and falls around a mean.

    Raises:
        UserError: It would be negative at times, or has no period.
    """
    if not 0 <= amplitude <= mean or not period_seconds > 0:
        raise UserError(
            f"a wave of input has mean {mean:g}, amplitude {amplitude:g} and period {period_seconds:g}",
            hint="the amplitude is from 0 to the mean, the period above 0",
        )
    return Wave(mean=mean, amplitude=amplitude, period_seconds=period_seconds)


def bursts(
    *, calm: float, burst: float, calm_seconds: float, burst_seconds: float, until_seconds: float, seed: int
) -> Steps:
    """Input that jumps between two scales, after times that are random with these means.

    Example:
        >>> bursts(calm=1, burst=4, calm_seconds=50, burst_seconds=5, until_seconds=500, seed=1).scales[:3]
        (1, 4, 1)
    """
    rng = np.random.default_rng(seed)
    points, time, is_burst = [], 0.0, False
    while time < until_seconds:
        points.append((time, burst if is_burst else calm))
        time += float(rng.exponential(burst_seconds if is_burst else calm_seconds)) + 1e-6
        is_burst = not is_burst
    return steps(points)


def zipf_shares(channels: int, *, keys: int, exponent: float, seed: int) -> tuple[float, ...]:
    """The shares of channels when tuples go by key, and the i-th key has a part in proportion to 1 / i ** exponent.

    Which channel a key goes to is random, as a hash is.

    Example:
        >>> shares = zipf_shares(4, keys=1000, exponent=1.2, seed=7)
        >>> max(shares) > 0.3, round(sum(shares), 9)
        (True, 1.0)
    """
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    where = np.random.default_rng(seed).integers(0, channels, keys)
    shares = np.bincount(where, weights=weights, minlength=channels) / weights.sum()
    return tuple(shares.tolist())
