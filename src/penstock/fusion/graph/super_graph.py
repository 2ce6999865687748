"""The graph that algorithms work on: super operators, and what may share a PE or a host.

Operators that must share a PE in every solution are glued into one super operator: those that are PE colocated, in an
acyclic plan those on a cycle, and whatever isomorphic replicas mirror of these. Demands on PEs and hosts are brought
into a form that can be checked in a few set operations:

- super operators of different `kinds` never share a PE: another region, another replica, a dedicated operator;
- nor do two that are in the same PE exlocation (`exclusions`);
- super operators of one host colocation are one `cluster`, and `needs` says what the cluster asks of its host.

The replicas of an isomorphic high availability are fused alike. They are decided on together: a *template* is the tuple
of the super operators, one in each replica, that correspond; any other super operator is a template by itself.

Example:
    >>> from penstock.fusion.problem.fusion_problem import fusion_problem
    >>> from penstock.ir.constraints import Constraint
    >>> together = Constraint(kind=ConstraintKind.PE_COLOCATION, operators=("o0", "o2"))
    >>> problem = fusion_problem([1, 1, 1], [(0, 1, 5), (1, 2, 5)], [9], constraints=[together])
    >>> super_graph(problem).members, super_graph(problem, acyclic=True).members
    (((0, 2), (1,)), ((0, 1, 2),))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.fusion.graph.gluing import glue, united
from penstock.fusion.graph.host_needs import HostNeed, joined_needs, operator_needs
from penstock.fusion.problem.fusion_problem import Assignment, FusionProblem, Ints, numbered
from penstock.ir.constraints import ConstraintKind

Group = tuple[int, ...]
"""Templates that are fused: one PE, or one PE in each replica."""


_OF_PES = (ConstraintKind.PE_COLOCATION, ConstraintKind.PE_EXLOCATION, ConstraintKind.PE_DEDICATION)


class Contradiction(Exception):
    """The demands on PEs and hosts contradict one another; `conflicts` finds out which."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pe:
    """A PE of super operators.

    Attributes:
        vertices: Its super operators.
        size: SIZE (equation 1).
        need: What it asks of its host; None if no host will do.
        channels: How many cores it can use.
    """

    vertices: Group
    size: float
    need: HostNeed | None
    channels: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SuperGraph:
    """Super operators, their streams, and what they ask for.

    Attributes:
        problem: Where they come from.
        acyclic: Whether the graph of the PEs must have no cycle.
        members: The operators of each super operator.
        costs: Of each super operator, in mips.
        channels: How many cores its PE can use at most.
        neighbours: What flows between it and others, both directions added up, in mips.
        successors: Whom it sends to, feedback aside.
        predecessors: Whom it receives from, feedback aside.
        kinds: Only super operators of one kind share a PE.
        exclusions: No two that have one of these in common share a PE.
        clusters: Those of one cluster share a host.
        needs: What its cluster asks of its host.
        outflows: What flows between it and all others, in mips.
        templates: What is decided together.
        has_needs: Whether anything at all is asked of hosts.
    """

    problem: FusionProblem
    acyclic: bool
    members: tuple[Group, ...]
    costs: list[float]
    channels: list[int]
    neighbours: list[dict[int, float]]
    successors: list[frozenset[int]]
    predecessors: list[frozenset[int]]
    kinds: list[int]
    exclusions: list[frozenset[int]]
    clusters: list[int]
    needs: list[HostNeed]
    outflows: list[float]
    templates: tuple[Group, ...]
    has_needs: bool

    @property
    def vertices(self) -> int:
        """The number of super operators."""
        return len(self.members)

    def real(self, group: Group) -> Iterator[Group]:
        """The PEs of a group of templates: one, or one in each replica."""
        for replica in range(len(self.templates[group[0]])):
            yield tuple(self.templates[template][replica] for template in group)

    def size(self, pe: Sequence[int]) -> float:
        """SIZE of a PE of super operators (equation 1)."""
        if len(pe) == 1:
            return self.costs[pe[0]] + self.outflows[pe[0]]
        inside = set(pe)
        return sum(
            self.costs[v] + sum(cost for u, cost in self.neighbours[v].items() if u not in inside) for v in inside
        )

    def pe(self, vertices: Group) -> Pe:
        """A PE of super operators, measured."""
        channels = min(self.channels[v] for v in vertices)
        return Pe(vertices=vertices, size=self.size(vertices), need=self.need(vertices), channels=channels)

    def may_share_pe(self, pe: Sequence[int]) -> bool:
        """Whether super operators keep the demands on one PE; cycles are another matter."""
        if len({self.kinds[v] for v in pe}) > 1:
            return False
        excluded = [exclusion for v in pe for exclusion in self.exclusions[v]]
        return len(excluded) == len(set(excluded)) and self.need(pe) is not None

    def need(self, pe: Iterable[int]) -> HostNeed | None:
        """The need of super operators that share a host; None if no host will do."""
        if not self.has_needs:
            return self.needs[0]
        if isinstance(pe, tuple) and len(pe) == 1:
            return self.needs[pe[0]]
        by_cluster = {self.clusters[v]: self.needs[v] for v in pe}
        return joined_needs(by_cluster.values(), self.problem.hosts.count)

    def holds(self, assignment: Assignment) -> bool:
        """Whether the operators of each super operator share a PE in an assignment."""
        pe_of = assignment.pe_of.tolist()
        return all(len({pe_of[operator] for operator in group}) == 1 for group in self.members)

    def pes_of(self, assignment: Assignment) -> list[Group]:
        """The PEs of an assignment, of super operators."""
        pe_of = assignment.pe_of.tolist()
        pes: list[list[int]] = [[] for _ in range(assignment.pes)]
        for v, group in enumerate(self.members):
            pes[pe_of[group[0]]].append(v)
        return [tuple(pe) for pe in pes]

    def assignment(self, pes: Sequence[Sequence[int]], host_of: Sequence[int]) -> Assignment:
        """PEs of super operators on their hosts, as an assignment of operators; PEs are numbered by their first."""
        labels = np.empty(self.problem.operators, np.int64)
        for number, pe in enumerate(pes):
            for v in pe:
                labels[list(self.members[v])] = number
        pe_of = numbered(labels)
        hosts = np.empty(len(pes), np.int64)
        hosts[pe_of] = np.asarray(host_of, np.int64)[labels]
        return Assignment(pe_of=pe_of, host_of=hosts)


def super_graph(problem: FusionProblem, *, acyclic: bool = False, glued: Iterable[tuple[int, int]] = ()) -> SuperGraph:
    """Glue what must share a PE and translate the demands.

    Args:
        problem: The problem.
        acyclic: Whether the graph of the PEs must have no cycle.
        glued: Further pairs of operators to glue.

    Raises:
        Contradiction: Super operators cannot keep the demands even when each is a PE by itself.
    """
    vertex_of = glue(problem, acyclic, glued)
    members = _groups(vertex_of)
    neighbours, successors, predecessors = _streams(problem, vertex_of, len(members))
    clusters, needs = _clusters(problem, vertex_of, len(members))
    return SuperGraph(
        problem=problem,
        acyclic=acyclic,
        members=members,
        costs=np.bincount(vertex_of, weights=problem.costs).tolist(),
        channels=[int(problem.channels[list(group)].min()) for group in members],
        neighbours=neighbours,
        successors=successors,
        predecessors=predecessors,
        kinds=_kinds(problem, members),
        exclusions=_exclusions(problem, vertex_of, len(members)),
        clusters=clusters,
        needs=needs,
        outflows=[sum(row.values()) for row in neighbours],
        templates=_templates(problem, vertex_of, len(members)),
        has_needs=any(constraint.kind not in _OF_PES for constraint in problem.constraints),
    )


def pe_widths(graph: SuperGraph) -> list[int]:
    """The channels of any PE with the vertex, or 0 if that depends on who else is in it."""
    of_kind: dict[int, set[int]] = {}
    for kind, channels in zip(graph.kinds, graph.channels, strict=True):
        of_kind.setdefault(kind, set()).add(channels)
    return [next(iter(of_kind[kind])) if len(of_kind[kind]) == 1 else 0 for kind in graph.kinds]


def _groups(vertex_of: Ints) -> tuple[Group, ...]:
    groups: list[list[int]] = [[] for _ in range(int(vertex_of.max()) + 1)]
    for operator, vertex in enumerate(vertex_of.tolist()):
        groups[vertex].append(operator)
    return tuple(tuple(group) for group in groups)


def _streams(
    problem: FusionProblem, vertex_of: Ints, count: int
) -> tuple[list[dict[int, float]], list[frozenset[int]], list[frozenset[int]]]:
    neighbours: list[dict[int, float]] = [{} for _ in range(count)]
    after: list[set[int]] = [set() for _ in range(count)]
    before: list[set[int]] = [set() for _ in range(count)]
    columns = vertex_of[problem.sources], vertex_of[problem.targets], problem.stream_costs, problem.feedback
    for u, v, cost, is_feedback in zip(*(column.tolist() for column in columns), strict=True):
        if u == v:
            continue
        neighbours[u][v] = neighbours[u].get(v, 0.0) + cost
        neighbours[v][u] = neighbours[v].get(u, 0.0) + cost
        if not is_feedback:
            after[u].add(v)
            before[v].add(u)
    return neighbours, [frozenset(s) for s in after], [frozenset(p) for p in before]


def _kinds(problem: FusionProblem, members: Sequence[Group]) -> list[int]:
    """A number for each combination of region, replicas and dedication."""
    index_of = problem.index_of
    labels: list[tuple[object, ...]] = [(region,) for region in problem.regions]
    alone: set[int] = set()
    for number, constraint in enumerate(problem.constraints):
        if constraint.kind in (ConstraintKind.PE_DEDICATION, ConstraintKind.HOST_DEDICATION):
            alone.update(index_of[name] for name in constraint.operators)
        for replica, names in enumerate(constraint.replicas):
            for name in names:
                labels[index_of[name]] += (number, replica)
    for operator in alone:
        labels[operator] += ("alone", operator)
    number_of: dict[tuple[object, ...], int] = {}
    kinds = []
    for group in members:
        distinct = {labels[operator] for operator in group}
        if len(distinct) > 1:
            raise Contradiction
        kinds.append(number_of.setdefault(distinct.pop(), len(number_of)))
    return kinds


def _exclusions(problem: FusionProblem, vertex_of: Ints, count: int) -> list[frozenset[int]]:
    index_of = problem.index_of
    found: list[set[int]] = [set() for _ in range(count)]
    for number, constraint in enumerate(problem.constraints):
        if constraint.kind is ConstraintKind.PE_EXLOCATION:
            for name in constraint.operators:
                vertex = int(vertex_of[index_of[name]])
                if number in found[vertex]:
                    raise Contradiction
                found[vertex].add(number)
    return [frozenset(numbers) for numbers in found]


def _clusters(problem: FusionProblem, vertex_of: Ints, count: int) -> tuple[list[int], list[HostNeed]]:
    index_of = problem.index_of
    pairs = []
    for constraint in problem.constraints:
        if constraint.kind is ConstraintKind.HOST_COLOCATION:
            first, *others = (int(vertex_of[index_of[name]]) for name in constraint.operators)
            pairs += [(first, other) for other in others]
    clusters = united(count, pairs).tolist()
    asked: list[list[HostNeed]] = [[] for _ in range(max(clusters) + 1)]
    for operator, need in enumerate(operator_needs(problem)):
        asked[clusters[int(vertex_of[operator])]].append(need)
    whole = []
    for needs in asked:
        joined = joined_needs(needs, problem.hosts.count)
        if joined is None:
            raise Contradiction
        whole.append(joined)
    return clusters, [whole[cluster] for cluster in clusters]


def _templates(problem: FusionProblem, vertex_of: Ints, count: int) -> tuple[Group, ...]:
    index_of = problem.index_of
    templates: dict[int, Group] = {}
    mirrored: set[int] = set()
    for constraint in problem.constraints:
        if constraint.isomorphic:
            for names in zip(*constraint.replicas, strict=True):
                template = tuple(int(vertex_of[index_of[name]]) for name in names)
                templates[template[0]] = template
                mirrored.update(template)
    return tuple(templates.get(v, (v,)) for v in range(count) if v in templates or v not in mirrored)
