"""How a load falls on hosts when it is spread over channels.

All times are in proportion to the load, so a place is summed up by a few factors: multiply them by mips, or bytes, to
get seconds.

Example:
    Three even channels on a host with two cores of 100 mips: each takes 1/300 of the load's mips in seconds, two run
    at once and the third waits for its turn.

    >>> from penstock.model.hosts import equal_hosts
    >>> hosts = equal_hosts(1, cores=2, core_mips=100.0)
    >>> spread = spread_over(hosts, (("h0",), 3, ()))
    >>> [round(300 * factor, 6) for factor in (spread.longest, spread.in_turns, spread.crowding)]
    [1.0, 2.0, 1.5]
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from penstock.model.hosts import Floats, Hosts, Ints
from penstock.model.plan import Place


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """The factors of a place.

    Attributes:
        host_shares: The part of the load that falls on each host.
        longest: Seconds for each mips of a thread: the slowest channel.
        in_turns: The same, when channels that find no free core wait for one.
        crowding: Seconds for each mips of all threads together: the host that is the most crowded.
        slowest_host: The host of the slowest channel.
        waiting_host: The host that is the last to finish its channels.
        crowded_host: The host that is the most crowded.
    """

    host_shares: Floats
    longest: float
    in_turns: float
    crowding: float
    slowest_host: int
    waiting_host: int
    crowded_host: int


def spread_over(hosts: Hosts, place: Place) -> Spread:
    """The spread of a place."""
    return spread_of(hosts, channel_hosts(hosts, place), channel_shares(place))


def channel_hosts(hosts: Hosts, place: Place) -> Ints:
    """The host of each channel."""
    names, channels, _ = place
    return np.array([hosts.index_of[names[c % len(names)]] for c in range(channels)], np.int64)


def channel_shares(place: Place) -> Floats:
    """The share of the tuples that each channel gets."""
    _, channels, shares = place
    return np.array(shares) if shares else np.full(channels, 1.0 / channels)


def spread_of(hosts: Hosts, where: Ints, shares: Floats) -> Spread:
    """The spread of channels with these hosts and shares."""
    host_shares = np.bincount(where, weights=shares, minlength=len(hosts.hosts)).astype(np.float64)
    crowding = host_shares / hosts.capacity_mips
    times = shares / hosts.core_mips[where]
    slowest = int(times.argmax())
    waiting, in_turns = _last_host(hosts, where, times)
    crowded = int(crowding.argmax())
    return Spread(
        host_shares=host_shares,
        longest=float(times[slowest]),
        in_turns=in_turns,
        crowding=float(crowding[crowded]),
        slowest_host=int(where[slowest]),
        waiting_host=waiting,
        crowded_host=crowded,
    )


def _last_host(hosts: Hosts, where: Ints, times: Floats) -> tuple[int, float]:
    """The host that is the last to finish, and when: Spark gives a free core to the next channel in order."""
    slowest = int(times.argmax())
    last = (int(where[slowest]), float(times[slowest]))
    full = np.flatnonzero(np.bincount(where, minlength=len(hosts.hosts)) > hosts.cores)
    for host in full.tolist():
        free = [0.0] * int(hosts.cores[host])
        for seconds in times[where == host].tolist():
            heapq.heapreplace(free, free[0] + seconds)
        if max(free) > last[1]:
            last = (host, max(free))
    return last


def link_factors(hosts: Hosts, origin: Spread, goal: Spread) -> Floats:
    """Seconds that each byte from one place to another keeps links busy.

    Every channel of the origin sends to every channel of the goal, in proportion to their shares.

    Returns:
        What leaves and what enters, in two rows: the links of hosts first, then the uplinks of racks.

    Example:
        >>> from penstock.model.hosts import equal_hosts
        >>> hosts = equal_hosts(2, link_mbps=8.0)
        >>> one, both = (spread_over(hosts, (names, 2, ())) for names in (("h0",), ("h0", "h1")))
        >>> link_factors(hosts, one, both).tolist()
        [[5e-07, 0.0, 0.0], [0.0, 5e-07, 0.0]]
    """
    racks = len(hosts.racks)
    sent, taken = (
        np.concatenate([s.host_shares, np.bincount(hosts.rack_of, weights=s.host_shares, minlength=racks)])
        for s in (origin, goal)
    )
    capacity = np.concatenate([hosts.link_bytes, hosts.uplink_bytes])
    return np.asarray([sent * (1.0 - taken) / capacity, taken * (1.0 - sent) / capacity])
