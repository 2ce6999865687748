"""How long a stage takes for a second of input, and what holds it up.

Formulation:
    The seconds of a stage are the largest of

    - busiest thread * `in_turns`: one process or thread has one core; channels beyond the cores of a host wait;
    - all threads * `crowding`: they share the cores of their hosts;
    - bytes fetched by its exchange * what a byte costs on the links of hosts and the uplinks of racks.

    Each grows in proportion to the input, and falls with faster cores, more cores and wider links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter

from penstock.model.hosts import Floats, Hosts
from penstock.model.spread import Spread
from penstock.model.stages import StageLoad


class Limit(Enum):
    """The kinds of bottleneck of a stage, or of a whole plan."""

    OPERATOR = "sequential operator"
    PE = "PE"
    CROSSING = "crossing of PE"
    HOST = "host"
    LINK = "link"
    UPLINK = "uplink"
    OVERHEAD = "micro-batch overhead"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageTime:
    """A stage with its time.

    Attributes:
        load: What it demands.
        spread: How that falls on hosts.
        seconds: For a second of input.
        limit: What takes that long: `PE`, `CROSSING`, `HOST`, `LINK` or `UPLINK`.
        index: Which PE, host or rack; of a crossing, see `load.thread`.
        links: Seconds that the links of hosts and the uplinks of racks are busy, leaving and entering; None where
            nothing flows, or nothing is limited.
    """

    load: StageLoad
    spread: Spread
    seconds: float
    limit: Limit
    index: int
    links: Floats | None = None


def time_stage(hosts: Hosts, load: StageLoad, spread: Spread, fetched: Sequence[tuple[float, Floats]]) -> StageTime:
    """Time a stage.

    Args:
        hosts: The cluster.
        load: The demands of the stage.
        spread: Of its channels.
        fetched: The bytes that come by exchanges, each with its `link_factors`; none where no link is limited.
    """
    found = max(_own_limits(load, spread), key=itemgetter(0))
    links = _busy_links(fetched) if fetched else None
    if links is not None:
        place = int(links.argmax())
        seconds = float(links.flat[place])
        if seconds > found[0]:
            found = (seconds, *link_at(hosts, place % links.shape[1]))
    return StageTime(load=load, spread=spread, seconds=found[0], limit=found[1], index=found[2], links=links)


def _busy_links(fetched: Sequence[tuple[float, Floats]]) -> Floats:
    busy = fetched[0][0] * fetched[0][1]
    for count, factors in fetched[1:]:
        busy += count * factors
    return busy


def link_at(hosts: Hosts, place: int) -> tuple[Limit, int]:
    """The kind of the link in a column of `StageTime.links`, and the number of its host or rack."""
    count = len(hosts.hosts)
    return (Limit.LINK, place) if place < count else (Limit.UPLINK, place - count)


def _own_limits(load: StageLoad, spread: Spread) -> list[tuple[float, Limit, int]]:
    kind = Limit.PE if load.thread is None else Limit.CROSSING
    return [
        (load.busiest * spread.longest, kind, load.pe),
        (load.busiest * spread.in_turns, Limit.HOST, spread.waiting_host),
        (load.total * spread.crowding, Limit.HOST, spread.crowded_host),
    ]
