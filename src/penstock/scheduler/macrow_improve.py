"""Improve a placement: try single units on every other node, and let pairs change places, while the objective falls."""

from __future__ import annotations

import numpy as np

from penstock.scheduler.deadline import Deadline
from penstock.scheduler.macrow_board import SLACK, Board
from penstock.scheduler.macrow_tally import Tally
from penstock.scheduler.macrow_task import Bools, Floats

_ROUNDS = 4
_MOST_TO_EXCHANGE = 40


def improve(board: Board, deadline: Deadline) -> None:
    """Improve the placement in place; raises `OutOfTime` with the board in order."""
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
        if best >= before - SLACK:
            return


def _try_other_nodes(board: Board, tally: Tally, unit: int, best: float) -> float:
    task = board.task
    if task.pinned[unit].any() or board.used[unit].sum() != 1 or board.fractions[unit].sum() < 1 - SLACK:
        return best
    was = board.take(unit)
    open_nodes = board.open_nodes(unit) & (board.free_mips >= task.goal_mips[unit] - SLACK)
    chosen = was
    for node in np.flatnonzero(open_nodes & ~was[1]):
        whole = np.zeros(len(task.nodes))
        whole[node] = 1.0
        tally.set(unit, whole)
        value = tally.objective()
        if value < best - SLACK:
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
        if value < best - SLACK:
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
    if task.pinned[unit].any() or nodes.sum() > task.degree[unit] or fractions.sum() < 1 - SLACK:
        return False
    room = board.free_mips + SLACK >= task.goal_mips[unit] * fractions
    moves = task.moves[unit] @ nodes
    return bool((board.open_nodes(unit) | ~nodes).all() and room.all() and moves <= board.free_moves)
