"""Lower bounds on the load of hosts, whatever is fused: plain reasons why nothing fits, for problems of any size.

Introduction:
    Whether operators fit on hosts is bin packing, and only small problems are searched completely. Most problems that
    do not fit have a plain reason, though: something is too large for every host that may run it. These reasons are
    linear in the size of the problem.

Formulation:
    A stream between two super operators that can share no PE is cut in every solution, and both ends pay. So a super
    operator v loads its host with `forced`(v) = w_v + w(streams that are surely cut). Its PE is larger still: every
    other neighbour u joins it and brings w_u, or is cut and costs w_e, so SIZE >= forced(v) + the sum of min{w_e, w_u}
    (`_least_loads`). Nothing fits if

    - the PE of some super operator is larger than each host that may run it (`_too_large`);
    - the super operators of one host colocation are together (`_too_heavy`);
    - all that must run within some set of hosts is more than these have (`_too_much`);
    - no way to give hosts to colours (host exlocation, high availability, host dedication) leaves room for all, even if
      what asks for the same could be divided among hosts at will (`_no_room`).

Example:
    Two operators of 60 mips that are PE colocated, on hosts of 100: together they are one super operator of 120.

When it does not apply:
    Problems that fit by all of these bounds may still have no solution.

Reference:
    Ours; "quick infeasibility" is the COLA paper's future work (section 5).
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram
from penstock.fusion.graph.host_needs import HostNeed
from penstock.fusion.graph.host_signatures import separate_colours
from penstock.fusion.graph.super_graph import SuperGraph
from penstock.fusion.problem.costs import TOLERANCE

_MOST_MASKS = 400
_MOST_COLUMNS = 6000
_PROGRAM_SECONDS = 2.0


def plain_overload(graph: SuperGraph, deadline: Deadline) -> str | None:
    """The first plain reason why nothing fits on the hosts, in words; None if there is none.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> problem = fusion_problem([60, 60], [(0, 1, 50)], [100, 100, 100])
        >>> plain_overload(super_graph(problem), Deadline.after(None))
        'the PE of `o0` needs at least 110 mips, more than the 100 of the largest host that may run it'
    """
    loads = [_least_loads(graph, v) for v in range(graph.vertices)]
    forced = [load for load, _ in loads]
    found = _too_large(graph, [pe for _, pe in loads]) or _too_heavy(graph, forced) or _too_much(graph, forced)
    return found or _no_room(graph, forced, deadline)


def _are_apart(graph: SuperGraph, v: int, u: int) -> bool:
    """Whether two super operators share no PE in any solution."""
    if graph.kinds[v] != graph.kinds[u] or not graph.exclusions[v].isdisjoint(graph.exclusions[u]):
        return True
    if not graph.has_needs or graph.clusters[v] == graph.clusters[u]:
        return False
    return not graph.needs[v].hosts & graph.needs[u].hosts or graph.needs[v].clashes(graph.needs[u])


def _least_loads(graph: SuperGraph, v: int) -> tuple[float, float]:
    """The least load of a super operator on its host, and the least load of its PE."""
    forced, joined = graph.costs[v], 0.0
    for u, cost in graph.neighbours[v].items():
        if _are_apart(graph, v, u):
            forced += cost
        else:
            joined += min(cost, graph.costs[u])
    return forced, forced + joined


def _room(graph: SuperGraph, hosts: int) -> tuple[float, float]:
    """The capacity of the largest of some hosts, and of all of them."""
    capacities = [c for host, c in enumerate(graph.problem.hosts.capacities.tolist()) if hosts >> host & 1]
    return max(capacities, default=0.0), sum(capacities)


class _Rooms:
    """The capacities of sets of hosts, each computed once."""

    def __init__(self, graph: SuperGraph) -> None:
        self._graph = graph
        self._known: dict[int, tuple[float, float]] = {}

    def largest(self, hosts: int) -> float:
        return self._of(hosts)[0] * (1 + TOLERANCE)

    def together(self, hosts: int) -> float:
        return self._of(hosts)[1] * (1 + TOLERANCE)

    def _of(self, hosts: int) -> tuple[float, float]:
        if hosts not in self._known:
            self._known[hosts] = _room(self._graph, hosts)
        return self._known[hosts]


def _too_large(graph: SuperGraph, least_pes: list[float]) -> str | None:
    rooms = _Rooms(graph)
    for v, group in enumerate(graph.members):
        most = rooms.largest(graph.needs[v].hosts)
        if least_pes[v] > most:
            return _words(f"the PE of {_names(graph, group)}", least_pes[v], most, "the largest host that may run it")
    return None


def _too_heavy(graph: SuperGraph, forced: list[float]) -> str | None:
    rooms = _Rooms(graph)
    for vertices in _by_cluster(graph).values():
        most = rooms.largest(graph.needs[vertices[0]].hosts)
        least = sum(forced[v] for v in vertices)
        if least > most:
            group = tuple(operator for v in vertices for operator in graph.members[v])
            return _words(f"what shares a host with {_names(graph, group)}", least, most, "the largest that may run it")
    return None


def _too_much(graph: SuperGraph, forced: list[float]) -> str | None:
    rooms = _Rooms(graph)
    asked: dict[int, float] = {}
    for v, load in enumerate(forced):
        asked[graph.needs[v].hosts] = asked.get(graph.needs[v].hosts, 0.0) + load
    everywhere = (1 << graph.problem.hosts.count) - 1
    for hosts in {everywhere, *(list(asked) if len(asked) <= _MOST_MASKS else ())}:
        load, most = sum(mips for mask, mips in asked.items() if not mask & ~hosts), rooms.together(hosts)
        if load > most:
            names = [f"`{name}`" for host, name in enumerate(graph.problem.hosts.ids) if hosts >> host & 1]
            where = "all hosts together" if hosts == everywhere else ", ".join(names[:8])
            return _words(f"what must run on {where}", load, most, "these")
    return None


def _no_room(graph: SuperGraph, forced: list[float], deadline: Deadline) -> str | None:
    """Hosts for colours by an integer program over what asks for the same."""
    loads: dict[object, float] = {}
    needs: dict[object, HostNeed] = {}
    for v, load in enumerate(forced):
        key = graph.needs[v].signature()
        needs[key] = graph.needs[v]
        loads[key] = loads.get(key, 0.0) + load
    hosts = graph.problem.hosts
    if not any(need.colours for need in needs.values()) or len(needs) * hosts.count > _MOST_COLUMNS:
        return None
    program = IntegerProgram()
    parts = [program.columns(hosts.count, upper=1.0) for _ in needs]
    for need, row in zip(needs.values(), parts, strict=True):
        program.row([(column, 1.0) for host, column in enumerate(row) if need.hosts >> host & 1], least=1.0)
    for host, capacity in enumerate(hosts.capacities.tolist()):
        terms = [(row[host], load / capacity) for row, load in zip(parts, loads.values(), strict=True)]
        program.row(terms, most=1.0 + TOLERANCE)
    separate_colours(program, list(needs.values()), parts)
    if not program.solve(deadline, seconds=_PROGRAM_SECONDS).is_infeasible:
        return None
    return "the hosts that are left beside those which operators must have for themselves have too little room"


def _by_cluster(graph: SuperGraph) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for v, cluster in enumerate(graph.clusters):
        found.setdefault(cluster, []).append(v)
    return found


def _names(graph: SuperGraph, operators: tuple[int, ...]) -> str:
    names = ", ".join(f"`{graph.problem.ids[operator]}`" for operator in operators[:4])
    return names if len(operators) <= 4 else f"{names} and {len(operators) - 4} more"


def _words(what: str, least: float, most: float, where: str) -> str:
    return f"{what} needs at least {least:g} mips, more than the {most:g} of {where}"


def oversized_operators(graph: SuperGraph) -> Iterator[str]:
    """The operators that no host is large enough for, and all operators together, in words."""
    problem = graph.problem
    largest = int(problem.hosts.capacities.argmax())
    most = float(problem.hosts.capacities[largest])
    for operator in (problem.costs > most * (1 + TOLERANCE)).nonzero()[0].tolist():
        yield (
            f"operator `{problem.ids[operator]}` costs {problem.costs[operator]:g} mips, "
            f"more than the {most:g} of the largest host `{problem.hosts.ids[largest]}`"
        )
    whole, room = float(problem.costs.sum()), float(problem.hosts.capacities.sum())
    if whole > room * (1 + TOLERANCE):
        yield f"the operators cost {whole:g} mips, more than the {room:g} of all hosts together"
