"""The PE scheduler of Basic COLA: longest processing time first, for hosts of different speeds.

Introduction:
    Decides on which host each PE runs, in one pass.

Formulation:
    PEs in order of decreasing SIZE; each goes to the host that would be the least utilized with it: argmin over hosts
    h_k of (B'_k + SIZE(S_i)) / B_k.

Example:
    PEs of 5, 4, 3 and 2 on two hosts of 10: 5 | 4, then 3 joins 4, then 2 joins 5: 7 and 7.

When it does not apply:
    A one-pass scheme can end where no host is left that a PE may go to, although a valid assignment exists. Then it
    starts again with a host reserved for each different need (`host_signatures`), where it cannot end like that.

Algorithm:
    Sort, then one argmin for each PE: O(t log t + t k). PEs that must share a host (host colocation) are scheduled as
    one unit; hosts that a unit may not go to are left out of the argmin.

Preserves:
    On equal hosts without demands the largest load is within 4/3 - 1/(3k) of the least possible (Graham). Every demand
    on hosts holds.

Reference:
    Khandekar et al., Middleware 2009, section 2.2, PE scheduler. Units and demands on hosts are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.base.deadline import Deadline
from penstock.fusion.graph.host_needs import HostNeed, Signature, joined_needs
from penstock.fusion.graph.host_signatures import host_signatures
from penstock.fusion.graph.super_graph import Pe, SuperGraph
from penstock.fusion.problem.fusion_problem import Flags, Ints

_RESERVE_SECONDS = 2.0
_NO_COLOUR = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unit:
    """PEs that share a host.

    Attributes:
        pes: Their numbers.
        size: The sum of their sizes.
        need: What they ask of their host.
    """

    pes: tuple[int, ...]
    size: float
    need: HostNeed


def units(graph: SuperGraph, pes: Sequence[Pe]) -> list[Unit] | None:
    """PEs in units that share a host; None if some unit asks what no host can give."""
    found = []
    for numbers in _colocated(graph, pes):
        needs = [pes[number].need for number in numbers]
        need = joined_needs((n for n in needs if n is not None), graph.problem.hosts.count) if needs[1:] else needs[0]
        if need is None or None in needs:
            return None
        found.append(Unit(pes=numbers, size=sum(pes[number].size for number in numbers), need=need))
    return found


def _colocated(graph: SuperGraph, pes: Sequence[Pe]) -> list[tuple[int, ...]]:
    if not graph.has_needs:
        return [(number,) for number in range(len(pes))]
    unit_of = list(range(len(pes)))

    def root(number: int) -> int:
        while unit_of[number] != number:
            number = unit_of[number]
        return number

    holder: dict[int, int] = {}
    for number, pe in enumerate(pes):
        for v in pe.vertices:
            one, other = root(number), root(holder.setdefault(graph.clusters[v], number))
            unit_of[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = {}
    for number in range(len(pes)):
        groups.setdefault(root(number), []).append(number)
    return [tuple(group) for group in groups.values()]


def schedule_by_lpt(graph: SuperGraph, pes: Sequence[Pe]) -> list[int] | None:
    """The host of each PE, or None where the scheme finds no valid one.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> from penstock.fusion.graph.super_graph import super_graph
        >>> graph = super_graph(fusion_problem([5, 4, 3, 2], [], [10, 10]))
        >>> schedule_by_lpt(graph, [graph.pe((v,)) for v in range(4)])
        [0, 1, 1, 0]
    """
    if not graph.has_needs:
        return _place_freely(graph, pes)
    grouped = units(graph, pes)
    if grouped is None:
        return None
    placed = _place(graph, grouped, len(pes), {})
    if placed is not None:
        return placed
    needs = [unit.need for unit in grouped]
    reserved = host_signatures(needs, graph.problem.hosts.count, Deadline.after(_RESERVE_SECONDS))
    return None if reserved is None else _place(graph, grouped, len(pes), reserved)


def _place_freely(graph: SuperGraph, pes: Sequence[Pe]) -> list[int]:
    capacities = graph.problem.hosts.capacities
    loads = np.zeros(len(capacities))
    host_of = [0] * len(pes)
    for number in sorted(range(len(pes)), key=lambda number: -pes[number].size):
        host = int(((loads + pes[number].size) / capacities).argmin())
        loads[host] += pes[number].size
        host_of[number] = host
    return host_of


def _place(graph: SuperGraph, grouped: list[Unit], pes: int, reserved: dict[Signature, int]) -> list[int] | None:
    """The host of each PE; hosts that are reserved for a need are closed to what clashes with it from the start."""
    hosts = graph.problem.hosts
    board = _Board(hosts.count)
    for unit in grouped if reserved else ():
        board.claim(reserved[unit.need.signature()], unit.need)
    loads = np.zeros(hosts.count)
    host_of = [0] * pes
    for unit in sorted(grouped, key=lambda unit: -unit.size):
        after = np.where(board.open_to(unit.need), (loads + unit.size) / hosts.capacities, np.inf)
        host = int(after.argmin())
        if after[host] == np.inf:
            return None
        loads[host] += unit.size
        board.claim(host, unit.need)
        for number in unit.pes:
            host_of[number] = host
    return host_of


class _Board:
    """Which hosts are still open to which needs: a host shows at most one colour of each colouring."""

    def __init__(self, hosts: int) -> None:
        self._hosts = hosts
        self._allowed: dict[int, Flags] = {}
        self._shown: dict[int, Ints] = {}

    def open_to(self, need: HostNeed) -> Flags:
        """The hosts that take a need."""
        if need.hosts not in self._allowed:
            self._allowed[need.hosts] = np.array([bool(need.hosts >> host & 1) for host in range(self._hosts)])
        is_open = self._allowed[need.hosts]
        for colouring, colour in need.colours.items():
            if colouring in self._shown:
                shown = self._shown[colouring]
                is_open = is_open & ((shown == _NO_COLOUR) | (shown == colour))
        return is_open

    def claim(self, host: int, need: HostNeed) -> None:
        """Let a host show the colours of a need."""
        for colouring, colour in need.colours.items():
            shown = self._shown.setdefault(colouring, np.full(self._hosts, _NO_COLOUR))
            if shown[host] == _NO_COLOUR:
                shown[host] = colour
