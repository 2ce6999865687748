"""The hosts of a cluster: cores, speed, links and racks. `docs/formats/hosts.md` describes the file.

A host entry is that of a fusion problem, with a rack, so that one list serves both.

Example:
    >>> hosts = hosts_from_json({"hosts": [{"id": "h1", "capacity": 8000, "cores": 4, "link_mbps": 1000}]})
    >>> hosts.hosts[0].core_mips, hosts.hosts[0].link_bytes
    (2000.0, 125000000.0)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.model.reading import COUNT, LIST, NAME, NAMES, POSITIVE, TEXT, Field, Reader, Record, load_object

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BYTES_IN_A_MEGABIT = 125_000.0

_FILE = (Field("hosts", *LIST), Field("racks", *LIST, default=()))
_HOST = (
    Field("id", *NAME),
    Field("capacity", *POSITIVE),
    Field("cores", *COUNT, default=1),
    Field("tags", *NAMES, default=()),
    Field("link_mbps", *POSITIVE, default=math.inf),
    Field("rack", *TEXT, default=""),
)
_RACK = (Field("id", *NAME), Field("uplink_mbps", *POSITIVE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine that runs PEs; on Spark, a worker.

    Attributes:
        id: Its name.
        capacity_mips: Of all its cores together.
        cores: How many tasks it runs at a time.
        link_bytes: What its link carries in a second, each way.
        rack: Where it stands.
        tags: What it offers.
    """

    id: str
    capacity_mips: float
    cores: int = 1
    link_bytes: float = math.inf
    rack: str = ""
    tags: frozenset[str] = frozenset()

    @property
    def core_mips(self) -> float:
        """The speed of one core."""
        return self.capacity_mips / self.cores


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """A cluster.

    Attributes:
        hosts: In order.
        uplinks: From rack to what its link to the other racks carries in a second, each way; a rack that is not in it
            has no limit.
    """

    hosts: tuple[Host, ...]
    uplinks: Mapping[str, float]

    @cached_property
    def index_of(self) -> dict[str, int]:
        """From id to position."""
        return {host.id: index for index, host in enumerate(self.hosts)}

    @cached_property
    def capacity_mips(self) -> Floats:
        """Of each host."""
        return np.array([host.capacity_mips for host in self.hosts])

    @cached_property
    def core_mips(self) -> Floats:
        """Of one core of each host."""
        return np.array([host.core_mips for host in self.hosts])

    @cached_property
    def cores(self) -> Ints:
        """Of each host."""
        return np.array([host.cores for host in self.hosts], np.int64)

    @cached_property
    def link_bytes(self) -> Floats:
        """Of each host, in a second."""
        return np.array([host.link_bytes for host in self.hosts])

    @cached_property
    def racks(self) -> tuple[str, ...]:
        """The racks, in order of appearance."""
        return tuple(dict.fromkeys(host.rack for host in self.hosts))

    @cached_property
    def rack_of(self) -> Ints:
        """The rack of each host, by position."""
        return np.array([self.racks.index(host.rack) for host in self.hosts], np.int64)

    @cached_property
    def uplink_bytes(self) -> Floats:
        """Of each rack, in a second."""
        return np.array([self.uplinks.get(rack, math.inf) for rack in self.racks])

    @cached_property
    def has_links(self) -> bool:
        """Whether something limits what flows between hosts."""
        return bool(np.isfinite(self.link_bytes).any() or np.isfinite(self.uplink_bytes).any())


def equal_hosts(
    count: int,
    *,
    cores: int = 1,
    core_mips: float = 1000.0,
    link_mbps: float = math.inf,
    racks: int = 1,
    uplink_mbps: float = math.inf,
) -> Hosts:
    """A cluster of hosts that are all alike, dealt to racks one after the other.

    Example:
        >>> cluster = equal_hosts(4, cores=2, racks=2)
        >>> [(host.id, host.rack) for host in cluster.hosts]
        [('h0', 'r0'), ('h1', 'r1'), ('h2', 'r0'), ('h3', 'r1')]
    """
    hosts = tuple(
        Host(
            id=f"h{i}",
            capacity_mips=cores * core_mips,
            cores=cores,
            link_bytes=link_mbps * _BYTES_IN_A_MEGABIT,
            rack=f"r{i % racks}",
        )
        for i in range(count)
    )
    return Hosts(hosts=hosts, uplinks={f"r{i}": uplink_mbps * _BYTES_IN_A_MEGABIT for i in range(racks)})


def read_hosts(path: Path) -> Hosts:
    """Read a file of hosts.

    Raises:
        UserError: The file cannot be read or holds no hosts; every mistake is named.
    """
    return hosts_from_json(load_object(path), str(path))


def hosts_from_json(value: Record, path: str = "hosts") -> Hosts:
    """Hosts from their JSON value; `path` is for messages.

    Raises:
        UserError: They are no hosts; every mistake is named.
    """
    reader = Reader(path)
    reader.record(value, _FILE, "the file")
    hosts = [_host(record) for record in reader.records(value, "hosts", _HOST)]
    racks = {r["id"]: r["uplink_mbps"] * _BYTES_IN_A_MEGABIT for r in reader.records(value, "racks", _RACK)}
    if value.get("hosts") == []:
        reader.complain("`hosts` is empty", 'write "hosts": [{"id": "h1", "capacity": 8000, "cores": 4}]')
    standing = {host.rack for host in hosts}
    for rack in racks:
        if rack not in standing:
            reader.complain(f"no host stands in rack `{rack}`", f'write "rack": "{rack}" in its hosts')
    reader.raise_if_any()
    return Hosts(hosts=tuple(hosts), uplinks=racks)


def hosts_to_json(hosts: Hosts) -> Record:
    """Hosts as `read_hosts` reads them."""
    racks = [{"id": r, "uplink_mbps": b / _BYTES_IN_A_MEGABIT} for r, b in hosts.uplinks.items() if math.isfinite(b)]
    return {"hosts": [_host_to_json(host) for host in hosts.hosts], "racks": racks}


def _host(record: Record) -> Host:
    return Host(
        id=record["id"],
        capacity_mips=float(record["capacity"]),
        cores=record["cores"],
        link_bytes=record["link_mbps"] * _BYTES_IN_A_MEGABIT,
        rack=record["rack"],
        tags=frozenset(record["tags"]),
    )


def _host_to_json(host: Host) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": host.id, "capacity": host.capacity_mips, "cores": host.cores}
    if host.tags:
        entry["tags"] = sorted(host.tags)
    if math.isfinite(host.link_bytes):
        entry["link_mbps"] = host.link_bytes / _BYTES_IN_A_MEGABIT
    if host.rack:
        entry["rack"] = host.rack
    return entry
