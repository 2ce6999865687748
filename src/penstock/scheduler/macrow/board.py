"""A placement under construction: what is left of every node, and what draws a unit to one."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from penstock.scheduler.macrow.task import Bools, Floats, Task

SLACK = 1e-9

_STAY_PRICE = 0.05
"""The price of a move: moves are limited, and the next unit may need one more."""


class Board:
    """A placement under construction, with what is left of every node."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.fractions: Floats = np.zeros(task.allowed.shape)
        self.used: Bools = np.zeros(task.allowed.shape, dtype=bool)
        self.free_mips = task.capacity_mips.copy()
        self.free_memory = task.node_memory_mb.copy()
        self.free_places = task.max_pes.copy()
        self.free_seats = [seats.copy() for _, seats in task.licences]
        self.free_moves = task.max_moves
        self.free_moves_at = np.full(len(task.nodes), task.max_moves_per_node)
        self.units_at = np.zeros(len(task.nodes), dtype=int)
        self.taken: Bools = np.zeros(len(task.nodes), dtype=bool)
        self.foes: list[list[int]] = [[] for _ in task.units]
        for one, other in task.apart:
            self.foes[one].append(other)
            self.foes[other].append(one)

    def open_nodes(self, unit: int) -> Bools:
        """Where the unit may go as things stand, but for mips."""
        task, moves = self.task, self.task.moves[unit]
        ok = task.allowed[unit] & ~self.taken & (task.memory_mb[unit] <= self.free_memory + SLACK)
        ok &= (task.size[unit] <= self.free_places) & (moves <= self.free_moves) & (moves <= self.free_moves_at)
        for (holders, _), free in zip(task.licences, self.free_seats, strict=True):
            ok &= holders[unit] <= free
        if task.exclusive[unit]:
            ok &= self.units_at == 0
        for foe in self.foes[unit]:
            ok &= ~self.used[foe]
        return np.asarray(ok)

    def put(self, unit: int, fractions: Floats, nodes: Bools) -> None:
        """Place the unit."""
        self.fractions[unit], self.used[unit] = fractions, nodes
        self._account(unit, -1.0)

    def take(self, unit: int) -> tuple[Floats, Bools]:
        """Lift the unit from the board; return where it was."""
        self._account(unit, 1.0)
        was = self.fractions[unit].copy(), self.used[unit].copy()
        self.fractions[unit], self.used[unit] = 0.0, False
        return was

    def _account(self, unit: int, sign: float) -> None:
        task, nodes = self.task, self.used[unit]
        self.free_mips += sign * task.goal_mips[unit] * self.fractions[unit]
        self.free_memory += np.where(nodes, sign * task.memory_mb[unit], 0.0)
        self.free_places += np.where(nodes, sign * task.size[unit], 0.0)
        for (holders, _), free in zip(task.licences, self.free_seats, strict=True):
            free += np.where(nodes, sign * holders[unit], 0.0)
        moves = np.where(nodes, task.moves[unit], 0)
        self.free_moves += sign * float(moves.sum())
        self.free_moves_at = self.free_moves_at + sign * moves
        self.units_at -= int(sign) * nodes
        if task.exclusive[unit]:
            self.taken = np.where(nodes, sign < 0, self.taken)


class Pull:
    """The pull of nodes on a unit: towards free room, and towards the units that it exchanges data with."""

    def __init__(self, task: Task) -> None:
        weights = np.array(astuple(task.weights))
        self.task = task
        self.load_weight = float(weights[:2].sum())
        self.traffic_weight = float(weights[2:].sum())
        self.partners: list[list[tuple[int, float]]] = [[] for _ in task.units]
        total = float(task.traffic_mbps.sum()) or 1.0
        for (one, other), mbps in zip(task.streams, task.traffic_mbps, strict=True):
            self.partners[one].append((int(other), float(mbps) / total))
            self.partners[other].append((int(one), float(mbps) / total))

    def price(self, board: Board, unit: int) -> Floats:
        """For each node, what it would cost to put the unit there."""
        task = self.task
        load = 1 - (board.free_mips - task.goal_mips[unit]) / np.maximum(task.capacity_mips, 1e-12)
        near = np.zeros(len(task.nodes))
        for partner, share in self.partners[unit]:
            near += share * board.fractions[partner]
        stay = _STAY_PRICE * (task.moves[unit] > 0)
        return np.asarray(self.load_weight * load / len(task.nodes) - self.traffic_weight * near + stay)
