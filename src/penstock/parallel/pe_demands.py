"""The demands of an application's placement constraints on PEs, whatever the hosts are.

Introduction:
    Hosts are known when a job starts, and its PEs before. But a channel of a PE is on one host, so much of a demand on
    hosts is a demand on PEs, wherever the job will run: two operators that may not share a host may not share a PE.
    `pe_demands` states it in the three kinds of constraints that every fusion algorithm knows; `broken_demands` judges
    a given fusion, from the definitions.

Formulation:
    A *cluster* is operators that are on one host in every placement: those of a PE or host colocation. Two clusters
    are *apart* if a host exlocation names an operator of each, if they are of different replicas of high availability,
    if one has a host for itself, or if the hosts that their resource matches allow have no name in common.
    Operators of clusters that are apart share no PE.

    Sharing a PE makes two clusters share a host, and so on through a third one. Where every cluster is in one PE
    anyway, no third one can come between, and the pairs that are apart say it all. Elsewhere the clusters are put into
    classes, each of which can be on one host (`_classes`), and classes share no PE: that is enough, and more than
    necessary only where a better division into classes would have allowed another fusion.

Example:
    hostExlocation of `a` and `b`, hostColocation of `b` and `c`: neither `b` nor `c` shares a PE with `a`.

When it does not apply:
    Which hosts there are, and how many, is not known here. A name of a resource match may be a host's or a tag; names
    that differ count as different hosts. Of high availability, that replicas are fused alike is left alone.

Reference:
    Khandekar et al., Middleware 2009, section 3.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from penstock.base.diagnostics import Infeasible
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.ir.graph import Application
from penstock.parallel.fusion_groups import joined

_ABOUT_PES = (ConstraintKind.PE_COLOCATION, ConstraintKind.PE_EXLOCATION, ConstraintKind.PE_DEDICATION)
_ON_ONE_HOST = (ConstraintKind.PE_COLOCATION, ConstraintKind.HOST_COLOCATION)
_ALONE = (ConstraintKind.PE_DEDICATION, ConstraintKind.HOST_DEDICATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Operators that are on one host in every placement.

    Attributes:
        operators: In order of declaration.
        hosts: The names of hosts that will do; None for any.
        is_alone: Whether the host is for one of its operators only.
        is_glued: Whether its operators share a PE in every placement.
    """

    operators: tuple[str, ...]
    hosts: frozenset[str] | None = None
    is_alone: bool = False
    is_glued: bool = True


def pe_demands(application: Application) -> tuple[Constraint, ...]:
    """The constraints on PEs that follow from all constraints of an application.

    Raises:
        Infeasible: Some of the constraints contradict each other, whatever the hosts are.
    """
    given = application.constraints
    _refuse_contradictions(application)
    clusters = _clusters(application)
    apart = [c for c in clusters if _is_held_apart(c, given)]
    is_plain = all(c.is_glued for c in clusters) and _is_laminar([c.hosts for c in clusters if c.hosts is not None])
    classes = [[c] for c in apart] if is_plain else _classes(clusters, given)
    found = [c for c in given if c.kind in _ABOUT_PES]
    found += [
        Constraint(kind=ConstraintKind.PE_DEDICATION, operators=c.operators)
        for c in given
        if c.kind is ConstraintKind.HOST_DEDICATION
    ]
    for some, others in combinations(classes, 2):
        if not is_plain or _are_apart(some[0], others[0], given):
            pairs = product(_operators(some), _operators(others))
            found += [Constraint(kind=ConstraintKind.PE_EXLOCATION, operators=pair) for pair in pairs]
    return tuple(dict.fromkeys(found))


def broken_demands(application: Application, pes: Iterable[Sequence[str]]) -> Iterator[str]:
    """The demands on PEs that a fusion breaks, in words; none if it keeps all of them.

    Args:
        application: The logical graph.
        pes: The operators of each PE; an operator that is in none of them is not judged.
    """
    home = {id_: number for number, pe in enumerate(pes) for id_ in pe}
    given = application.constraints
    for constraint in given:
        yield from _broken_by_pes(constraint, home)
    on_one_host = [c.operators for c in given if c.kind in _ON_ONE_HOST]
    by_pe: dict[int, list[str]] = {}
    for id_, number in home.items():
        by_pe.setdefault(number, []).append(id_)
    for group in joined([*on_one_host, *by_pe.values()]):
        yield from _broken_by_host(frozenset(group), given)


def host_demands(application: Application) -> tuple[Constraint, ...]:
    """The constraints of an application that say something of hosts."""
    return tuple(c for c in application.constraints if c.kind not in _ABOUT_PES)


def operators_of(demands: Iterable[Constraint]) -> frozenset[str]:
    """The operators that constraints name."""
    return frozenset(id_ for c in demands for ids in (c.operators, *c.replicas) for id_ in ids)


def operators_with_places(application: Application) -> frozenset[str]:
    """The operators whose host matters: those of demands on hosts; if one has a host for itself, all of them."""
    demands = host_demands(application)
    if any(c.kind is ConstraintKind.HOST_DEDICATION for c in demands):
        return frozenset(operator.id for operator in application.operators)
    return operators_of(demands)


def unapplied_demands(application: Application, *, has_hosts: bool = False) -> Iterator[str]:
    """Warnings of what a run on Spark does not apply: which hosts PEs are on, and where sources and sinks stand.

    Args:
        application: What runs.
        has_hosts: Whether it runs on a cluster, where demands on hosts are kept.
    """
    given = application.constraints
    hosts = [describe(c) for c in host_demands(application)]
    if hosts and not has_hosts:
        yield (
            "placement: all runs on this machine, so these only decide which operators may share a PE: "
            + "; ".join(hosts)
        )
    alike = [describe(c) for c in given if c.isomorphic]
    if alike:
        yield "placement: replicas need not be fused alike on Spark: " + "; ".join(alike)
    ends = [describe(c) for c in given if c.kind in _ABOUT_PES and _is_about_ends(c, application)]
    if ends:
        yield (
            "placement: each source is a PE of its own and the sinks are one PE in the driver, so these are not "
            "applied to them: " + "; ".join(ends)
        )


def _is_about_ends(constraint: Constraint, application: Application) -> bool:
    """Whether a demand on PEs asks for something else of sources and sinks than what they get."""
    operators = [application.operator[id_] for id_ in constraint.operators]
    sources, sinks = [o for o in operators if not o.inputs], [o for o in operators if o.inputs and not o.outputs]
    if constraint.kind is ConstraintKind.PE_COLOCATION:
        return len(operators) > 1 and bool(sources or sinks) and len(sinks) < len(operators)
    if constraint.kind is ConstraintKind.PE_EXLOCATION:
        return len(sinks) > 1
    return bool(sinks) and sum(bool(o.inputs and not o.outputs) for o in application.operators) > 1


def describe(constraint: Constraint) -> str:
    """A constraint in words.

    Example:
        >>> describe(Constraint(kind=ConstraintKind.HOST_EXLOCATION, operators=("a", "b")))
        'host_exlocation of `a`, `b`'
    """
    sets = constraint.replicas or (constraint.operators,)
    names = " | ".join(", ".join(f"`{id_}`" for id_ in ids) for ids in sets)
    hosts = f" to {', '.join(f'`{host}`' for host in constraint.hosts)}" if constraint.hosts else ""
    return f"{constraint.kind.value} of {names}{hosts}"


def _clusters(application: Application) -> list[Cluster]:
    given = application.constraints
    groups = joined([c.operators for c in given if c.kind in _ON_ONE_HOST])
    glued = {frozenset(group) for group in joined([c.operators for c in given if c.kind is _ON_ONE_HOST[0]])}
    held = {id_ for group in groups for id_ in group}
    groups += [(o.id,) for o in application.operators if o.id not in held]
    return [_cluster(tuple(group), given, len(group) == 1 or frozenset(group) in glued) for group in groups]


def _cluster(operators: tuple[str, ...], given: Sequence[Constraint], is_glued: bool) -> Cluster:
    inside = [c for c in given if not set(operators).isdisjoint(c.operators)]
    alone = any(c.kind is ConstraintKind.HOST_DEDICATION for c in inside)
    return Cluster(operators=operators, hosts=_allowed(inside), is_alone=alone, is_glued=is_glued)


def _allowed(given: Iterable[Constraint]) -> frozenset[str] | None:
    """The hosts that all of some resource matches allow; None for any."""
    found: frozenset[str] | None = None
    for constraint in given:
        if constraint.kind is ConstraintKind.RESOURCE_MATCH and constraint.hosts:
            hosts = frozenset(constraint.hosts)
            found = hosts if found is None else found & hosts
    return found


def _refuse_contradictions(application: Application) -> None:
    """Raise if operators that must be on one host may not; what is named is a contradiction, and no part of it is."""
    if not _contradicts(application):
        return
    kept = list(application.constraints)
    for constraint in application.constraints:
        fewer = [other for other in kept if other is not constraint]
        if _contradicts(replace(application, constraints=tuple(fewer))):
            kept = fewer
    named = [describe(constraint) for constraint in kept]
    raise Infeasible("no fusion keeps all of: " + "; ".join(named), conflicts=named)


def _contradicts(application: Application) -> bool:
    given = application.constraints
    groups = joined([c.operators for c in given if c.kind in _ON_ONE_HOST])
    groups += [(o.id,) for o in application.operators]
    return any(next(_broken_by_host(frozenset(group), given), None) is not None for group in groups)


def _broken_by_host(group: frozenset[str], given: Iterable[Constraint]) -> Iterator[str]:
    """The constraints that operators break if they are on one host, in words."""
    inside = [c for c in given if not group.isdisjoint(c.operators)]
    for constraint in inside:
        here = sorted(group.intersection(constraint.operators))
        if constraint.kind is ConstraintKind.HOST_EXLOCATION and len(here) > 1:
            yield f"{describe(constraint)}: `{here[0]}` and `{here[1]}` would be on one host"
        if constraint.kind is ConstraintKind.HOST_DEDICATION and len(group) > 1:
            yield f"{describe(constraint)}: `{here[0]}` would not be alone on its host"
    for constraint in given:
        replicas = _replicas_among(constraint, group)
        if len(replicas) > 1:
            here = [next(id_ for id_ in constraint.replicas[number] if id_ in group) for number in replicas[:2]]
            yield f"{describe(constraint)}: `{here[0]}` and `{here[1]}` would be on one host"
    if _allowed(inside) == frozenset():
        matches = [describe(c) for c in inside if c.kind is ConstraintKind.RESOURCE_MATCH]
        yield f"{'; '.join(matches)}: these would be on one host"


def _broken_by_pes(constraint: Constraint, home: dict[str, int]) -> Iterator[str]:
    """The ways in which the PEs break a constraint on PEs, in words."""
    operators = [id_ for id_ in constraint.operators if id_ in home]
    places = [home[id_] for id_ in operators]
    if constraint.kind is ConstraintKind.PE_COLOCATION and len(set(places)) > 1:
        yield f"{describe(constraint)}: they are in {len(set(places))} PEs"
    if constraint.kind is ConstraintKind.PE_EXLOCATION and len(set(places)) < len(places):
        first, second = next((a, b) for a, b in combinations(operators, 2) if home[a] == home[b])
        yield f"{describe(constraint)}: `{first}` and `{second}` share a PE"
    if constraint.kind in _ALONE:
        sizes = [sum(other == place for other in home.values()) for place in places]
        for id_, size in zip(operators, sizes, strict=True):
            if size > 1:
                yield f"{describe(constraint)}: `{id_}` is not alone in its PE"


def _is_held_apart(cluster: Cluster, given: Iterable[Constraint]) -> bool:
    members = frozenset(cluster.operators)
    excluded = any(c.kind is ConstraintKind.HOST_EXLOCATION and not members.isdisjoint(c.operators) for c in given)
    excluded = excluded or any(_replicas_among(c, members) for c in given)
    return excluded or cluster.hosts is not None


def _are_apart(one: Cluster, other: Cluster, given: Iterable[Constraint]) -> bool:
    """Whether two clusters may not be on one host."""
    if one.is_alone or other.is_alone:
        return True
    if one.hosts is not None and other.hosts is not None and one.hosts.isdisjoint(other.hosts):
        return True
    for constraint in given:
        replicas = {*_replicas_among(constraint, one.operators), *_replicas_among(constraint, other.operators)}
        if len(replicas) > 1:
            return True
    exlocations = [set(c.operators) for c in given if c.kind is ConstraintKind.HOST_EXLOCATION]
    return any(not e.isdisjoint(one.operators) and not e.isdisjoint(other.operators) for e in exlocations)


def _classes(clusters: Iterable[Cluster], given: Sequence[Constraint]) -> list[list[Cluster]]:
    """The clusters that demand something of their host, in classes that can be on one host each; first fit."""
    classes: list[list[Cluster]] = []
    for cluster in clusters:
        if cluster.is_glued and not cluster.is_alone and not _is_held_apart(cluster, given):
            continue
        for found in classes:
            if _may_join(found, cluster, given):
                found.append(cluster)
                break
        else:
            classes.append([cluster])
    return classes


def _may_join(found: Sequence[Cluster], cluster: Cluster, given: Sequence[Constraint]) -> bool:
    if any(_are_apart(other, cluster, given) for other in found):
        return False
    sets = [c.hosts for c in (*found, cluster) if c.hosts is not None]
    return not sets or bool(frozenset.intersection(*sets))


def _replicas_among(constraint: Constraint, operators: Collection[str]) -> list[int]:
    """The numbers of the replicas that have some of these operators."""
    return [n for n, replica in enumerate(constraint.replicas) if not set(replica).isdisjoint(operators)]


def _is_laminar(sets: Sequence[frozenset[str]]) -> bool:
    """Whether of each two sets one holds the other or they have nothing in common: then what meets in pairs meets."""
    return all(a <= b or b <= a or a.isdisjoint(b) for a, b in combinations(set(sets), 2))


def _operators(clusters: Iterable[Cluster]) -> list[str]:
    return [id_ for cluster in clusters for id_ in cluster.operators]
