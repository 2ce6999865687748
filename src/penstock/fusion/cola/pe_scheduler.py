"""The PE scheduler of Advanced COLA: an integer program.

Introduction:
    Decides on which host each PE runs where demands on hosts make a one-pass scheme fail or do badly.

Formulation:
    x[u, h] is 1 if unit u is on host h. Minimize the largest utilization (3) subject to: x[u, h] = 0 unless h is
    resource matched (4); PEs of one host colocation are one unit (5); of each colouring (host exlocation, high
    availability, host dedication) a host holds one colour (6); every unit is on one host (7); x is 0 or 1 (8). With
    `by_core` the largest utilization also covers each PE against the cores that it can use.

Example:
    Three PEs that are pairwise host exlocated on three hosts, the third of them matched to the first host.

When it does not apply:
    With many PEs and hosts the program is too large to be solved in the time of a compilation: beyond
    `MOST_COLUMNS` the LPT answer stands.

Algorithm:
    LPT first (`lpt`). If its answer meets the obvious lower bound, that is the optimum; otherwise HiGHS solves the
    program within a time limit, and the better of the two answers counts.

Preserves:
    Never worse than LPT. An answer of None with `is_proven` means that no valid assignment of these PEs exists.

Reference:
    Khandekar et al., Middleware 2009, section 3.3, PE scheduler, (3) to (8). Pairs of exlocated PEs (6) are written as
    colourings, which is fewer rows and a tighter relaxation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram
from penstock.fusion.cola.lpt import Unit, schedule_by_lpt, units
from penstock.fusion.graph.host_signatures import separate_colours
from penstock.fusion.graph.super_graph import Pe, SuperGraph

MOST_COLUMNS = 6000
_MOST_SECONDS = 0.5
# Small programs are limited by nodes: what they answer does not depend on how busy the machine is.
_SMALL_COLUMNS, _SMALL_NODES, _SMALL_SECONDS = 240, 300, 30.0
_FIRST_SECONDS = 20.0
_GAP = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Where PEs run.

    Attributes:
        host_of: The host of each PE, or None if no valid assignment was found.
        utilization: The largest ratio; infinite if there is no assignment.
        is_proven: Of a missing assignment, whether it is proven that there is none.
    """

    host_of: list[int] | None
    utilization: float
    is_proven: bool = False

    @property
    def is_valid(self) -> bool:
        """Whether there is an assignment."""
        return self.host_of is not None


def schedule(
    graph: SuperGraph, pes: Sequence[Pe], *, by_core: bool = False, deadline: Deadline | None = None
) -> Schedule:
    """Assign PEs to hosts for the least utilization.

    Args:
        graph: What the PEs are made of.
        pes: The PEs.
        by_core: Whether a PE larger than the cores that it can use counts as well.
        deadline: When to stop improving.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([3, 3, 2, 2, 2], [], [6, 6]))
        >>> pes = [graph.pe((v,)) for v in range(5)]
        >>> quick(graph, pes).utilization, schedule(graph, pes).utilization
        (1.1666666666666667, 1.0)
    """
    grouped = units(graph, pes)
    if grouped is None:
        return Schedule(host_of=None, utilization=float("inf"), is_proven=True)
    first = quick(graph, pes, by_core=by_core)
    columns = len(grouped) * graph.problem.hosts.count
    if first.utilization <= _lower_bound(graph, grouped) * (1 + _GAP) or columns > MOST_COLUMNS:
        return first
    if deadline is not None and deadline.has_passed() and first.is_valid:
        return first
    most = _SMALL_SECONDS if columns <= _SMALL_COLUMNS else _MOST_SECONDS
    seconds = (deadline or Deadline.after(None)).sooner(most).left()
    found = _solve(graph, pes, grouped, by_core, seconds)
    if not (first.is_valid or found.is_valid or found.is_proven):
        # Any valid assignment will do now, and validity is worth waiting for.
        in_time = (deadline or Deadline.after(None)).sooner(_FIRST_SECONDS)
        return _solve(graph, pes, grouped, by_core, in_time.left(), any_will_do=True)
    return first if first.is_valid and first.utilization <= found.utilization else found


def quick(graph: SuperGraph, pes: Sequence[Pe], *, by_core: bool = False) -> Schedule:
    """The LPT answer."""
    host_of = schedule_by_lpt(graph, pes)
    return Schedule(host_of=host_of, utilization=utilization(graph, pes, host_of, by_core=by_core))


def utilization(graph: SuperGraph, pes: Sequence[Pe], host_of: Sequence[int] | None, *, by_core: bool = False) -> float:
    """The largest utilization of an assignment; infinite if there is none."""
    if host_of is None:
        return float("inf")
    hosts = graph.problem.hosts
    loads = [0.0] * hosts.count
    for pe, host in zip(pes, host_of, strict=True):
        loads[host] += pe.size
    ratios = [load / capacity for load, capacity in zip(loads, hosts.capacities.tolist(), strict=True)]
    if by_core:
        ratios += (core_utilization(graph, pe, host) for pe, host in zip(pes, host_of, strict=True))
    return float(max(ratios))


def core_utilization(graph: SuperGraph, pe: Pe, host: int) -> float:
    """The ratio of a PE's size to the cores that it can use on a host."""
    cores = int(graph.problem.hosts.cores[host])
    return pe.size * cores / (float(graph.problem.hosts.capacities[host]) * min(pe.channels, cores))


def _lower_bound(graph: SuperGraph, grouped: Sequence[Unit]) -> float:
    capacities = graph.problem.hosts.capacities
    spread = sum(unit.size for unit in grouped) / float(capacities.sum())
    return max(spread, max(unit.size for unit in grouped) / float(capacities.max()))


def _solve(
    graph: SuperGraph,
    pes: Sequence[Pe],
    grouped: Sequence[Unit],
    by_core: bool,
    seconds: float,
    *,
    any_will_do: bool = False,
) -> Schedule:
    hosts = graph.problem.hosts
    program = IntegerProgram()
    largest = program.column(cost=0.0 if any_will_do else 1.0)
    x = [program.binaries(hosts.count) for _ in grouped]
    for unit, row in zip(grouped, x, strict=True):
        program.row({column: float(unit.need.hosts >> host & 1) for host, column in enumerate(row)}, least=1.0)
        program.row(dict.fromkeys(row, 1.0), most=1.0)
    for host, capacity in enumerate(hosts.capacities.tolist()):
        loads = {row[host]: unit.size / capacity for unit, row in zip(grouped, x, strict=True)}
        program.row(loads | {largest: -1.0}, most=0.0)
    if by_core:
        _limit_to_cores(program, graph, pes, grouped, x, largest)
    separate_colours(program, [unit.need for unit in grouped], x)
    nodes = _SMALL_NODES if len(grouped) * hosts.count <= _SMALL_COLUMNS and not any_will_do else None
    outcome = program.solve(seconds=seconds, gap=_GAP, nodes=nodes)
    if outcome.values is None:
        return Schedule(host_of=None, utilization=float("inf"), is_proven=outcome.is_infeasible)
    host_of = [0] * len(pes)
    for unit, row in zip(grouped, x, strict=True):
        for number in unit.pes:
            host_of[number] = int(outcome.values[list(row)].argmax())
    return Schedule(host_of=host_of, utilization=utilization(graph, pes, host_of, by_core=by_core))


def _limit_to_cores(
    program: IntegerProgram,
    graph: SuperGraph,
    pes: Sequence[Pe],
    grouped: Sequence[Unit],
    x: Sequence[range],
    largest: int,
) -> None:
    for unit, row in zip(grouped, x, strict=True):
        for host, column in enumerate(row):
            ratio = max(core_utilization(graph, pes[number], host) for number in unit.pes)
            program.row({column: ratio, largest: -1.0}, most=0.0)
