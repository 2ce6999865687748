"""A network with slow links on this machine, for a cluster whose hosts have one each.

Loopback is no network: what crosses it costs next to nothing. Where Linux allows it (root, network namespaces, the
token bucket of `tc`), each host gets a namespace of its own, and a link to a bridge that carries so many megabits a
second each way. The whole of it is in a namespace too, so nothing of it is seen from outside, and nothing is left when
the process has ended that stands in it.

    in_own_network(command)     the command, in a network of its own
    limited_network(4, 20)      in there: four hosts, and what a process has to be started with to be on one of them
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

GATEWAY = "10.77.0.1"
"""The address of the master and of drivers."""

_BRIDGE = "penstock0"
_PREPARE = 'mount -t tmpfs none /run && ip link set lo up && exec "$@"'
_BURST, _LATENCY = "64kb", "400ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place that a worker can be started at.

    Attributes:
        host: Its address.
        enter: What stands before a command that is to run there.
    """

    host: str
    enter: tuple[str, ...] = ()


def in_own_network(command: Sequence[str]) -> list[str]:
    """A command that runs another in a network, and with mounts, of its own.

    Example:
        >>> in_own_network(["true"])[-1]
        'true'
    """
    return ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", _PREPARE, "sh", *command]


@cache
def can_limit() -> bool:
    """Whether this machine lets us limit links."""
    trial = f"ip link add {_BRIDGE} type bridge && ip netns add p && tc qdisc add dev lo root tbf {_limit(1)}"
    try:
        done = subprocess.run(in_own_network(["sh", "-c", trial]), capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@contextmanager
def limited_network(hosts: int, mbps: float) -> Iterator[list[Site]]:
    """Hosts with links of so many megabits a second, each way; to be used in a network of its own."""
    _do(f"ip link add {_BRIDGE} type bridge", f"ip addr add {GATEWAY}/24 dev {_BRIDGE}", f"ip link set {_BRIDGE} up")
    sites = []
    for number in range(hosts):
        name, address = f"penstock{number + 2}", f"10.77.0.{number + 2}"
        outside = f"pst{number + 2}"
        _do(
            f"ip netns add {name}",
            f"ip link add {outside} type veth peer name wire netns {name}",
            f"ip link set {outside} master {_BRIDGE} up",
            f"ip -n {name} addr add {address}/24 dev wire",
            f"ip -n {name} link set wire up",
            f"ip -n {name} link set lo up",
            f"tc qdisc add dev {outside} root tbf {_limit(mbps)}",
            f"tc -n {name} qdisc add dev wire root tbf {_limit(mbps)}",
        )
        sites.append(Site(host=address, enter=("ip", "netns", "exec", name)))
    try:
        yield sites
    finally:
        for site in sites:
            _do(f"ip netns del {site.enter[-1]}")
        _do(f"ip link del {_BRIDGE}")


def _limit(mbps: float) -> str:
    return f"rate {round(mbps * 1000)}kbit burst {_BURST} latency {_LATENCY}"


def _do(*commands: str) -> None:
    for command in commands:
        subprocess.run(command.split(), check=True, capture_output=True)
