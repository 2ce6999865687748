"""An application as a fusion problem whose answers run on Spark.

Introduction:
    The algorithms of `penstock.fusion` know operators, streams and hosts. Spark adds rules: sources read and sinks
    write outside of its tasks, so they are no PEs that anyone could choose; PEs form no cycle; a PE never spans the
    boundary of a parallel region, and a loop of the graph stays in one PE. This module states them in the problem's own
    terms, so that every algorithm keeps them and nothing is repaired afterwards.

Formulation:
    - Operators: all but sources and sinks (`inner_operators`). Their cost is the CPU fraction of the profile in mips.
    - Streams: those between inner operators. What each end pays if one is cut is half of a crossing: what the sender
      takes to hand tuples to the JVM and it to take them, or the receiver's share, whichever is more.
    - Hosts: one for each core that is offered (`core_hosts`), since a PE is one process.
    - Regions and channels: those of `penstock.parallel`, where there is more than one channel.
    - Constraints: what they demand of PEs (`penstock.parallel.pe_demands`); which host a PE runs on is Spark's choice.
    - Loops: feedback counts as any other stream, so that acyclic plans have each loop in one PE.

Example:
    A source, a Functor, a Filter and a sink: a problem of two operators and one stream.

When it does not apply:
    Without a profile costs are equal and streams free; then only `none`, `all` and `manual` mean something.

Preserves:
    Every valid answer is a fusion that `codegen.plan.physical.physical_plan` accepts.

Reference:
    Khandekar et al., Middleware 2009, section 2; Gedik et al., CIKM 2009, section 3.4 for the costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.codegen.plan.channels import Channels, choose_channels
from penstock.codegen.plan.physical import is_sink, is_source
from penstock.fusion import FusionProblem, fusion_problem
from penstock.ir.constraints import Constraint
from penstock.ir.graph import Application
from penstock.model import Hosts, OperatorProfile, Profile, Transfer
from penstock.parallel.loops import loops
from penstock.parallel.pe_demands import pe_demands

Groups = tuple[tuple[str, ...], ...]
"""The operators of each PE; sources and sinks are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan that can be run and measured: a fusion on a number of channels.

    Attributes:
        groups: The operators of each PE.
        channels: How many channels parallel regions get; None leaves it to `@parallel` annotations.

    Example:
        >>> one, other = (Candidate(groups=groups, channels=2) for groups in ((("a",), ("b",)), (("b",), ("a",))))
        >>> one == other, one.is_same(other), one.is_same(replace(other, channels=4))
        (False, True, False)
    """

    groups: Groups
    channels: int | None = None

    def is_same(self, other: Candidate) -> bool:
        """Whether another has the same PEs, in whatever order, on as many channels."""
        return self.channels == other.channels and self._as_set() == other._as_set()

    def _as_set(self) -> frozenset[frozenset[str]]:
        return frozenset(frozenset(group) for group in self.groups)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The problem that a fusion is chosen for.

    Attributes:
        application: The logical graph.
        profile: The costs of its operators.
        transfer: The costs of moving tuples.
        hosts: The hosts that will run it.
        channels: How many channels parallel regions get; None leaves it to `@parallel` annotations.
        batch_tuples: The most tuples that a micro-batch takes from all sources.
    """

    application: Application
    profile: Profile
    transfer: Transfer
    hosts: Hosts
    channels: int | None = 1
    batch_tuples: float = float("inf")

    @cached_property
    def regions(self) -> Channels:
        """The parallel regions that run on more than one channel."""
        return choose_channels(self.application, self.channels)


def inner_operators(application: Application) -> list[str]:
    """The operators that a fusion is about, in order of declaration.

    Example:
        >>> inner_operators(Application(name="Empty"))
        []
    """
    return [o.id for o in application.operators if not is_source(o) and not is_sink(o)]


def unfused(application: Application) -> Groups:
    """Every operator a PE by itself; those of a loop share one, for no PE may be its own successor.

    Example:
        >>> unfused(Application(name="Empty"))
        ()
    """
    loop_of = {id_: number for number, loop in enumerate(loops(application)) for id_ in loop}
    groups: dict[int | str, list[str]] = {}
    for id_ in inner_operators(application):
        groups.setdefault(loop_of.get(id_, id_), []).append(id_)
    return tuple(map(tuple, groups.values()))


def spark_problem(setting: Setting) -> FusionProblem:
    """The fusion problem of an application on Spark; solve it with `acyclic`."""
    application, profile = setting.application, setting.profile
    ids = inner_operators(application)
    place = {id_: i for i, id_ in enumerate(ids)}
    streams = [(place[a], place[b], s) for a, b, s, _ in application.edges() if a in place and b in place]
    costs = crossing_mips(profile, setting.transfer)
    rate_bytes = {s.id: s.rate_bytes for s in profile.streams}
    regions = [setting.regions.region.get(id_) for id_ in ids]
    capacities, names = core_hosts(setting.hosts)
    return fusion_problem(
        [profile.operator[id_].cpu_fraction * profile.mips for id_ in ids],
        [(a, b, costs.get(s, 0.0)) for a, b, s in streams],
        capacities,
        ids=ids,
        regions=regions,
        channels=[setting.regions.width[region] if region is not None else 1 for region in regions],
        stream_bytes=[rate_bytes.get(s, 0.0) for _, _, s in streams],
        host_ids=names,
        constraints=tuple(_constraints(pe_demands(application), place)),
    )


def without_profile(application: Application) -> Profile:
    """A profile that knows nothing: every operator costs the same, and streams cost nothing."""
    operators = (OperatorProfile(id=o.id, kind=o.kind, rate_tps=1.0, cpu_seconds=1e-6) for o in application.operators)
    return Profile(application=application.name, mips=1000.0, operators=tuple(operators))


def crossing_mips(profile: Profile, transfer: Transfer) -> dict[str, float]:
    """The paper's w_e of each stream: what each end pays if it is cut, in mips."""
    found = {}
    for stream in profile.streams:
        amount = stream.rate_tps, stream.tuple_bytes
        sender, receiver = (
            sum(transfer.part(part).seconds(*amount) for part in parts)
            for parts in (("python_send", "jvm_drain"), ("jvm_feed", "python_receive"))
        )
        found[stream.id] = max(sender, receiver) * transfer.mips
    return found


def core_hosts(hosts: Hosts) -> tuple[list[float], list[str]]:
    """A host for each core: a PE is a process, and COLA takes a host for one unit.

    Example:
        >>> from penstock.model import equal_hosts
        >>> core_hosts(equal_hosts(1, cores=2, core_mips=500.0))
        ([500.0, 500.0], ['h0.0', 'h0.1'])
    """
    cores = [(host.core_mips, f"{host.id}.{core}") for host in hosts.hosts for core in range(host.cores)]
    return [mips for mips, _ in cores], [name for _, name in cores]


def _constraints(given: Sequence[Constraint], inner: dict[str, int]) -> Iterator[Constraint]:
    """The demands on PEs, without the operators that no fusion decides about."""
    for constraint in given:
        operators = tuple(id_ for id_ in constraint.operators if id_ in inner)
        if operators:
            yield replace(constraint, operators=operators)
