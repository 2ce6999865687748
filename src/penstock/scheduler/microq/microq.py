"""microQ: better goals for the PEs, now that their candidate nodes are known.

Introduction. macroQ set goals against the sum of all mips. Since then the candidate nodes have been chosen, weights
have been revised, nodes and PEs have gone down or come back. microQ sets the goals anew, in every micro epoch, for
the same jobs and templates.

Formulation. Choose a[p, n] >= 0, the mips of PE p on its candidate node n, to maximize the importance of all streams,
with g[p] = sum over n of a[p, n]:

- each node gives at most its mips; a node that is down gives none (`_share_nodes`);
- g[p] is at most the PE's maximum, and at most what its `max_nodes` largest candidates have (`_share_nodes`);
- g[p] is at least the PE's minimum where the nodes allow it; what is missing costs more than any importance
  (`_share_nodes`);
- the rate of a stream is at most what its resource function gives for g[p] and the load of the PE (`_add_rates`), and
  its value at most what its value function gives for the rate (`_add_values`).

Example. Two PEs with the same goal share a node that can only give half of it; the stream of one has weight 3, that
of the other weight 1. The first gets all it can use.

When it does not apply. Admission and templates stay as they are; only macroQ changes them.

Algorithm. Functions are piecewise linear and never fall, so "at most" loses nothing. A concave function is a row for
each of its pieces and the problem a linear program; a function that is not concave needs one binary for each piece
(the pieces fill in order). HiGHS solves it; when time runs out before it has a solution, concave hulls take the place
of the functions, which is a linear program again; where there is no time for that either, what macroW has planned for
stays. At last g is cut to what its PE can use.

Preserves. The minimum of every PE that the nodes that are up can give it.

Reference: Wolf et al., JSSPP 2009, section 3, which states what microQ decides and not how; macroQ's dynamic program
has no notion of nodes, so a linear program takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.base.deadline import Deadline, OutOfTime
from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.microq.linear_pieces import allowed_points, at_most_function, offers_of, points_of_value
from penstock.scheduler.problem.admission_problem import PRIMAL, Pe
from penstock.scheduler.problem.composition import Composition, compose, inputs_of
from penstock.scheduler.problem.nodes import Cluster
from penstock.scheduler.problem.resource_functions import useful_mips
from penstock.scheduler.problem.units import Units, unit_for

_EXACT_SHARE = 0.6
"""Of the time there is; what is left is for concave hulls, if need be."""

_THRIFT = 1e-7
"""The cost of a mips: just enough that mips which earn nothing are left idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The decision of microQ: the mips that each PE should get.

    Attributes:
        mips: Of each PE.
        importance: The projected importance of the streams with these mips.
        is_optimal: Whether no better goals exist.
    """

    mips: Mapping[str, float]
    importance: float
    is_optimal: bool


def refine_goals(
    pes: Sequence[Pe],
    candidates: Mapping[str, Sequence[str]],
    cluster: Cluster,
    *,
    planned: Mapping[str, float] | None = None,
    deadline: Deadline | None = None,
) -> Goals:
    """Set the goals of PEs on their candidate nodes.

    Args:
        pes: The PEs of the running jobs, with their weights of now; a PE that is down is left out.
        candidates: macroW's nodes of each PE.
        cluster: The nodes with their states of now.
        planned: The goals that macroW has planned for, which stay where there is no time to set better ones.
        deadline: When the answer is due; without `planned`, when to stop looking for the best.

    Example:
        >>> from penstock.scheduler.problem.nodes import Node
        >>> from penstock.scheduler.problem.admission_problem import Flow, Linear, Output
        >>> def pe(id, weight):
        ...     rate = Flow(mips_per_tps=1.0, selectivity=1.0)
        ...     out = Output(stream=id, rate=rate, value=Linear(slope=1.0), weight=weight)
        ...     return Pe(id=id, max_mips=100.0, offered_tps=80.0, outputs=(out,))
        >>> node = Cluster(nodes=(Node(id="n", mips=100.0),))
        >>> goals = refine_goals([pe("a", 1.0), pe("b", 3.0)], {"a": ["n"], "b": ["n"]}, node)
        >>> dict(goals.mips), goals.importance
        ({'a': 20.0, 'b': 80.0}, 260.0)
    """
    in_time = deadline or Deadline.after(None)
    exact = _solve(pes, candidates, cluster, in_time.share(_EXACT_SHARE), hulls=False)
    whenever = in_time if planned is not None else Deadline.after(None)
    found, is_optimal = exact or _solve(pes, candidates, cluster, whenever, hulls=True) or (planned or {}, False)
    mips = _without_waste(pes, found, in_time)
    importance = sum(float(earned) for earned in compose(pes, mips, deadline=in_time).importance.values())
    return Goals(mips=mips, importance=importance, is_optimal=is_optimal and exact is not None)


def _solve(
    pes: Sequence[Pe],
    candidates: Mapping[str, Sequence[str]],
    cluster: Cluster,
    deadline: Deadline,
    *,
    hulls: bool,
) -> tuple[dict[str, float], bool] | None:
    if not pes:
        return {}, True
    if deadline.has_passed():
        return None
    program = IntegerProgram()
    most = compose(pes, {pe.id: pe.max_mips for pe in pes}, deadline=deadline)
    units = Units(
        mips=unit_for(pe.max_mips for pe in pes),
        tps=unit_for(float(rate) for rate in most.rates_tps.values()),
        value=unit_for(float(earned) for earned in most.importance.values()),
    )
    try:
        scaled = _rescale(pes, units, deadline)
        most = compose(scaled, {pe.id: pe.max_mips for pe in scaled}, deadline=deadline)
        goal = _share_nodes(program, scaled, candidates, cluster, units.mips, most, deadline)
        rate = _add_rates(program, scaled, goal, most, deadline, hulls=hulls)
        _add_values(program, scaled, rate, most, deadline, hulls=hulls)
    except OutOfTime:
        return None
    solution = program.solve(deadline)
    if solution.values is None:
        return None
    values = solution.values
    return {pe.id: max(float(values[goal[pe.id]]), 0.0) * units.mips for pe in pes}, solution.is_optimal


def _rescale(pes: Sequence[Pe], units: Units, deadline: Deadline) -> list[Pe]:
    scaled = []
    for pe in pes:
        deadline.check()
        scaled.append(units.pe(pe))
    return scaled


def _share_nodes(
    program: IntegerProgram,
    pes: Sequence[Pe],
    candidates: Mapping[str, Sequence[str]],
    cluster: Cluster,
    unit_mips: float,
    most: Composition,
    deadline: Deadline,
) -> dict[str, int]:
    """Columns for the mips of each PE on each candidate; return the column of each PE's sum."""
    live = {node.id: node.mips / unit_mips for node in cluster.live_nodes}
    at_node: dict[str, list[int]] = {name: [] for name in live}
    goal = {}
    dear = 10.0 * sum(float(value) for value in most.importance.values()) + 1.0
    for pe in pes:
        deadline.check()
        mine = [name for name in candidates.get(pe.id, ()) if name in live]
        reach = sum(sorted((live[name] for name in mine), reverse=True)[: cluster.needs_of(pe.id).max_nodes])
        (total,) = program.columns(1, upper=min(pe.max_mips, reach), cost=_THRIFT)
        parts = program.columns(len(mine))
        program.row([*((part, 1.0) for part in parts), (total, -1.0)], least=0.0, most=0.0)
        for name, part in zip(mine, parts, strict=True):
            at_node[name].append(part)
        if pe.min_mips > 0:
            (missing,) = program.columns(1, cost=dear / pe.min_mips)
            program.row([(total, 1.0), (missing, 1.0)], least=pe.min_mips)
        goal[pe.id] = total
    for name, parts_here in at_node.items():
        program.row([(part, 1.0) for part in parts_here], most=live[name])
    return goal


def _add_rates(
    program: IntegerProgram,
    pes: Sequence[Pe],
    goal: Mapping[str, int],
    most: Composition,
    deadline: Deadline,
    *,
    hulls: bool,
) -> dict[str, int]:
    """A column for the rate of each stream, below its resource function."""
    rate = {output.stream: program.columns(1)[0] for pe in pes for output in pe.outputs}
    for pe in pes:
        deadline.check()
        for output in pe.outputs:
            column, inputs = rate[output.stream], inputs_of(pe, most.rates_tps)
            for height, shares in offers_of(pe, output.rate, inputs):
                known = height + sum(share * pe.offered_tps for stream, share in shares if stream == PRIMAL)
                program.row([(column, 1.0), *((rate[s], -share) for s, share in shares if s in rate)], most=known)
            points = allowed_points(output.rate, inputs, pe.max_mips)
            at_most_function(program, column, goal[pe.id], points, pe.max_mips, hull=hulls)
    return rate


def _add_values(
    program: IntegerProgram,
    pes: Sequence[Pe],
    rate: Mapping[str, int],
    most: Composition,
    deadline: Deadline,
    *,
    hulls: bool,
) -> None:
    """A column for the value of each valued stream, earning its weight."""
    for pe in pes:
        deadline.check()
        for output in pe.outputs:
            if output.value is None or not output.is_valued:
                continue
            top = float(most.rates_tps[output.stream])
            (value,) = program.columns(1, cost=-output.weight)
            points = points_of_value(output.value, top)
            at_most_function(program, value, rate[output.stream], points, top, hull=hulls)


def _without_waste(pes: Sequence[Pe], mips: Mapping[str, float], deadline: Deadline) -> dict[str, float]:
    """The goals, cut to what each PE can use at the load that it will have."""
    full = {pe.id: mips.get(pe.id, 0.0) for pe in pes}
    made = compose(pes, full, deadline=deadline)
    inputs = {pe.id: inputs_of(pe, made.rates_tps) for pe in pes}
    return {pe.id: min(full[pe.id], useful_mips(pe, float(made.loads_tps[pe.id]), inputs[pe.id])) for pe in pes}
