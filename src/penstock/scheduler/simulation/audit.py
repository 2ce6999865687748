"""Check a decision of the scheduler against every rule, from the rules' own words.

Nothing here is shared with the searches, so that a mistake there shows here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.nodes import Allocation, Cluster, Constraint

_SLACK = 1e-6

Homes = Mapping[str, frozenset[str]]


def audit(
    pes: Sequence[Pe], candidates: Mapping[str, Sequence[str]], allocation: Allocation, cluster: Cluster
) -> Iterator[str]:
    """Say every rule that an allocation breaks.

    Example:
        >>> from penstock.scheduler.problem.nodes import Node
        >>> small = Cluster(nodes=(Node(id="n", mips=10.0),))
        >>> list(audit([Pe(id="p", max_mips=50.0)], {"p": ["n"]}, {"p": {"n": 20.0}}, small))
        ['n gives 20 of 10 mips']
    """
    homes = {pe.id: frozenset(node for node, mips in allocation.get(pe.id, {}).items() if mips > 0) for pe in pes}
    for pe in pes:
        yield from _pe_rules(pe, homes[pe.id], candidates.get(pe.id, ()), allocation, cluster)
    yield from _node_rules(homes, allocation, cluster)
    for constraint in cluster.constraints:
        yield from _constraint_rules(constraint, homes)
    yield from _move_rules(homes, cluster)


def _pe_rules(
    pe: Pe, home: frozenset[str], candidates: Sequence[str], allocation: Allocation, cluster: Cluster
) -> Iterator[str]:
    needs, live = cluster.needs_of(pe.id), {node.id: node for node in cluster.live_nodes}
    fixed = {node for c in cluster.constraints if c.kind == "fixed" and pe.id in c.pes for node in c.nodes}
    if not home <= live.keys():
        yield f"{pe.id} is on a node that is down"
    if not home <= set(candidates):
        yield f"{pe.id} is on a node that is not its candidate"
    if len(home) > max(needs.max_nodes, len(fixed)):
        yield f"{pe.id} is on {len(home)} nodes"
    if any(not needs.tags <= live[node].tags for node in home if node in live):
        yield f"{pe.id} is on a node without its tags"
    if sum(allocation.get(pe.id, {}).values()) > pe.max_mips * (1 + _SLACK) + _SLACK:
        yield f"{pe.id} gets more than its maximum"


def _node_rules(homes: Homes, allocation: Allocation, cluster: Cluster) -> Iterator[str]:
    for node in cluster.live_nodes:
        here = [pe for pe, home in homes.items() if node.id in home]
        given = sum(allocation[pe][node.id] for pe in here)
        if given > node.mips * (1 + _SLACK):
            yield f"{node.id} gives {given:g} of {node.mips:g} mips"
        if sum(cluster.needs_of(pe).memory_mb for pe in here) > node.memory_mb + _SLACK:
            yield f"{node.id} is out of memory"
        if node.max_pes is not None and len(here) > node.max_pes:
            yield f"{node.id} runs {len(here)} PEs"
        for licence in {name for pe in here for name in cluster.needs_of(pe).licences}:
            if sum(licence in cluster.needs_of(pe).licences for pe in here) > node.licences.get(licence, 0):
                yield f"{node.id} is out of {licence} licences"


def _constraint_rules(constraint: Constraint, homes: Homes) -> Iterator[str]:
    mine = [pe for pe in constraint.pes if homes.get(pe)]
    if constraint.kind in ("resource_match", "fixed") and any(not homes[pe] <= set(constraint.nodes) for pe in mine):
        yield f"broken: {constraint}"
    if constraint.kind == "exlocation" and any(homes[one] & homes[other] for one, other in combinations(mine, 2)):
        yield f"broken: {constraint}"
    if constraint.kind == "colocation" and any(homes[one] != homes[other] for one, other in combinations(mine, 2)):
        yield f"broken: {constraint}"
    if constraint.kind == "exclusive":
        others = [(pe, other) for pe in mine for other in homes if other != pe]
        if any(homes[pe] & homes[other] for pe, other in others):
            yield f"broken: {constraint}"


def _move_rules(homes: Homes, cluster: Cluster) -> Iterator[str]:
    """A PE with a home moves to every node where it had none."""
    before = {pe: {node for node, mips in shares.items() if mips > 0} for pe, shares in cluster.current.items()}
    started = [node for pe, home in homes.items() if before.get(pe) for node in home - before[pe]]
    if cluster.rules.max_moves is not None and len(started) > cluster.rules.max_moves:
        yield f"{len(started)} PEs move"
    for node in set(started):
        if cluster.rules.max_moves_per_node is not None and started.count(node) > cluster.rules.max_moves_per_node:
            yield f"{started.count(node)} PEs move to {node}"
