"""Why a problem has no solution: a minimal set of demands that cannot hold together.

Introduction:
    A user whose constraints contradict one another wants to know which ones, quickly; the COLA paper names this as
    future work.

Formulation:
    The rules are the constraints of the problem, the regions, the demand for an acyclic plan, and the capacities of the
    hosts. A set of rules is in conflict if no fusion keeps all of them, and minimal if dropping any one of them leaves
    rules that can be kept.

Example:
    pe_colocation of a, b with pe_exlocation of a, b: these two are named, however many others there are.

When it does not apply:
    Whether capacities can be kept is bin packing. It is decided for small problems (`complete_search.fits`) and by
    simple bounds (`outgrown`) for all; where neither settles it, nothing is claimed.

Algorithm:
    Validity persists when PEs are split, so a valid fusion exists exactly if the finest one is valid: one build of the
    super graph and one assignment of *different* needs to hosts, not a run of the whole algorithm. Then the deletion
    filter: take away one rule after the other; a rule without which the rest is still in conflict stays away. One check
    for each rule.

Preserves:
    What is named is truly in conflict, and no part of it is.

Reference:
    Khandekar et al., Middleware 2009, section 3.3 (validity persists) and section 5, third item; Chinneck's deletion
    filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from penstock.diagnostics import Infeasible
from penstock.fusion.problem import FusionProblem, describe
from penstock.fusion.scheduling import is_assignable
from penstock.fusion.super_graph import Contradiction, SuperGraph, super_graph

CAPACITIES = "the capacities of the hosts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """A problem and how it is to be solved: what rules are taken away from."""

    problem: FusionProblem
    acyclic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that can be taken away."""

    name: str
    without: Callable[[Demands], Demands]


def valid_graph(problem: FusionProblem, *, acyclic: bool) -> SuperGraph:
    """The super graph of a problem that has a valid solution.

    Raises:
        Infeasible: It has none; the conflict is named.

    Example:
        >>> from penstock.fusion.problem import fusion_problem
        >>> from penstock.ir.constraints import Constraint, ConstraintKind
        >>> alone = Constraint(kind=ConstraintKind.HOST_DEDICATION, operators=("o0",))
        >>> valid_graph(fusion_problem([1, 1], [], [9], constraints=[alone]), acyclic=False)
        Traceback (most recent call last):
        penstock.diagnostics.Infeasible: no fusion keeps all of: host_dedication of `o0`
    """
    demands = Demands(problem=problem, acyclic=acyclic)
    graph = _graph(demands)
    if graph is None:
        conflict = minimal_conflict(demands, lambda fewer: _graph(fewer) is not None)
        raise Infeasible("no fusion keeps all of: " + "; ".join(conflict), conflicts=conflict)
    return graph


def refuse_overload(graph: SuperGraph, can_fit: Callable[[SuperGraph], bool | None]) -> None:
    """Raise if it can be proven that the capacities cannot be kept; return otherwise.

    Args:
        graph: The problem.
        can_fit: Whether a problem's fusion fits on its hosts; None if that is not known.
    """
    culprits = list(outgrown(graph.problem))
    if culprits:
        raise Infeasible("; ".join(culprits), conflicts=[culprits[0], CAPACITIES])
    if can_fit(graph) is not False:
        return

    def holds(fewer: Demands) -> bool:
        smaller = _graph(fewer)
        return smaller is not None and can_fit(smaller) is not False

    demands = Demands(problem=graph.problem, acyclic=graph.acyclic)
    conflict = minimal_conflict(demands, holds)
    also = "".join(f"; {name}" for name in conflict)
    raise Infeasible(
        f"no fusion fits on the hosts and keeps all of: {CAPACITIES}{also}", conflicts=[CAPACITIES, *conflict]
    )


def outgrown(problem: FusionProblem) -> Iterator[str]:
    """What is plainly too large, in words: an operator for every host, or all operators together."""
    largest = int(problem.hosts.capacities.argmax())
    most = float(problem.hosts.capacities[largest])
    for operator in np.flatnonzero(problem.costs > most * (1 + 1e-9)).tolist():
        yield (
            f"operator `{problem.ids[operator]}` costs {problem.costs[operator]:g} mips, "
            f"more than the {most:g} of the largest host `{problem.hosts.ids[largest]}`"
        )
    whole, room = float(problem.costs.sum()), float(problem.hosts.capacities.sum())
    if whole > room * (1 + 1e-9):
        yield f"the operators cost {whole:g} mips, more than the {room:g} of all hosts together"


def minimal_conflict(demands: Demands, holds: Callable[[Demands], bool]) -> list[str]:
    """The deletion filter: names of rules that cannot hold together, though any fewer of them can.

    Args:
        demands: All rules together, which do not hold.
        holds: Whether what is left can be kept.
    """
    conflict = []
    for rule in _rules(demands):
        fewer = rule.without(demands)
        if holds(fewer):
            conflict.append(rule.name)
        else:
            demands = fewer
    return conflict


def _graph(demands: Demands) -> SuperGraph | None:
    """The super graph, or None if not even the finest fusion is valid."""
    try:
        graph = super_graph(demands.problem, acyclic=demands.acyclic)
    except Contradiction:
        return None
    needs = dict(zip(graph.clusters, graph.needs, strict=True)).values()
    return graph if is_assignable(needs, demands.problem.hosts.count) else None


def _rules(demands: Demands) -> Iterator[Rule]:
    for constraint in demands.problem.constraints:
        yield Rule(name=describe(constraint), without=_without(constraint))
    if any(region is not None for region in demands.problem.regions):
        yield Rule(name="the regions of the operators", without=_without_regions)
    if demands.acyclic:
        yield Rule(name="the demand for an acyclic plan", without=lambda d: replace(d, acyclic=False))


def _without(constraint: object) -> Callable[[Demands], Demands]:
    def take(demands: Demands) -> Demands:
        rest = tuple(other for other in demands.problem.constraints if other is not constraint)
        return replace(demands, problem=replace(demands.problem, constraints=rest))

    return take


def _without_regions(demands: Demands) -> Demands:
    nowhere = (None,) * demands.problem.operators
    return replace(demands, problem=replace(demands.problem, regions=nowhere))
