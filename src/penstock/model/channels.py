"""How many channels a parallel region should have.

Introduction:
    `--channels auto`: the smallest number for which no further gain is predicted. More channels than that cost memory,
    tasks and start-up time and give nothing back.

Formulation:
    With scale(n) the highest scale of the plan when every parallel region has n channels: the smallest n with
    scale(n) >= (1 - `tolerance`) * max over m <= limit of scale(m).

Example:
    One host with four cores, a region whose work is all there is: four channels.

When it does not apply:
    Regions that want different numbers: all get the same one, as `--channels N` gives them.

Algorithm:
    Every number up to the limit is tried. The scale need not rise steadily (five channels on four cores run in two
    turns), so a search that stops at the first loss would stop too early.

Reference:
    Schneider et al., PACT 2012, leave the degree to the user; the rule is ours.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model.plan import Plan
from penstock.model.throughput import ThroughputModel

_MOST = 256

NO_GAIN = 0.01
"""A gain smaller than this fraction is none."""


def channels_auto(
    model: ThroughputModel, plan: Plan, *, limit: int | None = None, tolerance: float = NO_GAIN
) -> tuple[int, float]:
    """The number of channels for the parallel regions of a plan, and the scale that they reach.

    Args:
        model: Of the application and the cluster.
        plan: With its regions marked; the channels that it has are not looked at.
        limit: The most channels to try: the cores of all hosts unless given, and no more than 256.
        tolerance: A gain smaller than this fraction is none.

    Example:
        >>> from penstock.model import OperatorProfile, PlacedPE, Profile, Transfer, equal_hosts
        >>> profile = Profile(mips=1000.0, operators=(OperatorProfile(id="a", rate_tps=1.0, cpu_seconds=1.0),))
        >>> model = ThroughputModel(profile, equal_hosts(1, cores=4), Transfer(mips=1000.0))
        >>> channels_auto(model, Plan(pes=(PlacedPE(operators=("a",), hosts=("h0",), region="r"),)))
        (4, 4.0)
    """
    most = limit or min(_MOST, int(model.hosts.cores.sum()))
    if all(pe.region is None for pe in plan.pes):
        most = 1
    return fewest_with_gain(lambda n: model.scale(model.state(plan.widened(n))), most, tolerance)


def fewest_with_gain(scale: Callable[[int], float], most: int, tolerance: float = NO_GAIN) -> tuple[int, float]:
    """The smallest number of channels beyond which nothing is gained, and its scale.

    Args:
        scale: Of a number of channels.
        most: The most channels to try.
        tolerance: A gain smaller than this fraction is none.

    Example:
        >>> fewest_with_gain({1: 1.0, 2: 1.9, 3: 1.5, 4: 1.905}.__getitem__, 4)
        (2, 1.9)
    """
    scales = [scale(n) for n in range(1, most + 1)]
    enough = (1.0 - tolerance) * max(scales)
    best = next(n for n, found in enumerate(scales, 1) if found >= enough)
    return best, scales[best - 1]
