"""Parts of a batch for the channels of a region, so that each task reads for the channel that it goes on with.

Introduction:
    Where any channel will do for a tuple, it need not be sent to one: a task of the source reads what its channel is to
    process, and the first PE of the region works on it in the same task. No tuple is exchanged.

Formulation:
    The extents of a batch are divided into as many parts as there are channels, of equal numbers of extents; an extent
    that lies across a border is read on both sides, and each takes its fraction of the rows. So a batch of one
    extent is divided evenly, too. Every part ends with the marks of the batch, for every channel waits for them.

When it does not apply:
    Unless the source is alone in its program, is read by columns, and all that it feeds takes its tuples in turns,
    on equally many channels; and if a gate stands behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.codegen.plan.physical import PhysicalPlan, Route
from penstock.runtime.sources.waiting import has_gate

Part = dict[str, Any]


def channels_of_source(plan: PhysicalPlan) -> int | None:
    """How many channels the only source of a plan could read for; None if its tuples have to be routed.

    Example:
        >>> from penstock.ir.graph import Application
        >>> channels_of_source(PhysicalPlan(application=Application(name="Empty"), pes=(), edges=()))
    """
    sources = [pe for pe in plan.pes if pe.role == "source"]
    if len(sources) != 1 or has_gate(plan.application):
        return None
    edges = plan.out_of(sources[0].index)
    widths = {edge.channels if edge.route is Route.TURNS else 1 for edge in edges}
    return widths.pop() if len(widths) == 1 and widths != {1} else None


def deal_to_channels(parts: Sequence[Part], channels: int) -> list[Part]:
    """The parts of a batch as one for each channel.

    Example:
        >>> part = {"extents": ["a", "b", "c"], "time_ns": 0, "end": None, "pulse": 7}
        >>> for dealt in deal_to_channels([part], 2):
        ...     print(dealt["channel"], dealt["extents"], dealt["slices"], dealt["pulse"])
        0 ['a', 'b'] [[0, 2], [0, 1]] 7
        1 ['b', 'c'] [[1, 2], [0, 2]] 7
    """
    extents = [extent for part in parts for extent in part["extents"]]
    count, last = len(extents), parts[-1]
    dealt: list[Part] = []
    for channel in range(channels):
        # In units of an extent divided by the number of channels.
        first, end = channel * count, (channel + 1) * count
        chosen = range(first // channels, -(-end // channels))
        slices = [[max(first - i * channels, 0), min(end - i * channels, channels)] for i in chosen]
        own = {"channel": channel, "extents": [extents[i] for i in chosen], "slices": slices, "of": channels}
        dealt.append({**last, **own})
    return dealt
