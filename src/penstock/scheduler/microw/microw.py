"""microW: the mips of each PE on each node, as near to the goals as the epoch allows.

Introduction. microQ has set goals; macroW has set the candidate nodes. microW hands out the nodes' mips, in every
micro epoch, without moving more than is allowed. It must answer whatever has happened: a PE whose nodes have all
vanished waits with nothing until it may start elsewhere.

Formulation. Choose the nodes used[u, n] in {0, 1} of each unit u of colocated PEs, among its candidates that are up,
and the mips a[p, n] >= 0, to minimize the sum of what the PEs miss of their goals; what a PE misses of its minimum
counts tenfold; of equal answers the one with the fewest moves is taken. Subject to:

- a PE gets no more than its goal, mips only on used nodes, and on each of them a legal fraction (`_give`);
- each node gives at most its mips (`_share_nodes`);
- a unit uses at most as many nodes as its degree of parallelism (`_choose_nodes`);
- at most `max_moves` PEs start on a node where they do not run, at most `max_moves_per_node` on each node; a PE that
  lost its node and starts again counts, a PE that never ran does not (`_limit_moves`).

Memory, licences, exlocation, exclusive PEs and resource matching need no rows: macroW's candidates keep them in any
part.

Example. A node with 100 mips vanishes and its PE has a second candidate, but no move is left: the PE gets 0, and the
answer says that 100 mips of its goal are missed.

When it does not apply. A goal that the candidates cannot carry is not met; new candidates are macroW's to find.

Algorithm. First the nodes in use are kept, units without any get their first candidates, and the hungriest units are
moved while moves remain; with the nodes set, the mips are a linear program (`quick`). If every goal is met
without a move, that is the best there is. Otherwise HiGHS solves the mixed integer program in the time left, and the
better of the two is taken.

Preserves. The limits on movement and the capacities of the nodes that are up, always.

Reference: Wolf et al., JSSPP 2009, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.microw.quick import hand_out_quickly
from penstock.scheduler.microw.setting import (
    BELOW_MINIMUM,
    Grant,
    Setting,
    build_setting,
    cost_of,
    moves_of,
)
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.nodes import Allocation, Cluster
from penstock.scheduler.problem.units import unit_for

MOST_BINARIES = 3000
_WORTH_SOLVING_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The decision of microW: the mips of each PE on each node.

    Attributes:
        mips: Of each PE on each node; a PE that waits has no node.
        missed_mips: The shortfall of each PE that misses its goal.
        moves: How many PEs start on a node where they did not run.
        is_optimal: Whether no assignment comes nearer to the goals.
    """

    mips: Allocation
    missed_mips: Mapping[str, float]
    moves: int
    is_optimal: bool

    def total_mips(self) -> dict[str, float]:
        """The mips of each PE over all of its nodes."""
        return {pe: sum(shares.values()) for pe, shares in self.mips.items()}


def assign(
    pes: Sequence[Pe],
    goals: Mapping[str, float],
    candidates: Mapping[str, Sequence[str]],
    cluster: Cluster,
    *,
    deadline: Deadline | None = None,
    exact: bool = True,
) -> Assignment:
    """Hand out the mips of the nodes that are up.

    Args:
        pes: The PEs of the running jobs.
        goals: microQ's mips of each PE.
        candidates: macroW's nodes of each PE.
        cluster: The nodes with their states of now, the rules, and what runs where now.
        deadline: When the answer is due; None to search until it is proven the best.
        exact: Whether to try for the best assignment where the quick one leaves something to gain.

    Example:
        >>> from penstock.scheduler.problem.nodes import Node, Rules
        >>> pes = [Pe(id="a", max_mips=100.0), Pe(id="b", max_mips=100.0)]
        >>> nodes = (Node(id="n1", mips=100.0), Node(id="n2", mips=100.0))
        >>> now = {"a": {"n1": 60.0}, "b": {"n1": 40.0}}
        >>> stuck = Cluster(nodes=nodes, rules=Rules(max_moves=0), current=now)
        >>> both = {"a": ("n1", "n2"), "b": ("n1", "n2")}
        >>> assign(pes, {"a": 80.0, "b": 40.0}, both, stuck).moves
        0
        >>> sum(assign(pes, {"a": 80.0, "b": 40.0}, both, stuck).missed_mips.values())
        20.0
    """
    unit = unit_for(goals[pe.id] for pe in pes)
    setting = build_setting(pes, goals, candidates, cluster, unit)
    deadline = deadline or Deadline.after(None)
    best = hand_out_quickly(setting, deadline)
    is_optimal = cost_of(setting, best) <= 1e-6 and moves_of(setting, best) == 0
    left = deadline.left()
    worth = exact and setting.binaries <= MOST_BINARIES and left >= _WORTH_SOLVING_SECONDS
    if not is_optimal and worth:
        nearest, is_optimal = _solve(setting, deadline)
        if nearest is not None and _rank(setting, nearest) < _rank(setting, best):
            best = nearest
    return _assignment(setting, best, is_optimal, unit)


def _rank(setting: Setting, grant: Grant) -> tuple[float, int]:
    return round(cost_of(setting, grant), 6), moves_of(setting, grant)


def _assignment(setting: Setting, grant: Grant, is_optimal: bool, unit: float) -> Assignment:
    mips = {pe.id: grant.get(pe.id, {}) for pe in setting.pes}
    missed = {pe: goal - sum(mips[pe].values()) for pe, goal in setting.goals.items()}
    return Assignment(
        mips={pe: {node: unit * share for node, share in shares.items()} for pe, shares in mips.items()},
        missed_mips={pe: unit * miss for pe, miss in missed.items() if miss > 1e-6 * (1 + setting.goals[pe])},
        moves=moves_of(setting, grant),
        is_optimal=is_optimal,
    )


def _solve(setting: Setting, deadline: Deadline) -> tuple[Grant | None, bool]:
    program = IntegerProgram()
    used = _choose_nodes(program, setting)
    mips = _give(program, setting, used)
    _share_nodes(program, setting, mips)
    _limit_moves(program, setting, used)
    solution = program.solve(deadline)
    values = solution.values
    if values is None:
        return None, False
    grant: Grant = {pe.id: {} for pe in setting.pes}
    for (pe_id, node), column in mips.items():
        if values[used[setting.unit_of[pe_id], node]] > 0.5 and values[column] > 1e-7:
            grant[pe_id][node] = float(values[column])
    return grant, solution.is_optimal


def _choose_nodes(program: IntegerProgram, setting: Setting) -> dict[tuple[int, str], int]:
    used = {}
    for unit, nodes in enumerate(setting.candidates):
        columns = program.columns(len(nodes), upper=1.0, integral=True)
        used.update({(unit, node): column for node, column in zip(nodes, columns, strict=True)})
        program.row([(column, 1.0) for column in columns], most=float(setting.degree[unit]))
    return used


def _give(program: IntegerProgram, setting: Setting, used: Mapping[tuple[int, str], int]) -> dict[tuple[str, str], int]:
    """Columns for the mips, and the price of what is missed."""
    mips = {}
    for pe in setting.pes:
        unit, goal = setting.unit_of[pe.id], setting.goals[pe.id]
        nodes = setting.candidates[unit]
        columns = program.columns(len(nodes))
        (missed,) = program.columns(1, upper=goal, cost=1.0)
        program.row([*((column, 1.0) for column in columns), (missed, 1.0)], least=goal, most=goal)
        if pe.min_mips > 0:
            (below,) = program.columns(1, cost=BELOW_MINIMUM)
            program.row([(missed, -1.0), (below, 1.0)], least=min(pe.min_mips, goal) - goal)
        for node, column in zip(nodes, columns, strict=True):
            most = min(goal, setting.capacity[node])
            program.row([(column, 1.0), (used[unit, node], -most)], most=0.0)
            share = setting.least_share(unit)
            program.row([(column, 1.0), (missed, share), (used[unit, node], -share * goal)], least=0.0)
            mips[pe.id, node] = column
    return mips


def _share_nodes(program: IntegerProgram, setting: Setting, mips: Mapping[tuple[str, str], int]) -> None:
    for node, capacity in setting.capacity.items():
        program.row([(column, 1.0) for (_, at), column in mips.items() if at == node], most=capacity)


def _limit_moves(program: IntegerProgram, setting: Setting, used: Mapping[tuple[int, str], int]) -> None:
    moving = {key: float(setting.moves_at(*key)) for key in used}
    for key, count in moving.items():
        program.cost[used[key]] += setting.move_price * count
    if setting.max_moves is not None:
        program.row([(used[key], count) for key, count in moving.items()], most=float(setting.max_moves))
    if setting.max_moves_per_node is not None:
        for node in setting.capacity:
            terms = [(used[key], count) for key, count in moving.items() if key[1] == node]
            program.row(terms, most=float(setting.max_moves_per_node))
