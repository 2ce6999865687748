"""The predictions of `penstock.model` for the placements of figure 6: every task a PE, on the machine it was put on.

The model is of Spark's micro-batches. Tasks that follow each other on one machine form a stage and work at the same
time; where tuples change machines, or several tasks send to one, there is an exchange, and the next stage waits for it.
So a placement that cuts a chain costs more here than on Storm, whose tasks never wait for the end of a stage. The costs
of tuples and bytes are those of `Host`: assumed, and the same for all placements.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from penstock.model import (
    Cost,
    OperatorProfile,
    PlacedPE,
    Plan,
    Profile,
    StreamProfile,
    ThroughputModel,
    Transfer,
    equal_hosts,
)
from penstock.placement.problem import Ints
from penstock.placement.topologies import Topology

_MIPS = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The capacity of a machine and the costs on it; assumed, after the paper's iMacs (four cores, 1 Gbit/s).

    Attributes:
        cores: The number of its cores.
        link_bytes: The bytes that its link carries in a second, each way.
        tuple_seconds: Core time to receive or emit one tuple.
        byte_seconds: Core time to serialize or deserialize one byte that crosses machines.
        ack_bytes: The bytes that acknowledging one tuple sends, to a task anywhere; no placement can save them.
    """

    cores: int = 4
    link_bytes: float = 125e6
    tuple_seconds: float = 10e-6
    byte_seconds: float = 10e-9
    ack_bytes: float = 40.0


def topology_model(topology: Topology, machines: int, host: Host) -> ThroughputModel:
    """The throughput model of a topology on equal machines.

    Example:
        >>> from penstock.placement.topologies import parallel
        >>> topology = parallel(2, np.random.default_rng(1))
        >>> model = topology_model(topology, 2, Host())
        >>> chains = np.empty(16, np.int64)
        >>> for first in (0, 1):
        ...     task = [t for t in range(16) if t not in topology.targets][first]
        ...     while task is not None:
        ...         chains[task] = first
        ...         task = next(iter(topology.targets[topology.sources == task]), None)
        >>> together, dealt = (predicted_scale(model, where) for where in (chains, np.arange(16) % 2))
        >>> together > dealt
        True
    """
    moving = Cost(seconds_per_byte=host.byte_seconds)
    transfer = Transfer(mips=_MIPS, exchange_write=moving, exchange_read=moving)
    cluster = equal_hosts(machines, cores=host.cores, core_mips=_MIPS, link_mbps=host.link_bytes / 125_000.0)
    return ThroughputModel(_profile(topology, host), cluster, transfer)


def predicted_scale(model: ThroughputModel, machine_of: Ints) -> float:
    """By how much all rates could grow if every task were a PE on its machine."""
    pes = (
        PlacedPE(operators=(operator.id,), hosts=(f"h{machine}",))
        for operator, machine in zip(model.profile.operators, machine_of.tolist(), strict=True)
    )
    return model.scale(model.state(Plan(pes=tuple(pes))))


def _profile(topology: Topology, host: Host) -> Profile:
    """A stream for each pair of tasks that talk, on a port of its own."""
    tasks = topology.graph.tasks
    emitted, received = (
        np.bincount(end, weights=topology.rates_tps, minlength=tasks).tolist()
        for end in (topology.sources, topology.targets)
    )
    ports: dict[int, list[float]] = defaultdict(list)
    streams = []
    ends = zip(topology.sources.tolist(), topology.targets.tolist(), topology.rates_tps.tolist(), strict=True)
    for number, (source, target, rate) in enumerate(ends):
        port = len(ports[source])
        ports[source].append(rate)
        streams.append(_stream(number, source, port, target, rate, topology.tuple_bytes))
    operators = [
        _task(task, received[task] or emitted[task], emitted[task] + received[task], ports[task], host)
        for task in range(tasks)
    ]
    return Profile(mips=_MIPS, operators=tuple(operators), streams=tuple(streams))


def _stream(number: int, source: int, port: int, target: int, rate: float, tuple_bytes: float) -> StreamProfile:
    return StreamProfile(
        id=f"s{number}",
        producer=f"t{source}",
        port=port,
        consumers=(f"t{target}",),
        rate_tps=rate,
        tuple_bytes=tuple_bytes,
    )


def _task(task: int, taken: float, handled: float, sent: list[float], host: Host) -> OperatorProfile:
    return OperatorProfile(
        id=f"t{task}",
        rate_tps=taken,
        cpu_seconds=handled * host.tuple_seconds / taken if taken else 0.0,
        selectivity=tuple(rate / taken for rate in sent),
    )
