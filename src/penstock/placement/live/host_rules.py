"""Which hosts the channels of each PE may be on, so that every demand on hosts is kept wherever they are put there.

Introduction:
    The demands are those of the COLA paper: resource matches, host colocation and exlocation, replicas on different
    hosts, a host for one operator alone. A running job moves channels, and must not break one of them by doing so.

Formulation:
    A *unit* is PEs that host colocation binds together. Each unit gets a set of hosts, its *domain*. A host is in the
    domain of a unit only if all resource matches of its operators allow it, and domains of units that may not share a
    host have no host in common. So whatever hosts of its domain a channel is on, nothing is broken, with one
    exception: the channels of a unit with a host colocation are all on one host (`HostRules.together`). A demand is
    about all channels of an operator.

Example:
    >>> from penstock.ir.constraints import ConstraintKind
    >>> apart = Constraint(kind=ConstraintKind.HOST_EXLOCATION, operators=("A", "B"))
    >>> pes = [Located(pe=1, operators=("A",), channels=2), Located(pe=2, operators=("B",), channels=2)]
    >>> found = host_rules(pes, [apart], {"h1": frozenset(), "h2": frozenset()})
    >>> sorted(found.allowed[1]), sorted(found.allowed[2])
    (['h1'], ['h2'])

When it does not apply:
    A source is read by tasks that Spark runs wherever a core is free. So a source counts as being on all hosts, and
    what that cannot keep is refused. Only a host that is for one operator alone may be read on: no channel
    of another PE is put there.

Algorithm:
    A host for each different need, by first fit and, where that finds none, an integer program (`host_signatures`);
    then the units take further hosts in turns.

Reference:
    Khandekar et al., Middleware 2009, section 3.1. There an operator has one host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.fusion.graph.host_needs import DEDICATION, SHARED, HostNeed, joined_needs, operator_needs
from penstock.fusion.graph.host_signatures import host_signatures, is_assignable
from penstock.fusion.problem.fusion_problem import describe, fusion_problem
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.parallel.fusion_groups import joined
from penstock.placement.live.channel_graph import Task

_DEADLINE_SECONDS = 20.0

Tags = Mapping[str, frozenset[str]]
"""By host, what it offers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A PE, and whether its hosts can be chosen.

    Attributes:
        pe: Its number.
        operators: Its operators.
        channels: How many it has.
        host: The host that it is on for good, as sinks are on the driver's.
        is_anywhere: Whether it runs on any executor, as sources do.
    """

    pe: int
    operators: tuple[str, ...]
    channels: int = 1
    host: str | None = None
    is_anywhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """Where channels may be.

    Attributes:
        allowed: By PE, its hosts; a PE that is not named may be on any.
        together: PEs whose channels are all on one host.
        channels: By PE, how many it has; a partition beyond them only passes rows on, and may be anywhere.
    """

    allowed: Mapping[int, frozenset[str]] = field(default_factory=dict)
    together: tuple[frozenset[int], ...] = ()
    channels: Mapping[int, int] = field(default_factory=dict)

    def is_ruled(self, task: Task) -> bool:
        """Whether it matters on which host a task is."""
        pe, partition = task
        return partition < self.channels.get(pe, 0) and (pe in self.allowed or any(pe in t for t in self.together))

    def hosts_of(self, task: Task) -> frozenset[str] | None:
        """The hosts that a task may be on; None for any."""
        return self.allowed.get(task[0]) if self.is_ruled(task) else None


def keeps_rules(host_of: Mapping[Task, str], rules: HostRules) -> bool:
    """Whether tasks are on hosts that rules allow.

    Example:
        >>> rules = HostRules(allowed={1: frozenset(["a"])}, together=(frozenset([2, 3]),), channels={1: 1, 2: 1, 3: 1})
        >>> keeps_rules({(1, 0): "a", (1, 1): "b"}, rules), keeps_rules({(2, 0): "a", (3, 0): "b"}, rules)
        (True, False)
    """
    ruled = {task: host for task, host in host_of.items() if rules.is_ruled(task)}
    if any(host not in (rules.hosts_of(task) or {host}) for task, host in ruled.items()):
        return False
    return all(len({host for (pe, _), host in ruled.items() if pe in pes}) <= 1 for pes in rules.together)


@dataclass(slots=True)
class _Unit:
    """PEs that are on the same host, or one that may be on several.

    Attributes:
        pes: Their numbers.
        need: What they ask of a host.
        most: How many hosts they have use for.
        hosts: Those that they have, by number.
        is_fixed: Whether that is for good.
    """

    pes: frozenset[int]
    need: HostNeed
    most: int
    hosts: set[int]
    is_fixed: bool = False


def host_rules(
    pes: Sequence[Located],
    demands: Sequence[Constraint],
    hosts: Tags,
    driver: str | None = None,
    offers: frozenset[str] = frozenset(),
) -> HostRules:
    """The hosts that the channels of each PE may be on.

    Args:
        pes: All PEs of the job.
        demands: Those on hosts.
        hosts: With executors.
        driver: The host of the driver.
        offers: What that one offers, if no executor is on it.

    Raises:
        Infeasible: They cannot all be kept; the message names those that are in conflict, and the hosts.
    """
    if not demands:
        return HostRules()
    tags = {driver: offers, **hosts} if driver is not None else hosts
    names = [*hosts, *(name for name in tags if name not in hosts)]
    units = _units(pes, demands, hosts, names, tags)
    if units is None or not is_assignable([unit.need for unit in units], len(names)):
        conflict = _smallest_conflict(pes, demands, hosts, names, tags)
        there = ", ".join(f"`{host}`" for host in hosts) or "no host"
        raise Infeasible(
            f"demands on hosts that cannot all be kept on {there}: " + "; ".join(conflict) + _why(pes, demands, hosts),
            conflicts=conflict,
        )
    chosen = host_signatures([unit.need for unit in units], len(names), Deadline.after(_DEADLINE_SECONDS))
    if chosen is None:
        raise Infeasible("no hosts were found in time that keep the demands on them")
    for unit in units:
        unit.hosts.add(chosen[unit.need.signature()])
    _widen(units, len(names))
    anywhere = {located.pe for located in pes if located.is_anywhere}
    free = [unit for unit in units if unit.pes.isdisjoint(anywhere) or len(hosts) == 1]
    bound = joined([c.operators for c in demands if c.kind is ConstraintKind.HOST_COLOCATION])
    bound_ids = {id_ for group in bound for id_ in group}
    is_bound = {located.pe for located in pes if not bound_ids.isdisjoint(located.operators)}
    every = frozenset(hosts)
    allowed = {pe: frozenset(names[host] for host in unit.hosts) for unit in free for pe in unit.pes}
    return HostRules(
        allowed={pe: found for pe, found in allowed.items() if found != every},
        together=tuple(unit.pes for unit in free if unit.pes & is_bound),
        channels={located.pe: located.channels for located in pes},
    )


def _units(
    pes: Sequence[Located], demands: Sequence[Constraint], hosts: Tags, names: Sequence[str], offers: Tags
) -> list[_Unit] | None:
    """The units with what they ask for; None if one asks for what no host has."""
    ids = [id_ for located in pes for id_ in located.operators]
    problem = fusion_problem(
        [0.0] * len(ids),
        [],
        [1.0] * len(names),
        ids=ids,
        host_ids=names,
        tags=[offers[name] for name in names],
        constraints=demands,
    )
    needs = dict(zip(ids, operator_needs(problem), strict=True))
    executors = sum(1 << names.index(host) for host in hosts)
    pe_of = {id_: located for located in pes for id_ in located.operators}
    same = [
        [pe_of[id_].pe for id_ in c.operators if id_ in pe_of]
        for c in demands
        if c.kind is ConstraintKind.HOST_COLOCATION
    ]
    number = {located.pe: located for located in pes}
    found: list[_Unit] = []
    for group in joined([*same, *([located.pe] for located in pes)]):
        members = [number[pe] for pe in dict.fromkeys(group)]
        need = joined_needs((needs[id_] for member in members for id_ in member.operators), len(names))
        if need is None:
            return None
        made = _with_places(members, need, executors, names)
        if made is None:
            return None
        found += made
    return found


def _with_places(
    members: Sequence[Located], need: HostNeed, executors: int, names: Sequence[str]
) -> list[_Unit] | None:
    """The unit of some PEs, or one for each host of a source, with what is already said of its hosts."""
    pes = frozenset(member.pe for member in members)
    if any(member.is_anywhere for member in members):
        everywhere = [host for host in range(len(names)) if executors >> host & 1]
        if len(members) > 1 and len(everywhere) > 1:
            return None
        colours = {c: colour for c, colour in need.colours.items() if (c, colour) != (DEDICATION, SHARED)}
        copies = [HostNeed(hosts=need.hosts & 1 << host, colours=colours) for host in everywhere]
        return [_Unit(pes, copy, 1, set(), is_fixed=True) for copy in copies] if all(c.hosts for c in copies) else None
    mask = executors
    fixed = {member.host for member in members if member.host is not None}
    if fixed:
        mask = 1 << names.index(next(iter(fixed))) if len(fixed) == 1 else 0
        mask &= mask if all(member.host is not None for member in members) else executors
    hosts = need.hosts & mask
    most = max(member.channels for member in members)
    return [_Unit(pes, HostNeed(hosts=hosts, colours=need.colours), most, set(), bool(fixed))] if hosts else None


def _widen(units: Sequence[_Unit], hosts: int) -> None:
    """Let units take further hosts, in turns, as long as all demands are kept."""
    for unit in units:
        if not unit.need.colours and not unit.is_fixed:
            unit.hosts |= {host for host in range(hosts) if unit.need.hosts >> host & 1}
    waiting = [unit for unit in units if unit.need.colours and not unit.is_fixed]
    while waiting:
        unit = min(waiting, key=lambda one: len(one.hosts))
        host = None if _has_enough(unit) else _another_host(unit, units, hosts)
        if host is None:
            waiting = [other for other in waiting if other is not unit]
        else:
            unit.hosts.add(host)


def _has_enough(unit: _Unit) -> bool:
    """Whether a unit that keeps others away has as many hosts as it has channels."""
    keeps_away = any((c, colour) != (DEDICATION, SHARED) for c, colour in unit.need.colours.items())
    return keeps_away and len(unit.hosts) >= unit.most


def _another_host(unit: _Unit, units: Sequence[_Unit], hosts: int) -> int | None:
    """The emptiest host that a unit may have as well."""
    free = []
    for host in range(hosts):
        if unit.need.hosts >> host & 1 and host not in unit.hosts:
            there = [other for other in units if host in other.hosts]
            if not any(unit.need.clashes(other.need) for other in there):
                free.append((sum(bool(other.need.colours) for other in there), host))
    return min(free)[1] if free else None


def _smallest_conflict(
    pes: Sequence[Located], demands: Sequence[Constraint], hosts: Tags, names: Sequence[str], offers: Tags
) -> list[str]:
    """Demands that cannot be kept together, while any fewer of them can, in words."""
    kept = list(demands)
    for demand in demands:
        fewer = [other for other in kept if other is not demand]
        units = _units(pes, fewer, hosts, names, offers)
        if units is None or not is_assignable([unit.need for unit in units], len(names)):
            kept = fewer
    return [describe(demand) for demand in kept]


def _why(pes: Sequence[Located], demands: Sequence[Constraint], hosts: Tags) -> str:
    """A word on names that no host has, and on what is not ours to place, if demands name it."""
    known = {*hosts, *(tag for tags in hosts.values() for tag in tags)}
    unknown = sorted({name for demand in demands for name in demand.hosts if name not in known})
    if unknown and not known.intersection(name for demand in demands for name in demand.hosts):
        names = ", ".join(f"`{name}`" for name in unknown)
        return f" (no host has the name or tag {names}; a file of hosts says which tags they have)"
    named = {id_ for demand in demands for ids in (demand.operators, *demand.replicas) for id_ in ids}
    sources = [id_ for located in pes if located.is_anywhere for id_ in located.operators if id_ in named]
    return f" (Spark reads {', '.join(f'`{id_}`' for id_ in sources)} on any of them)" if sources else ""


def broken_demands(
    demands: Sequence[Constraint], ran: Mapping[str, frozenset[str]], hosts: Tags, sources: frozenset[str]
) -> Iterator[str]:
    """The demands that were broken, in words, by where operators have run; from the definitions alone.

    Args:
        demands: Those on hosts.
        ran: By operator the hosts of its channels.
        hosts: The hosts with their tags.
        sources: The operators that may be read anywhere.

    Example:
        >>> from penstock.ir.constraints import ConstraintKind
        >>> apart = Constraint(kind=ConstraintKind.HOST_EXLOCATION, operators=("A", "B"))
        >>> ran = {"A": frozenset(["h1", "h2"]), "B": frozenset(["h2"])}
        >>> list(broken_demands([apart], ran, {}, frozenset()))
        ['host_exlocation of `A`, `B`: `A` and `B` have run on `h2`']
    """
    for demand in demands:
        present = [id_ for id_ in demand.operators if id_ in ran]
        if demand.kind is ConstraintKind.RESOURCE_MATCH:
            wanted = set(demand.hosts)
            wrong = [(id_, h) for id_ in present for h in ran[id_] if not wanted & {h, *hosts.get(h, ())}]
            found = [f"`{id_}` has run on `{host}`" for id_, host in wrong]
        elif demand.kind is ConstraintKind.HOST_COLOCATION:
            places = sorted({host for id_ in present for host in ran[id_]})
            found = [f"they have run on {', '.join(f'`{p}`' for p in places)}"] if len(places) > 1 else []
        elif demand.kind is ConstraintKind.HOST_EXLOCATION:
            found = list(_shared(((id_,) for id_ in present), ran))
        elif demand.kind is ConstraintKind.HIGH_AVAILABILITY:
            found = list(_shared(demand.replicas, ran))
        else:
            others = [id_ for id_ in ran if id_ not in sources and id_ not in present]
            found = [text for id_ in present for other in others for text in _shared([(id_,), (other,)], ran)]
        for text in found:
            yield f"{describe(demand)}: {text}"


def _shared(
    sets: Iterator[Sequence[str]] | Sequence[Sequence[str]], ran: Mapping[str, frozenset[str]]
) -> Iterator[str]:
    """Hosts that operators of two sets have run on, in words."""
    holder: dict[str, tuple[int, str]] = {}
    for number, names in enumerate(sets):
        for id_ in names:
            for host in sorted(ran.get(id_, ())):
                first, other = holder.setdefault(host, (number, id_))
                if first != number:
                    yield f"`{other}` and `{id_}` have run on `{host}`"
