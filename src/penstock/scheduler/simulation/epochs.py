"""The events of a cluster over time: jobs come and go, nodes fail and return, weights change.

A scenario is a cluster and a list of events, each in a micro epoch; `random_scenario` draws one from a seed. The
simulator plays it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.scheduler.problem.admission_problem import Flow, Job, Output, Pe, Table, Template
from penstock.scheduler.problem.nodes import Cluster, Constraint, Link, Needs, Node, Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArrives:
    """A job asks to be admitted.

    Attributes:
        job: The job.
        needs: What its PEs ask of their nodes.
        constraints: Rules about its PEs.
    """

    job: Job
    needs: Mapping[str, Needs] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLeaves:
    """A job ends or is cancelled."""

    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFails:
    """A node vanishes, with whatever runs on it."""

    node_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReturns:
    """A node comes back, empty."""

    node_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PeFails:
    """A PE crashes; its node goes on."""

    pe_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PeReturns:
    """A PE that crashed can run again."""

    pe_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsChange:
    """All streams of a job count so many times as much as they did when it arrived."""

    job_id: str
    factor: float


Event = JobArrives | JobLeaves | NodeFails | NodeReturns | PeFails | PeReturns | WeightsChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A cluster and what happens to it.

    Attributes:
        cluster: All nodes up, nothing running.
        events: What happens in each micro epoch.
    """

    cluster: Cluster
    events: tuple[tuple[Event, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Climate:
    """How eventful a random scenario is.

    Attributes:
        nodes: How many there are.
        node_mips: Of each.
        arrivals: Jobs that arrive in an epoch, on average.
        stay: Epochs that a job stays, on average.
        failures: The chance that a node fails in an epoch.
        repair: Epochs that a node or a PE is down, on average.
        crashes: The chance that a PE of a job crashes in an epoch.
        weight_changes: The chance that a job's weights change in an epoch.
        varied: Whether jobs may be required, have two templates, read from each other and have minima that bind.
        rules: Of the cluster.
    """

    nodes: int = 10
    node_mips: float = 1000.0
    arrivals: float = 0.8
    stay: float = 60.0
    failures: float = 0.004
    repair: float = 8.0
    crashes: float = 0.005
    weight_changes: float = 0.03
    varied: bool = True
    rules: Rules = field(default_factory=lambda: Rules(max_moves=6, max_moves_per_node=3))


def random_scenario(seed: int, epochs: int, climate: Climate | None = None) -> Scenario:
    """Draw a scenario; the same seed gives the same one.

    Example:
        >>> scenario = random_scenario(7, 50)
        >>> scenario == random_scenario(7, 50), len(scenario.events), len(scenario.cluster.nodes)
        (True, 50, 10)
    """
    climate = climate or Climate()
    rng = np.random.default_rng(seed)
    nodes = tuple(_node(i, climate) for i in range(climate.nodes))
    half = frozenset(node.id for node in nodes[: climate.nodes // 2])
    uplink = Link(id="uplink", nodes=half, capacity_mbps=400.0)
    cluster = Cluster(nodes=nodes, links=(uplink,), rules=climate.rules)
    weather = _Weather(rng, climate, [node.id for node in nodes])
    return Scenario(cluster=cluster, events=tuple(tuple(weather.events(epoch)) for epoch in range(epochs)))


def _node(index: int, climate: Climate) -> Node:
    tags = frozenset({"gpu"}) if index % 3 == 0 else frozenset[str]()
    return Node(
        id=f"n{index}", mips=climate.node_mips, memory_mb=16_000.0, bandwidth_mbps=1000.0, tags=tags, max_pes=16
    )


class _Weather:
    """Draws the events of one epoch after the other."""

    def __init__(self, rng: np.random.Generator, climate: Climate, nodes: Sequence[str]) -> None:
        self._rng = rng
        self._climate = climate
        self._nodes = nodes
        self._leaving: dict[str, int] = {}
        self._returning: dict[str, int] = {}
        self._recovering: dict[str, int] = {}
        self._pes: dict[str, list[str]] = {}
        self._count = 0

    def events(self, epoch: int) -> list[Event]:
        happened: list[Event] = [JobLeaves(job_id=job) for job in _due(self._leaving, epoch)]
        happened += [NodeReturns(node_id=node) for node in _due(self._returning, epoch)]
        happened += [PeReturns(pe_id=pe) for pe in _due(self._recovering, epoch)]
        happened += self._arrivals(epoch) + self._failures(epoch) + self._crashes(epoch) + self._weight_changes()
        return happened

    def _arrivals(self, epoch: int) -> list[Event]:
        # The first epoch brings about as many jobs as there will be later on.
        expected = self._climate.arrivals * (self._climate.stay if epoch == 0 else 1.0)
        arrived: list[Event] = []
        for _ in range(int(self._rng.poisson(expected))):
            self._count += 1
            streams = [result_of(job) for job in self._leaving]
            job = random_job(self._rng, f"J{self._count}", streams=streams, varied=self._climate.varied)
            arrived.append(job)
            self._pes[f"J{self._count}"] = list(job.needs)
            self._leaving[f"J{self._count}"] = epoch + 1 + int(self._rng.exponential(self._climate.stay))
        return arrived

    def _failures(self, epoch: int) -> list[Event]:
        up = [node for node in self._nodes if node not in self._returning]
        failing = [node for node in up if self._rng.random() < self._climate.failures][: len(up) - 1]
        for node in failing:
            self._returning[node] = epoch + 1 + int(self._rng.exponential(self._climate.repair))
        return [NodeFails(node_id=node) for node in failing]

    def _crashes(self, epoch: int) -> list[Event]:
        hit = [job for job in self._leaving if self._rng.random() < self._climate.crashes]
        crashed = [pe for pe in (str(self._rng.choice(self._pes[job])) for job in hit) if pe not in self._recovering]
        for pe in crashed:
            self._recovering[pe] = epoch + 1 + int(self._rng.exponential(self._climate.repair))
        return [PeFails(pe_id=pe) for pe in crashed]

    def _weight_changes(self) -> list[Event]:
        changed = [job for job in self._leaving if self._rng.random() < self._climate.weight_changes]
        return [WeightsChange(job_id=job, factor=float(self._rng.choice([0.2, 0.5, 1.0, 2.0, 5.0]))) for job in changed]


def _due(schedule: dict[str, int], epoch: int) -> list[str]:
    """Take from a schedule what is due."""
    due = [name for name, when in schedule.items() if when <= epoch]
    for name in due:
        del schedule[name]
    return due


def random_job(
    rng: np.random.Generator, job_id: str, *, streams: Sequence[str] = (), varied: bool = False
) -> JobArrives:
    """A chain of two to four PEs that ends in a valued stream, with needs and rules now and then.

    Args:
        rng: What to draw with.
        job_id: The job's id.
        streams: Of other jobs: now and then the job reads one of them instead of a source of its own.
        varied: Whether it may be required, have a lighter template beside the full one, and have minima that bind.
    """
    length = int(rng.integers(2, 5))
    offered = float(rng.uniform(50, 400))
    reads = str(rng.choice(list(streams))) if streams and rng.random() < 0.25 else None
    least = float(rng.uniform(0.05, 0.4)) if varied else 0.05
    full = _chain(rng, f"{job_id}", length, offered=offered, reads=reads, least=least)
    templates = [Template(id="full", pes=full)]
    if varied and rng.random() < 0.3:
        light = _chain(rng, f"{job_id}.light", 2, offered=offered, reads=reads, least=least, thrift=0.4)
        templates.append(Template(id="light", pes=light))
    needs = {pe.id: _needs(rng) for template in templates for pe in template.pes}
    required = bool(varied and rng.random() < 0.06)
    job = Job(id=job_id, rank=int(rng.integers(1, 4)), required=required, templates=tuple(templates))
    return JobArrives(job=job, needs=needs, constraints=_rules_of_job(rng, job_id, length))


def result_of(job_id: str) -> str:
    """The stream that a job of `random_job` ends in, whatever its template."""
    return f"{job_id}.result"


def _chain(
    rng: np.random.Generator,
    name: str,
    length: int,
    *,
    offered: float,
    reads: str | None,
    least: float,
    thrift: float = 1.0,
) -> tuple[Pe, ...]:
    """A chain of PEs; a thrifty one costs and earns less."""
    pes = []
    for i in range(length):
        cost = float(rng.uniform(0.3, 2.0)) * thrift
        last = i == length - 1
        value = Table(points=((0.0, 0.0), (offered / 4, 50.0 * thrift), (offered, 100.0 * thrift))) if last else None
        rate = Flow(mips_per_tps=cost, selectivity=float(rng.uniform(0.6, 1.0)))
        stream = result_of(name.removesuffix(".light")) if last else f"{name}.{i}.out"
        output = Output(stream=stream, rate=rate, value=value, weight=float(rng.uniform(0.5, 2.0)))
        first = () if reads is None else (reads,)
        most = float(cost * offered)
        pes.append(
            Pe(
                id=f"{name}.{i}",
                min_mips=least * most,
                max_mips=most,
                inputs=(f"{name}.{i - 1}.out",) if i else first,
                offered_tps=offered if not i and reads is None else 0.0,
                outputs=(output,),
            )
        )
    return tuple(pes)


def _needs(rng: np.random.Generator) -> Needs:
    tags = frozenset({"gpu"}) if rng.random() < 0.1 else frozenset[str]()
    return Needs(memory_mb=float(rng.uniform(100, 800)), max_nodes=int(rng.integers(1, 4)), tags=tags)


def _rules_of_job(rng: np.random.Generator, job_id: str, length: int) -> tuple[Constraint, ...]:
    draw = rng.random()
    if draw < 0.2:
        return (Constraint(kind="exlocation", pes=(f"{job_id}.0", f"{job_id}.{length - 1}")),)
    if draw < 0.4:
        return (Constraint(kind="colocation", pes=(f"{job_id}.0", f"{job_id}.1")),)
    return ()
