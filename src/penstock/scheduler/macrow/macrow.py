"""macroW: on which nodes the admitted PEs may run.

Introduction. macroQ has set a goal in mips for each PE; it knows the cluster only as a sum. macroW finds the
candidate nodes of each PE, so that goals can be met, nodes are balanced and little crosses the network. It works once
in a macro epoch, on everything that is hard: the micro model then moves mips among the candidates, quickly and
without looking at these rules again.

Formulation. Choose for each PE p the nodes n that it uses and its fractions f[p, n] of its goal g[p], to minimize the
weighted average of six metrics (`metrics.metrics`): average and maximum of the nodes' utilization, of the
traffic in the network, and of the bandwidth in and out of the nodes; a goal that is missed outweighs all of them.
Subject to:

- mips of each node; the minimum of each PE; at most `max_nodes` nodes for a PE, none with a tiny fraction
  (`exact_placement._place_units`, `_fill_nodes`);
- resource matching by tags, licences, memory and named nodes; fixed PEs (`task.allowed_nodes`, `_pinned`);
- memory, licence seats and number of PEs of each node (`exact_placement._fill_nodes`);
- exlocation and exclusive PEs (`exact_placement._keep_apart`); colocated PEs are one unit (`task.units_of`);
- at most so many PEs start where they did not run (`exact_placement._limit_moves`).

Example. Two PEs joined by a heavy stream, and two nodes that each have room for both: the weight of the utilizations
says two nodes, that of the traffic says one, and the average of the six decides.

When it does not apply. Bandwidth is weighed, not limited, as in the paper: a placement may fill a link beyond what it
carries when every other one is worse.

Algorithm. A greedy placement with local improvement (`greedy_placement`) gives an answer at once; where the problem is
small enough and time remains, HiGHS solves the mixed integer program (`exact_placement`), and the better of the two is
taken. Then candidates are over-allocated: in rounds, each PE gets one more node, the one with the least spread load,
until it has (1 + `overallocation`) times what it uses. Cost: units x nodes binaries for HiGHS, of which it handles
some thousands in seconds; units x nodes steps for the rest.

Preserves. Every rule but the degree and the limit on moves holds for the candidates as if all of them were used, so
it holds for whatever part of them the micro model uses. Candidates are not moves: a PE moves when it gets mips.

Reference: Wolf et al., JSSPP 2009, section 3, which names the metrics and the rules. We depart in two points: a goal
that does not fit is cut down to the PE's minimum before the problem counts as infeasible, because macroQ cannot see
how mips are split over nodes; and a stream between PEs on several nodes is routed to the near instance first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macrow.board import Board, Pull
from penstock.scheduler.macrow.conflict import explain
from penstock.scheduler.macrow.exact_placement import solve
from penstock.scheduler.macrow.greedy_placement import place_greedily
from penstock.scheduler.macrow.metrics import Metrics, metrics, objective, shortfall
from penstock.scheduler.macrow.task import Bools, Floats, Task, build_task
from penstock.scheduler.problem.admission_problem import Pe
from penstock.scheduler.problem.nodes import Cluster

MOST_BINARIES = 4000
"""Beyond this many units x nodes the mixed integer program is not tried."""

_WORTH_SOLVING_SECONDS = 0.2
_SEARCH_SHARE = 0.8
"""Of the time there is; the rest is for the arrays before and the candidates after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The decision of macroW: candidate nodes for each PE, and the plan behind them.

    Attributes:
        nodes: The candidate nodes of each PE, those it is planned on first.
        planned: The fraction of its goal that each PE is planned to get on each node.
        metrics: The six metrics of the plan.
        objective: Their weighted average, plus the cost of the shortfall.
        shortfall: The share of all goals that the plan does not meet.
        is_optimal: Whether no better plan exists.
    """

    nodes: Mapping[str, tuple[str, ...]]
    planned: Mapping[str, Mapping[str, float]]
    metrics: Metrics
    objective: float
    shortfall: float
    is_optimal: bool


def choose_candidates(
    pes: Sequence[Pe],
    goals: Mapping[str, float],
    cluster: Cluster,
    *,
    deadline: Deadline | None = None,
    exact: bool = True,
) -> Candidates:
    """Find the candidate nodes of the admitted PEs.

    Args:
        pes: The PEs of the chosen templates of the admitted jobs.
        goals: macroQ's mips for each of them.
        cluster: Nodes, network and rules, and what runs where now.
        deadline: When the answer is due; None to search until it is proven the best.
        exact: Whether to try for the best plan; if not, the quick search's is taken where it finds one.

    Raises:
        Infeasible: If no placement keeps every rule; names a minimal set of rules in conflict.

    Example:
        >>> from penstock.scheduler.problem.nodes import Constraint, Node
        >>> pes = [Pe(id="a", max_mips=50.0), Pe(id="b", max_mips=50.0)]
        >>> pair = Cluster(nodes=(Node(id="n1", mips=100.0), Node(id="n2", mips=60.0)))
        >>> chosen = choose_candidates(pes, {"a": 50.0, "b": 30.0}, pair)
        >>> chosen.nodes["a"], chosen.nodes["b"], chosen.metrics.maximum_utilization
        (('n1', 'n2'), ('n2', 'n1'), 0.5)
    """
    if not cluster.live_nodes:
        raise Infeasible("no node is up")
    if not pes:
        return _nothing()
    deadline = deadline or Deadline.after(None)
    task = build_task(pes, goals, cluster, deadline)
    plan = _search(task, deadline.share(_SEARCH_SHARE), exact=exact)
    if plan is None:
        explain(pes, goals, cluster, deadline)
        raise Infeasible("no placement was found before the deadline; give it more time")
    used, fractions, is_optimal = plan
    candidates = overallocate(task, used, cluster.rules.overallocation, deadline)
    return Candidates(
        nodes={pe: _names(task, used[u], candidates[u]) for u, unit in enumerate(task.units) for pe in unit},
        planned={pe: _shares(task, fractions[u]) for u, unit in enumerate(task.units) for pe in unit},
        metrics=metrics(task, fractions),
        objective=objective(task, fractions),
        shortfall=shortfall(task, fractions),
        is_optimal=is_optimal,
    )


def _nothing() -> Candidates:
    idle = Metrics(
        average_utilization=0.0,
        maximum_utilization=0.0,
        average_traffic=0.0,
        maximum_traffic=0.0,
        average_bandwidth=0.0,
        maximum_bandwidth=0.0,
    )
    return Candidates(nodes={}, planned={}, metrics=idle, objective=0.0, shortfall=0.0, is_optimal=True)


def _search(task: Task, deadline: Deadline, *, exact: bool) -> tuple[Bools, Floats, bool] | None:
    """The better of the quick placement and the solver's; where the quick search finds none, first any at all."""
    quick = place_greedily(task, deadline)
    if quick is None:
        some = solve(task, deadline.share(0.5), only_feasible=True)
        if some.is_infeasible:
            return None
        quick = None if some.used is None or some.fractions is None else (some.used, some.fractions)
    left = deadline.left()
    worth = exact and task.allowed.size <= MOST_BINARIES and left >= _WORTH_SOLVING_SECONDS
    if quick is not None and not worth:
        return *quick, False
    best = solve(task, deadline)
    if best.used is None or best.fractions is None:
        return None if quick is None else (*quick, False)
    if quick is not None and objective(task, quick[1]) < objective(task, best.fractions):
        return *quick, best.is_optimal
    return best.used, best.fractions, best.is_optimal


def overallocate(task: Task, used: Bools, share: float, deadline: Deadline | None = None) -> Bools:
    """Candidate nodes: those used, and in rounds one more for each unit while the rules leave one open and time is."""
    deadline = deadline or Deadline.after(None)
    if deadline.has_passed():
        return used
    # Neither mips nor moves are spent by being a candidate.
    board = Board(replace(task, max_moves=math.inf, max_moves_per_node=math.inf))
    pull = Pull(task)
    for unit, nodes in enumerate(used):
        board.put(unit, nodes / max(int(nodes.sum()), 1), nodes)
    wanted = used.sum(axis=1) + np.ceil(share * used.sum(axis=1)).astype(int)
    wanted[task.pinned.any(axis=1)] = 0
    open_units = [unit for unit in range(len(task.units)) if board.used[unit].sum() < wanted[unit]]
    while open_units:
        open_units = [
            unit for unit in open_units if not deadline.has_passed() and _widen(board, pull, unit, int(wanted[unit]))
        ]
    return board.used


def _widen(board: Board, pull: Pull, unit: int, wanted: int) -> bool:
    """Give the unit one more candidate; say whether it wants and may get still another."""
    _, had = board.take(unit)
    choice = np.flatnonzero(board.open_nodes(unit) & ~had)
    nodes = had.copy()
    if len(choice):
        nodes[choice[np.argmin(pull.price(board, unit)[choice])]] = True
    board.put(unit, nodes / int(nodes.sum()), nodes)
    return len(choice) > 1 and int(nodes.sum()) < wanted


def _names(task: Task, used: Bools, candidates: Bools) -> tuple[str, ...]:
    first = [task.nodes[n] for n in np.flatnonzero(used)]
    return (*first, *(task.nodes[n] for n in np.flatnonzero(candidates & ~used)))


def _shares(task: Task, fractions: Floats) -> dict[str, float]:
    return {task.nodes[n]: float(fractions[n]) for n in np.flatnonzero(fractions > 0)}
