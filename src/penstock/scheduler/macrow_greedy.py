"""macroW in a hurry: place the units one by one, then improve by moving and exchanging.

Units are taken largest first, pinned and running ones before the others, each to the node (or, where its degree
allows and it must, the nodes) that adds least to load and traffic. Then single units are tried on every other node,
and pairs are exchanged, as long as the objective falls and there is time. Cost: units x nodes to build, and units x
nodes evaluations of the metrics for each round of improvement.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import astuple

import numpy as np

from penstock.scheduler.deadline import Deadline, OutOfTime
from penstock.scheduler.macrow_metrics import broken_rules
from penstock.scheduler.macrow_program import Program
from penstock.scheduler.macrow_tally import Tally
from penstock.scheduler.macrow_task import Bools, Floats, Ints, Task

_ROUNDS = 4
_MOST_TO_EXCHANGE = 40
_STAY_PRICE = 0.05
"""What a move must gain: moves are few, and the next unit may need one more."""
_SLACK = 1e-9


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
        ok = task.allowed[unit] & ~self.taken & (task.memory_mb[unit] <= self.free_memory + _SLACK)
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


def place_greedily(task: Task, deadline: Deadline) -> tuple[Bools, Floats] | None:
    """A placement that keeps every rule, or None where this search finds none (there may still be one)."""
    board = Board(task)
    pull = Pull(task)
    order = sorted(range(len(task.units)), key=lambda u: _urgency(task, u))
    for unit in order:
        if not _seat(board, pull, unit):
            return None
    if (board.free_mips < 0).any() and not _cut_to_fit(board):
        return None
    if broken_rules(task, board.used, board.fractions):
        return None
    with suppress(OutOfTime):
        _improve(board, deadline)
    return board.used, board.fractions


def _urgency(task: Task, unit: int) -> tuple[bool, bool, int, float]:
    """Those with the least choice first, then the largest."""
    roomy = int(task.allowed[unit].sum()) - int(task.exclusive[unit]) * len(task.nodes)
    return not task.pinned[unit].any(), not task.floor_mips[unit] > 0, roomy, -float(task.goal_mips[unit])


class Pull:
    """What draws a unit to a node: room, and the units it talks to."""

    def __init__(self, task: Task) -> None:
        weights = np.array(astuple(task.weights))
        self.task = task
        self.load_weight = float(weights[:2].sum())
        self.traffic_weight = float(weights[2:].sum())
        self.partners: list[list[tuple[int, float]]] = [[] for _ in task.units]
        total = max(float(task.traffic_mbps.sum()), 1e-12)
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


def _seat(board: Board, pull: Pull, unit: int) -> bool:
    """Place one unit as well as things stand; False when no node is open to it."""
    task, open_nodes = board.task, board.open_nodes(unit)
    if task.pinned[unit].any():
        chosen: Ints = np.flatnonzero(task.pinned[unit])
        if not open_nodes[chosen].all() or len(chosen) > task.degree[unit]:
            return False
    else:
        chosen = _choose(board, pull, unit, np.flatnonzero(open_nodes))
    if len(chosen) == 0:
        return False
    fractions, nodes = np.zeros(len(task.nodes)), np.zeros(len(task.nodes), dtype=bool)
    nodes[chosen] = True
    fractions[chosen] = _split(np.maximum(board.free_mips[chosen], 0.0))
    board.put(unit, fractions, nodes)
    return True


def _choose(board: Board, pull: Pull, unit: int, open_nodes: Ints) -> Ints:
    """The cheapest node with room; else, within the unit's degree, the roomiest nodes that together have it."""
    task, goal = board.task, float(board.task.goal_mips[unit])
    roomy = open_nodes[board.free_mips[open_nodes] >= goal - _SLACK]
    if len(roomy):
        return np.asarray([roomy[np.argmin(pull.price(board, unit)[roomy])]])
    by_room = open_nodes[np.argsort(-board.free_mips[open_nodes], kind="stable")]
    chosen: list[int] = []
    movable = board.free_moves
    for node in by_room:
        if len(chosen) == task.degree[unit] or board.free_mips[chosen].sum() >= goal:
            break
        if task.moves[unit, node] <= movable and (not chosen or board.free_mips[node] >= 2 * task.min_fraction * goal):
            chosen.append(int(node))
            movable -= task.moves[unit, node]
    return np.asarray(chosen, dtype=int)


def _split(room: Floats) -> Floats:
    """Fractions over nodes in proportion to their room; where there is none, all on the first, to be cut later."""
    if room.sum() <= 0:
        return np.asarray(np.eye(len(room))[0])
    return np.asarray(room / room.sum())


def _cut_to_fit(board: Board) -> bool:
    """With the nodes of each unit set, meet as much of the goals as the nodes can; False if a minimum does not fit."""
    task, program = board.task, Program()
    column_of: dict[tuple[int, int], int] = {}
    for unit, goal in enumerate(task.goal_mips):
        nodes = [int(node) for node in np.flatnonzero(board.fractions[unit] > 0)]
        columns = program.columns(len(nodes), upper=1.0, cost=-float(goal))
        floor = float(task.floor_mips[unit] / goal) if goal > 0 else 1.0
        program.row([(column, 1.0) for column in columns], least=floor, most=1.0)
        share = task.min_fraction if len(nodes) > 1 else 0.0
        for node, column in zip(nodes, columns, strict=True):
            program.row([(c, (1.0 if c == column else 0.0) - share) for c in columns], least=0.0)
            column_of[unit, node] = column
    for node, capacity in enumerate(task.capacity_mips):
        terms = [(column, float(task.goal_mips[u])) for (u, n), column in column_of.items() if n == node]
        program.row(terms, most=float(capacity))
    values = program.solve().values
    if values is None:
        return False
    cut = np.zeros_like(board.fractions)
    for (unit, node), column in column_of.items():
        cut[unit, node] = values[column]
    _put_again(board, cut)
    return True


def _put_again(board: Board, fractions: Floats) -> None:
    for unit, cut in enumerate(fractions):
        _, nodes = board.take(unit)
        # A unit that gets nothing keeps its place.
        board.put(unit, cut, cut > 0 if cut.any() else nodes)


def _improve(board: Board, deadline: Deadline) -> None:
    """Move single units and exchange pairs while the objective falls."""
    tally = Tally(board.task, board.fractions)
    units = len(board.task.units)
    best = tally.objective()
    for _ in range(_ROUNDS):
        before = best
        for unit in range(units):
            deadline.check()
            best = _try_other_nodes(board, tally, unit, best)
        if units <= _MOST_TO_EXCHANGE:
            best = _try_exchanges(board, tally, best, deadline)
        if best >= before - _SLACK:
            return


def _try_other_nodes(board: Board, tally: Tally, unit: int, best: float) -> float:
    task = board.task
    if task.pinned[unit].any() or board.used[unit].sum() != 1 or board.fractions[unit].sum() < 1 - _SLACK:
        return best
    was = board.take(unit)
    open_nodes = board.open_nodes(unit) & (board.free_mips >= task.goal_mips[unit] - _SLACK)
    chosen = was
    for node in np.flatnonzero(open_nodes & ~was[1]):
        whole = np.zeros(len(task.nodes))
        whole[node] = 1.0
        tally.set(unit, whole)
        value = tally.objective()
        if value < best - _SLACK:
            best, chosen = value, (whole, whole > 0)
    tally.set(unit, chosen[0])
    board.put(unit, *chosen)
    return best


def _try_exchanges(board: Board, tally: Tally, best: float, deadline: Deadline) -> float:
    """Let two units on different nodes change places where every rule allows it."""
    for one in range(len(board.task.units)):
        deadline.check()
        for other in range(one):
            if (board.used[one] != board.used[other]).any():
                best = _try_exchange(board, tally, one, other, best)
    return best


def _try_exchange(board: Board, tally: Tally, one: int, other: int, best: float) -> float:
    places = {one: board.take(one), other: board.take(other)}
    fits = _fits(board, one, places[other])
    if fits:
        board.put(one, *places[other])
        fits = _fits(board, other, places[one])
        board.take(one)
    if fits:
        tally.set(one, places[other][0])
        tally.set(other, places[one][0])
        value = tally.objective()
        if value < best - _SLACK:
            board.put(one, *places[other])
            board.put(other, *places[one])
            return value
        tally.set(one, places[one][0])
        tally.set(other, places[other][0])
    board.put(one, *places[one])
    board.put(other, *places[other])
    return best


def _fits(board: Board, unit: int, place: tuple[Floats, Bools]) -> bool:
    fractions, nodes = place
    task = board.task
    if task.pinned[unit].any() or nodes.sum() > task.degree[unit] or fractions.sum() < 1 - _SLACK:
        return False
    room = board.free_mips + _SLACK >= task.goal_mips[unit] * fractions
    moves = task.moves[unit] @ nodes
    return bool((board.open_nodes(unit) | ~nodes).all() and room.all() and moves <= board.free_moves)
