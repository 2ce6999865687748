"""Improve a placement: try single units on every other node, and let pairs change places, while the objective falls."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.base.deadline import Deadline
from penstock.scheduler.macrow.board import SLACK, Board
from penstock.scheduler.macrow.tally import Tally
from penstock.scheduler.macrow.task import Bools, Floats

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
    if board.task.pinned[unit].any():
        return best
    was = board.take(unit)
    chosen = was
    for fractions in _places(board, unit):
        tally.set(unit, fractions)
        value = tally.objective()
        if value < best - SLACK:
            best, chosen = value, (fractions, fractions > 0)
    tally.set(unit, chosen[0])
    board.put(unit, *chosen)
    return best


def _places(board: Board, unit: int) -> Iterator[Floats]:
    """Where a unit that is lifted from the board may go: one node, with as much as there is, or the roomiest few."""
    task, goal = board.task, float(board.task.goal_mips[unit])
    least = float(task.floor_mips[unit]) / goal if goal > 0 else 1.0
    share = np.clip(board.free_mips, 0.0, goal) / goal if goal > 0 else np.ones(len(task.nodes))
    open_nodes = np.flatnonzero(board.open_nodes(unit) & (share > 0))
    for node in open_nodes:
        if share[node] >= least - SLACK:
            alone = np.zeros(len(task.nodes))
            alone[node] = share[node]
            yield alone
    few = open_nodes[np.argsort(-share[open_nodes], kind="stable")][: task.degree[unit]]
    if len(few) > 1 and share[few[0]] < 1 and task.moves[unit, few].sum() <= board.free_moves:
        spread = np.zeros(len(task.nodes))
        spread[few] = share[few] / max(1.0, float(share[few].sum()))
        total = float(spread.sum())
        if total >= least - SLACK and spread[few].min() >= task.min_fraction * total:
            yield spread


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
