"""The problem of microW: units of colocated PEs, the candidates that are up, and what counts as a move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.scheduler.macrow.task import degrees_of, units_of
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.nodes import Cluster

BELOW_MINIMUM = 9.0
"""The cost of a mips below a PE's minimum, on top of the 1 that every missed mips costs."""

_LEAST_TOGETHER = 0.01

Grant = dict[str, dict[str, float]]
"""The mips of each PE on each node, while they are being handed out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One micro epoch's problem.

    Attributes:
        pes: The PEs.
        goals: The mips that each should get.
        units: Colocated PEs together.
        unit_of: The unit of each PE, by its position in `units`.
        candidates: For each unit, the candidate nodes that are up, the preferred ones first.
        degree: For each unit, how many nodes it may use.
        homes: For each PE, the nodes where it has mips now, up or not.
        capacity: The mips of each node that is up.
        min_fraction: The least share of what a PE gets that it gets on a node in use.
        max_moves: PEs that may start where they did not run.
        max_moves_per_node: The same for each node.
        move_price: What a move costs, small against any mips that matters.
    """

    pes: tuple[Pe, ...]
    goals: Mapping[str, float]
    units: tuple[tuple[str, ...], ...]
    unit_of: Mapping[str, int]
    candidates: tuple[tuple[str, ...], ...]
    degree: tuple[int, ...]
    homes: Mapping[str, frozenset[str]]
    capacity: Mapping[str, float]
    min_fraction: float
    max_moves: int | None
    max_moves_per_node: int | None
    move_price: float

    @property
    def binaries(self) -> int:
        """How many choices of a node for a unit there are."""
        return sum(len(nodes) for nodes in self.candidates)

    def least_share(self, unit: int) -> float:
        """The least share of what it gets that a PE of the unit gets on a node that the unit uses.

        Colocated PEs always get some, so that they are on the same nodes and not only on some of the same.
        """
        return self.min_fraction if len(self.units[unit]) == 1 else max(self.min_fraction, _LEAST_TOGETHER)

    def moves_at(self, unit: int, node: str) -> int:
        """How many PEs move when the unit uses the node."""
        return sum(bool(self.homes[pe]) and node not in self.homes[pe] for pe in self.units[unit])

    def ran(self, unit: int) -> frozenset[str]:
        """Where some PE of the unit has mips now."""
        return frozenset().union(*(self.homes[pe] for pe in self.units[unit]))


def build_setting(
    pes: Sequence[Pe],
    goals: Mapping[str, float],
    candidates: Mapping[str, Sequence[str]],
    cluster: Cluster,
    unit_mips: float = 1.0,
) -> Setting:
    """The problem of one micro epoch, its mips in some unit."""
    units = units_of([pe.id for pe in pes], cluster.constraints)
    capacity = {node.id: node.mips / unit_mips for node in cluster.live_nodes}
    asked = {pe.id: goals[pe.id] / unit_mips for pe in pes}
    return Setting(
        pes=tuple(replace(pe, min_mips=pe.min_mips / unit_mips) for pe in pes),
        goals=asked,
        units=units,
        unit_of={pe: i for i, unit in enumerate(units) for pe in unit},
        candidates=tuple(tuple(n for n in _common(unit, candidates) if n in capacity) for unit in units),
        degree=tuple(degrees_of(units, cluster)),
        homes={pe.id: frozenset(n for n, m in cluster.current.get(pe.id, {}).items() if m > 0) for pe in pes},
        capacity=capacity,
        min_fraction=cluster.rules.min_fraction,
        max_moves=cluster.rules.max_moves,
        max_moves_per_node=cluster.rules.max_moves_per_node,
        move_price=1e-4 * max(1.0, *asked.values()) if asked else 1e-4,
    )


def _common(unit: tuple[str, ...], candidates: Mapping[str, Sequence[str]]) -> list[str]:
    """The candidates that all PEs of the unit have, in the order of the first."""
    return [node for node in candidates.get(unit[0], ()) if all(node in candidates.get(pe, ()) for pe in unit)]


def cost_of(setting: Setting, grant: Grant) -> float:
    """The shortfall of the PEs from their goals, in mips; a mips below a PE's minimum counts more."""
    cost = 0.0
    for pe in setting.pes:
        got, goal = sum(grant.get(pe.id, {}).values()), setting.goals[pe.id]
        cost += max(goal - got, 0.0) + BELOW_MINIMUM * max(min(pe.min_mips, goal) - got, 0.0)
    return cost


def moves_of(setting: Setting, grant: Grant) -> int:
    """How many PEs the grant starts on nodes where they did not run."""
    moves = 0
    for unit, members in enumerate(setting.units):
        used = {node for pe in members for node, mips in grant.get(pe, {}).items() if mips > 0}
        moves += sum(setting.moves_at(unit, node) for node in used)
    return moves
