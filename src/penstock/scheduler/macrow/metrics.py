"""The six metrics of a placement, their weighted average, and whether the placement keeps every rule."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from penstock.scheduler.macrow.task import Bools, Floats, Task

SHORTFALL_WEIGHT = 1000.0
"""A goal that is not met outweighs any metric."""

_SLACK = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The six metrics of a placement: the load of nodes and network, each as a share of the capacity.

    Attributes:
        average_utilization: Of the nodes' mips.
        maximum_utilization: Of the busiest node.
        average_traffic: Of the links; without links, the share of all traffic that leaves its node.
        maximum_traffic: Of the busiest link.
        average_bandwidth: Of the nodes' network cards, in and out.
        maximum_bandwidth: Of the busiest card.
    """

    average_utilization: float
    maximum_utilization: float
    average_traffic: float
    maximum_traffic: float
    average_bandwidth: float
    maximum_bandwidth: float


def metrics(task: Task, fractions: Floats) -> Metrics:
    """The six metrics of fractions (units by nodes)."""
    busy = task.goal_mips @ fractions / np.maximum(task.capacity_mips, 1e-12)
    passing = passing_mbps(task, fractions)
    cards = passing[: len(task.nodes)] / (2 * task.side_mbps[: len(task.nodes)])
    links = link_shares(task, passing)
    return Metrics(
        average_utilization=float(busy.mean()),
        maximum_utilization=float(busy.max()),
        average_traffic=float(links.mean()),
        maximum_traffic=float(links.max()),
        average_bandwidth=float(cards.mean()),
        maximum_bandwidth=float(cards.max()),
    )


def passing_mbps(task: Task, fractions: Floats) -> Floats:
    """The traffic over each piece of network, both ways together."""
    beside = fractions @ task.sides.T
    apart = np.abs(beside[task.streams[:, 0]] - beside[task.streams[:, 1]])
    return np.asarray(task.traffic_mbps @ apart)


def link_shares(task: Task, passing: Floats) -> Floats:
    """How full each link is; without links the whole network is one that could carry all traffic."""
    cards = len(task.nodes)
    if len(task.sides) > cards:
        return np.asarray(passing[cards:] / (2 * task.side_mbps[cards:]))
    return np.array([passing.sum() / 2 / (float(task.traffic_mbps.sum()) or 1.0)])


def shortfall(task: Task, fractions: Floats) -> float:
    """The share of all goals that is not met."""
    missing = task.goal_mips @ (1 - fractions.sum(axis=1))
    return float(missing) / (float(task.goal_mips.sum()) or 1.0)


def objective(task: Task, fractions: Floats) -> float:
    """The objective of macroW, to be minimized: the weighted average of the six metrics, after meeting the goals."""
    weights = np.array(astuple(task.weights))
    average = float(weights @ np.array(astuple(metrics(task, fractions)))) / max(float(weights.sum()), 1e-12)
    return average + SHORTFALL_WEIGHT * shortfall(task, fractions)


def broken_rules(task: Task, used: Bools, fractions: Floats | None = None) -> list[str]:
    """Every rule that a choice of nodes breaks, in words; with fractions, the rules about amounts as well."""
    broken = _rules_of_units(task, used) + _rules_of_nodes(task, used) + _rules_between_units(task, used)
    return broken if fractions is None else broken + _rules_of_amounts(task, used, fractions)


def _rules_of_units(task: Task, used: Bools) -> list[str]:
    broken = []
    for row, unit in enumerate(task.units):
        name = "+".join(unit)
        if not used[row].any():
            broken.append(f"{name} has no node")
        if (used[row] & ~task.allowed[row]).any():
            broken.append(f"{name} is on a node that it does not match")
        if (task.pinned[row] & ~used[row]).any():
            broken.append(f"{name} is not where it is fixed")
    return broken


def _rules_of_nodes(task: Task, used: Bools) -> list[str]:
    broken = []
    for column, node in enumerate(task.nodes):
        here = used[:, column]
        if task.memory_mb @ here > task.node_memory_mb[column] + _SLACK:
            broken.append(f"{node} is out of memory")
        if task.size @ here > task.max_pes[column]:
            broken.append(f"{node} has too many PEs")
        if any(holders @ here > seats[column] for holders, seats in task.licences):
            broken.append(f"{node} is out of licences")
        if (task.exclusive & here).any() and here.sum() > 1:
            broken.append(f"{node} is shared although a PE wants it for itself")
    return broken


def _rules_between_units(task: Task, used: Bools) -> list[str]:
    return [
        f"{'+'.join(task.units[one])} and {'+'.join(task.units[other])} share a node"
        for one, other in task.apart
        if one == other or (used[one] & used[other]).any()
    ]


def _rules_of_amounts(task: Task, used: Bools, fractions: Floats) -> list[str]:
    broken = []
    if (task.goal_mips @ fractions > task.capacity_mips + _SLACK).any():
        broken.append("a node gives more than it has")
    if ((fractions > _SLACK) & ~used).any():
        broken.append("a PE gets mips on a node that is not its own")
    if (used & (fractions < task.min_fraction * fractions.sum(axis=1, keepdims=True) - _SLACK)).any():
        broken.append("a fraction is below the least")
    if (used.sum(axis=1) > task.degree).any():
        broken.append("a PE is on more nodes than its degree of parallelism")
    if (task.goal_mips * fractions.sum(axis=1) < task.floor_mips - _SLACK * (1 + task.floor_mips)).any():
        broken.append("a PE gets less than its minimum")
    started = task.moves * used
    if started.sum() > task.max_moves or (started.sum(axis=0) > task.max_moves_per_node).any():
        broken.append("too many PEs move")
    return broken
