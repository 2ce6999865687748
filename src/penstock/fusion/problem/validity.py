"""Whether a fusion keeps every demand on it, checked operator by operator against the definitions.

No algorithm uses these functions to find its way: they are written from section 3.1 of the COLA paper alone, so that
they can judge all of them. `fuse` runs them on every answer.

Example:
    >>> from penstock.fusion.problem.fusion_problem import fusion_problem
    >>> apart = Constraint(kind=ConstraintKind.PE_EXLOCATION, operators=("o0", "o1"))
    >>> problem = fusion_problem([1, 1], [], [9], constraints=[apart])
    >>> list(violations(problem, Assignment(pe_of=np.array([0, 0]), host_of=np.array([0]))))
    ['pe_exlocation of `o0`, `o1`: `o0` and `o1` share a PE']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from penstock.fusion.problem.fusion_problem import Assignment, FusionProblem, describe
from penstock.ir.constraints import Constraint, ConstraintKind


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where operators are: what the check of one constraint looks up rather than counts anew.

    Attributes:
        index_of: From an operator's name to its number.
        pe_of: The PE of each operator.
        host_of: The host of each operator.
        in_pe: How many operators each PE has.
        on_host: How many operators each host has.
    """

    index_of: Mapping[str, int]
    pe_of: Sequence[int]
    host_of: Sequence[int]
    in_pe: Mapping[int, int]
    on_host: Mapping[int, int]


def violations(problem: FusionProblem, assignment: Assignment, *, acyclic: bool = False) -> Iterator[str]:
    """Every demand that the fusion breaks, in words; nothing for a valid fusion.

    Capacities are no matter of validity; see `costs.Measures.fits`.
    """
    pe_of, host_of = assignment.pe_of.tolist(), assignment.host_of[assignment.pe_of].tolist()
    places = _Places(
        index_of=problem.index_of, pe_of=pe_of, host_of=host_of, in_pe=Counter(pe_of), on_host=Counter(host_of)
    )
    for constraint in problem.constraints:
        for what in _CHECKS[constraint.kind](problem, constraint, places):
            yield f"{describe(constraint)}: {what}"
    for members in assignment.members():
        regions = {problem.regions[operator] for operator in members}
        if len(regions) > 1:
            yield f"the PE of `{problem.ids[members[0]]}` spans the regions {sorted(map(str, regions))}"
    if acyclic and not is_acyclic(problem, assignment):
        yield "the graph of the PEs has a cycle"


def is_acyclic(problem: FusionProblem, assignment: Assignment) -> bool:
    """Whether no path leaves a PE and comes back; streams marked as feedback do not count."""
    ends = assignment.pe_of[problem.sources], assignment.pe_of[problem.targets]
    between = (ends[0] != ends[1]) & ~problem.feedback
    graph = sparse.coo_array(
        (np.ones(int(between.sum())), (ends[0][between], ends[1][between])), shape=(assignment.pes, assignment.pes)
    )
    components, _ = connected_components(graph, directed=True, connection="strong")
    return int(components) == assignment.pes


def _matched(problem: FusionProblem, constraint: Constraint, places: _Places) -> Iterator[str]:
    allowed = problem.hosts.matching(constraint.hosts)
    for name in constraint.operators:
        host = places.host_of[places.index_of[name]]
        if host not in allowed:
            yield f"`{name}` is on `{problem.hosts.ids[host]}`"


def _colocated(what: str, by_host: bool) -> _Check:
    def check(problem: FusionProblem, constraint: Constraint, places: _Places) -> Iterator[str]:
        place, index_of = places.host_of if by_host else places.pe_of, places.index_of
        first, *others = constraint.operators
        for name in others:
            if place[index_of[name]] != place[index_of[first]]:
                yield f"`{first}` and `{name}` do not share a {what}"

    return check


def _exlocated(what: str, by_host: bool) -> _Check:
    def check(problem: FusionProblem, constraint: Constraint, places: _Places) -> Iterator[str]:
        place = places.host_of if by_host else places.pe_of
        holder: dict[int, str] = {}
        for name in constraint.operators:
            other = holder.setdefault(place[places.index_of[name]], name)
            if other != name:
                yield f"`{other}` and `{name}` share a {what}"

    return check


def _dedicated(problem: FusionProblem, constraint: Constraint, places: _Places) -> Iterator[str]:
    for name in constraint.operators:
        operator = places.index_of[name]
        if places.in_pe[places.pe_of[operator]] > 1:
            yield f"`{name}` is not alone in its PE"
        if constraint.kind is ConstraintKind.HOST_DEDICATION and places.on_host[places.host_of[operator]] > 1:
            yield f"`{name}` is not alone in its host"


def _highly_available(problem: FusionProblem, constraint: Constraint, places: _Places) -> Iterator[str]:
    replicas = [[places.index_of[name] for name in replica] for replica in constraint.replicas]
    owner: dict[int, int] = {}
    for number, replica in enumerate(replicas):
        inside = Counter(places.pe_of[operator] for operator in replica)
        for operator in replica:
            pe, host = places.pe_of[operator], places.host_of[operator]
            if inside[pe] != places.in_pe[pe]:
                yield f"the PE of `{problem.ids[operator]}` is not within one replica"
            if owner.setdefault(host, number) != number:
                yield f"two replicas share the host `{problem.hosts.ids[host]}`"
        if constraint.isomorphic and _shape(replica, places.pe_of) != _shape(replicas[0], places.pe_of):
            yield f"the replicas of `{problem.ids[replicas[0][0]]}` and `{problem.ids[replica[0]]}` are not fused alike"


def _shape(replica: Sequence[int], pe_of: Sequence[int]) -> list[int]:
    """How a replica is fused, whatever the numbers of its PEs: for each position the first one in the same PE."""
    first: dict[int, int] = {}
    return [first.setdefault(pe_of[operator], position) for position, operator in enumerate(replica)]


_Check = Callable[[FusionProblem, Constraint, _Places], Iterator[str]]
_CHECKS: dict[ConstraintKind, _Check] = {
    ConstraintKind.RESOURCE_MATCH: _matched,
    ConstraintKind.PE_COLOCATION: _colocated("PE", by_host=False),
    ConstraintKind.PE_EXLOCATION: _exlocated("PE", by_host=False),
    ConstraintKind.HOST_COLOCATION: _colocated("host", by_host=True),
    ConstraintKind.HOST_EXLOCATION: _exlocated("host", by_host=True),
    ConstraintKind.HIGH_AVAILABILITY: _highly_available,
    ConstraintKind.PE_DEDICATION: _dedicated,
    ConstraintKind.HOST_DEDICATION: _dedicated,
}
