"""Why no placement exists: a minimal set of rules that cannot hold together.

Rules are taken away, many at a time and then fewer; rules without which there is still no placement are not needed to
explain it and stay away (a deletion filter by halves). What remains is in conflict, and no part of it is. Cost: for n
rules of which k remain about k log n feasibility programs. When the time is up what is left is named as it is, and the
reason says that it may be more than it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macrow.exact_placement import solve
from penstock.scheduler.macrow.task import build_task
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.nodes import Cluster, Constraint, Node

_EACH_SECONDS = 5.0
_ENDLESS_MIPS = 1e100
_MOST_NAMED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A placement question: PEs and the cluster that is to run them."""

    pes: tuple[Pe, ...]
    cluster: Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Something that can be taken away."""

    name: str
    without: Callable[[_Setting], _Setting]


def explain(pes: Sequence[Pe], goals: Mapping[str, float], cluster: Cluster, deadline: Deadline) -> None:
    """Raise `Infeasible` with the rules in conflict; return if it is not proven in time that there are such."""
    setting = _Setting(pes=tuple(pes), cluster=cluster)
    if not _is_infeasible(setting, goals, deadline):
        return
    rules, is_minimal = _filter(setting, goals, _rules(setting), deadline)
    if not rules:
        raise Infeasible("the PEs do not fit on the nodes that are up")
    names = [rule.name for rule in rules]
    found = "; ".join(names if is_minimal else names[:_MOST_NAMED])
    more = "" if is_minimal else " (and perhaps fewer than these: there was no time to tell)"
    raise Infeasible(f"no placement keeps all of: {found}{more}", conflicts=names)


def _filter(
    setting: _Setting, goals: Mapping[str, float], rules: list[_Rule], deadline: Deadline
) -> tuple[list[_Rule], bool]:
    """The rules that cannot all be spared, and whether each of them is needed."""
    kept, at, size = rules, 0, max(1, len(rules) // 2)
    while at < len(kept):
        if deadline.has_passed():
            return kept, False
        taken = kept[at : at + size]
        fewer = setting
        for rule in taken:
            fewer = rule.without(fewer)
        if _is_infeasible(fewer, goals, deadline):
            setting, kept = fewer, kept[:at] + kept[at + size :]
        elif len(taken) == 1:
            at += 1
        else:
            size = max(1, len(taken) // 2)
    return kept, True


def _is_infeasible(setting: _Setting, goals: Mapping[str, float], deadline: Deadline) -> bool:
    task = build_task(setting.pes, goals, setting.cluster, deadline)
    return solve(task, deadline.sooner(_EACH_SECONDS), only_feasible=True).is_infeasible


def _rules(setting: _Setting) -> list[_Rule]:
    """Everything that can be taken away, the broad limits first so that named constraints remain to be named."""
    cluster = setting.cluster
    rules = [
        _Rule(name="the limits on moves", without=_without_move_limits),
        _Rule(name="the nodes' `max_pes`", without=_without_node_limit(lambda node: replace(node, max_pes=None))),
        _Rule(name="the nodes' memory", without=_without_node_limit(lambda node: replace(node, memory_mb=math.inf))),
        _Rule(name="the nodes' mips", without=_without_node_limit(lambda node: replace(node, mips=_ENDLESS_MIPS))),
    ]
    for pe in setting.pes:
        need = cluster.needs_of(pe.id)
        if pe.min_mips > 0:
            rules.append(
                _Rule(name=f"the {pe.min_mips:g} mips that `{pe.id}` must get", without=_without_minimum(pe.id))
            )
        if need.tags or need.licences:
            wanted = ", ".join(sorted(need.tags | need.licences))
            rules.append(_Rule(name=f"what `{pe.id}` needs ({wanted})", without=_without_match(pe.id)))
    rules += [_Rule(name=str(constraint), without=_without(constraint)) for constraint in cluster.constraints]
    return rules


def _without(constraint: Constraint) -> Callable[[_Setting], _Setting]:
    def take(setting: _Setting) -> _Setting:
        rest = tuple(other for other in setting.cluster.constraints if other is not constraint)
        return replace(setting, cluster=replace(setting.cluster, constraints=rest))

    return take


def _without_move_limits(setting: _Setting) -> _Setting:
    rules = replace(setting.cluster.rules, max_moves=None, max_moves_per_node=None)
    return replace(setting, cluster=replace(setting.cluster, rules=rules))


def _without_node_limit(change: Callable[[Node], Node]) -> Callable[[_Setting], _Setting]:
    def take(setting: _Setting) -> _Setting:
        return replace(setting, cluster=replace(setting.cluster, nodes=tuple(map(change, setting.cluster.nodes))))

    return take


def _without_minimum(pe_id: str) -> Callable[[_Setting], _Setting]:
    def take(setting: _Setting) -> _Setting:
        pes = tuple(replace(pe, min_mips=0.0) if pe.id == pe_id else pe for pe in setting.pes)
        return replace(setting, pes=pes)

    return take


def _without_match(pe_id: str) -> Callable[[_Setting], _Setting]:
    def take(setting: _Setting) -> _Setting:
        need = replace(setting.cluster.needs_of(pe_id), tags=frozenset(), licences=frozenset())
        return replace(setting, cluster=replace(setting.cluster, needs={**setting.cluster.needs, pe_id: need}))

    return take
