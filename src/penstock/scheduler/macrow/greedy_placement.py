"""macroW in a hurry: place the units one by one, then improve.

Units are taken in two orders, the better of which counts: with the least choice first, then the largest; and along the
heaviest streams. Each goes to the node (or, where its degree allows and it
must, the nodes) that adds least to load and traffic. Where nodes are then asked for more than they have, a linear
program cuts the goals (`_cut_to_fit`). Then `improve` moves and exchanges units as long as the objective
falls and there is time. Cost: units x nodes to build, and as much again for each round of improvement.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from penstock.base.deadline import Deadline, OutOfTime
from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.macrow.board import SLACK, Board, Pull
from penstock.scheduler.macrow.improve import improve
from penstock.scheduler.macrow.metrics import broken_rules, objective
from penstock.scheduler.macrow.task import Bools, Floats, Ints, Task


def place_greedily(task: Task, deadline: Deadline) -> tuple[Bools, Floats] | None:
    """A placement that keeps every rule, or None where this search finds none (there may still be one)."""
    pull = Pull(task)
    found: list[Board] = []
    for order in (_by_urgency(task), _by_stream(task, pull)):
        if found and deadline.has_passed():
            break
        board = _built(task, pull, order)
        if board is None:
            continue
        found.append(board)
        try:
            improve(board, deadline)
        except OutOfTime:
            break
    best = min(found, key=lambda board: objective(task, board.fractions), default=None)
    return None if best is None else (best.used, best.fractions)


def _built(task: Task, pull: Pull, order: list[int]) -> Board | None:
    board = Board(task)
    if not all(_seat(board, pull, unit) for unit in order):
        return None
    if (board.free_mips < 0).any() and not _cut_to_fit(board):
        return None
    return None if broken_rules(task, board.used, board.fractions) else board


def _by_urgency(task: Task) -> list[int]:
    return sorted(range(len(task.units)), key=lambda unit: _urgency(task, unit))


def _by_stream(task: Task, pull: Pull) -> list[int]:
    """Fixed units first, then along the heaviest streams from those that have a place."""
    order: list[int] = []
    seen: set[int] = set()
    for first in _by_urgency(task):
        waiting = [(0.0, first)]
        while waiting:
            _, unit = heappop(waiting)
            if unit not in seen:
                seen.add(unit)
                order.append(unit)
                for partner, share in pull.partners[unit]:
                    heappush(waiting, (-share, partner))
    return sorted(order, key=lambda unit: not task.pinned[unit].any())


def _urgency(task: Task, unit: int) -> tuple[bool, bool, int, float]:
    """Those with the least choice first, then the largest."""
    roomy = int(task.allowed[unit].sum()) - int(task.exclusive[unit]) * len(task.nodes)
    return not task.pinned[unit].any(), not task.floor_mips[unit] > 0, roomy, -float(task.goal_mips[unit])


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
    roomy = open_nodes[board.free_mips[open_nodes] >= goal - SLACK]
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
    task, program = board.task, IntegerProgram()
    column_of: dict[tuple[int, int], int] = {}
    at_node: list[list[tuple[int, float]]] = [[] for _ in task.nodes]
    for unit, goal in enumerate(task.goal_mips):
        nodes = [int(node) for node in np.flatnonzero(board.fractions[unit] > 0)]
        columns = program.columns(len(nodes), upper=1.0, cost=-float(goal))
        floor = float(task.floor_mips[unit] / goal) if goal > 0 else 1.0
        program.row([(column, 1.0) for column in columns], least=floor, most=1.0)
        share = task.min_fraction if len(nodes) > 1 else 0.0
        for node, column in zip(nodes, columns, strict=True):
            program.row([(c, (1.0 if c == column else 0.0) - share) for c in columns], least=0.0)
            column_of[unit, node] = column
            at_node[node].append((column, float(goal)))
    for terms, capacity in zip(at_node, task.capacity_mips, strict=True):
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
