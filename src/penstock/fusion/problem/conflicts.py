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
    Whether capacities can be kept is bin packing. It is decided for small problems (`complete.fits`) and by
    plain bounds (`bounds`) for all; where neither settles it, nothing is claimed. When time is up before the conflict
    is minimal, what is left of it is named, and said to be more than needed.

Algorithm:
    Validity persists when PEs are split, so a valid fusion exists exactly if the finest one is valid: one build of the
    super graph and one assignment of *different* needs to hosts, not a run of the whole algorithm. Then QuickXplain:
    halves of the rules are left out as a whole while the rest is still in conflict. A conflict of k among n rules takes
    O(k log (n / k)) checks.

Preserves:
    What is named is truly in conflict, and no part of it is.

Reference:
    Khandekar et al., Middleware 2009, section 3.3 (validity persists) and section 5, third item; Junker, QuickXplain,
    AAAI 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.fusion.graph.host_signatures import is_assignable
from penstock.fusion.graph.super_graph import Contradiction, SuperGraph, super_graph
from penstock.fusion.problem.bounds import oversized_operators, plain_overload
from penstock.fusion.problem.fusion_problem import FusionProblem, describe

CAPACITIES = "the capacities of the hosts"
_REGIONS = "the regions of the operators"
_ACYCLIC = "the demand for an acyclic plan"
CanFit = Callable[[SuperGraph], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """A problem and how it is to be solved: what rules are taken away from."""

    problem: FusionProblem
    acyclic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Rules that cannot hold together.

    Attributes:
        names: The rules, as messages name them.
        is_minimal: Whether any fewer of them can.
        demands: The problem with these rules alone.
    """

    names: list[str]
    is_minimal: bool
    demands: Demands


def valid_graph(problem: FusionProblem, *, acyclic: bool, deadline: Deadline | None = None) -> SuperGraph:
    """The super graph of a problem that has a valid solution.

    Raises:
        Infeasible: It has none; the conflict is named.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.ir.constraints import Constraint, ConstraintKind
        >>> alone = Constraint(kind=ConstraintKind.HOST_DEDICATION, operators=("o0",))
        >>> valid_graph(fusion_problem([1, 1], [], [9], constraints=[alone]), acyclic=False)
        Traceback (most recent call last):
        penstock.Infeasible: no fusion keeps all of: host_dedication of `o0`
    """
    demands = Demands(problem=problem, acyclic=acyclic)
    in_time = deadline or Deadline.after(None)
    graph = _graph(demands, in_time)
    if graph is None:
        conflict = minimal_conflict(demands, lambda fewer: _graph(fewer, in_time) is not None, in_time)
        raise _infeasible("no fusion keeps all of: ", [], conflict)
    return graph


def refuse_plain_overload(graph: SuperGraph, can_fit: CanFit, deadline: Deadline) -> None:
    """Raise if something is plainly too large for the hosts; return otherwise.

    Args:
        graph: The problem.
        can_fit: As for `refuse_overload`: fewer rules may be in conflict as well, though not plainly.
        deadline: When to stop looking for a smaller conflict.

    Raises:
        Infeasible: Nothing fits; the culprits are named.
    """
    culprits = list(oversized_operators(graph))
    if culprits:
        raise Infeasible("; ".join(culprits), conflicts=[culprits[0], CAPACITIES])
    if plain_overload(graph, deadline) is not None:
        _refuse(graph, can_fit, deadline)


def refuse_overload(graph: SuperGraph, can_fit: CanFit, deadline: Deadline) -> None:
    """Raise if a complete search proves that the capacities cannot be kept; return otherwise.

    Args:
        graph: The problem, for which there is no plain reason.
        can_fit: Whether a problem's fusion fits on its hosts; None if that is not known.
        deadline: When to stop looking for a smaller conflict.

    Raises:
        Infeasible: Nothing fits; the conflict is named.
    """
    if can_fit(graph) is False:
        _refuse(graph, can_fit, deadline)


def _refuse(graph: SuperGraph, can_fit: CanFit, deadline: Deadline) -> None:
    """Raise with a conflict that is minimal by plain reasons, which are quick, and then by a complete search."""

    def holds(fewer: Demands) -> bool:
        smaller = _graph(fewer, deadline)
        return smaller is not None and can_fit(smaller) is not False

    demands = Demands(problem=graph.problem, acyclic=graph.acyclic)
    if not _seems_to_hold(demands, deadline):
        demands = minimal_conflict(demands, lambda fewer: _seems_to_hold(fewer, deadline), deadline).demands
    found = minimal_conflict(demands, holds, deadline)
    culprit = _graph(found.demands, deadline)
    why = None if culprit is None else plain_overload(culprit, deadline)
    raise _infeasible("no fusion fits on the hosts and keeps all of: ", [CAPACITIES], found, why)


def _seems_to_hold(demands: Demands, deadline: Deadline) -> bool:
    """Whether there is no plain reason why nothing fits."""
    graph = _graph(demands, deadline)
    return graph is not None and plain_overload(graph, deadline) is None


def _infeasible(what: str, first: Sequence[str], conflict: Conflict, why: str | None = None) -> Infeasible:
    names, more = [*first, *conflict.names], f" ({why})" if why else ""
    late = "" if conflict.is_minimal else "; time was up before the conflict could be narrowed down further"
    return Infeasible(f"{what}{'; '.join(names)}{more}{late}", conflicts=names)


def minimal_conflict(demands: Demands, holds: Callable[[Demands], bool], deadline: Deadline) -> Conflict:
    """Rules that cannot hold together, though any fewer of them can.

    Args:
        demands: All rules together, which do not hold.
        holds: Whether what is left can be kept.
        deadline: When to stop taking rules away.
    """
    rules = _rules(demands)
    is_minimal = True

    def explain(kept: list[int], is_new: bool, rest: list[int]) -> list[int]:
        nonlocal is_minimal
        if deadline.has_passed():
            is_minimal = False
            return rest
        if is_new and not holds(_only(demands, rules, kept)):
            return []
        if len(rest) == 1:
            return rest
        first, second = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        later = explain(kept + first, True, second)
        return explain(kept + later, bool(later), first) + later

    found = explain([], True, list(range(len(rules)))) if rules else []
    names = [rules[number] for number in sorted(found)]
    return Conflict(names=names, is_minimal=is_minimal, demands=_only(demands, rules, found))


def _graph(demands: Demands, deadline: Deadline) -> SuperGraph | None:
    """The super graph, or None if not even the finest fusion is valid."""
    try:
        graph = super_graph(demands.problem, acyclic=demands.acyclic)
    except Contradiction:
        return None
    needs = dict(zip(graph.clusters, graph.needs, strict=True)).values()
    return graph if is_assignable(needs, demands.problem.hosts.count, deadline) else None


def _rules(demands: Demands) -> list[str]:
    """The names of the rules: the constraints in their order, then what else there is."""
    names = [describe(constraint) for constraint in demands.problem.constraints]
    if any(region is not None for region in demands.problem.regions):
        names.append(_REGIONS)
    return [*names, _ACYCLIC] if demands.acyclic else names


def _only(demands: Demands, rules: Sequence[str], kept: Sequence[int]) -> Demands:
    """The demands with some of the rules alone."""
    problem, others = demands.problem, {rules[number] for number in kept if number >= len(demands.problem.constraints)}
    constraints = tuple(problem.constraints[number] for number in sorted(kept) if number < len(problem.constraints))
    regions = problem.regions if _REGIONS in others else (None,) * problem.operators
    return Demands(
        problem=replace(problem, constraints=constraints, regions=regions),
        acyclic=demands.acyclic and _ACYCLIC in others,
    )
