"""Hosts for different needs: whether all that operators ask of hosts can be met at once, capacities aside.

Units that ask for the same can share a host, so only different needs count, and there are few. First fit finds hosts
for them nearly always; where it does not, an integer program decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram
from penstock.fusion.graph.host_needs import HostNeed, Signature

_FIRST_SECONDS = 20.0
_MOST_PROGRAM = 20_000
_IMPOSSIBLE, _UNKNOWN = "impossible", "unknown"


def separate_colours(program: IntegerProgram, needs: Sequence[HostNeed], x: Sequence[range]) -> None:
    """Demand that a host holds at most one colour of each colouring."""
    holders: dict[int, dict[int, list[range]]] = {}
    for need, row in zip(needs, x, strict=True):
        for colouring, colour in need.colours.items():
            holders.setdefault(colouring, {}).setdefault(colour, []).append(row)
    for colours in holders.values():
        if len(colours) == 1:
            continue
        for host in range(len(x[0])):
            shown = program.binaries(len(colours))
            program.row(dict.fromkeys(shown, 1.0), most=1.0)
            for column, rows in zip(shown, colours.values(), strict=True):
                program.rows((((row[host], 1.0), (column, -1.0)) for row in rows), most=0.0)


def is_assignable(needs: Iterable[HostNeed], hosts: int, deadline: Deadline | None = None) -> bool:
    """Whether hosts can meet all needs, capacities aside; when time is up it is assumed that they can.

    Units that ask for the same can share a host, so only different needs count, and there are few.

    Example:
        >>> apart = [HostNeed(hosts=0b11, colours={0: colour}) for colour in (1, 2, 3)]
        >>> is_assignable(apart[:2], 2), is_assignable(apart, 2)
        (True, False)
    """
    return _host_distinct(_distinct(needs), hosts, deadline) != _IMPOSSIBLE


def host_signatures(needs: Iterable[HostNeed], hosts: int, deadline: Deadline) -> dict[Signature, int] | None:
    """A host for each different need, capacities aside, so that all are met; None if none was found in time.

    Example:
        >>> red, blue = (HostNeed(hosts=0b11, colours={0: colour}) for colour in (1, 2))
        >>> host_signatures([red, blue, red], 2, Deadline.after(None))[blue.signature()]
        1
    """
    distinct = _distinct(needs)
    found = _host_distinct(distinct, hosts, deadline)
    return None if isinstance(found, str) else dict(zip(distinct, found, strict=True))


def _distinct(needs: Iterable[HostNeed]) -> dict[Signature, HostNeed]:
    return {need.signature(): need for need in needs}


def _host_distinct(distinct: dict[Signature, HostNeed], hosts: int, deadline: Deadline | None) -> list[int] | str:
    """A host for each need, or why there is none: it is impossible, or not known in time."""
    needs = list(distinct.values())
    if not all(need.hosts for need in needs):
        return _IMPOSSIBLE
    first = _first_fit(needs)
    if first is not None:
        return first
    if len(needs) * hosts > _MOST_PROGRAM:
        return _UNKNOWN
    program = IntegerProgram()
    x = [program.binaries(hosts) for _ in needs]
    for need, row in zip(needs, x, strict=True):
        program.row({column: float(need.hosts >> host & 1) for host, column in enumerate(row)}, least=1.0)
    separate_colours(program, needs, x)
    solution = program.solve(deadline, seconds=_FIRST_SECONDS)
    if solution.values is None:
        return _IMPOSSIBLE if solution.is_infeasible else _UNKNOWN
    values = solution.values
    allowed = [
        [column if need.hosts >> host & 1 else -1 for host, column in enumerate(row)]
        for need, row in zip(needs, x, strict=True)
    ]
    return [max(range(hosts), key=lambda host: values[row[host]] if row[host] >= 0 else -1.0) for row in allowed]


def _first_fit(needs: Sequence[HostNeed]) -> list[int] | None:
    """Hosts for needs, the choosiest first, each on the first host that takes it; sets of hosts are bits."""
    taken: dict[int, int] = {}
    showing: dict[tuple[int, int], int] = {}
    found = [0] * len(needs)
    for number in sorted(range(len(needs)), key=lambda n: (needs[n].hosts.bit_count(), -len(needs[n].colours))):
        need = needs[number]
        fitting = need.hosts
        for colour in need.colours.items():
            fitting &= ~taken.get(colour[0], 0) | showing.get(colour, 0)
        if not fitting:
            return None
        host = fitting & -fitting
        for colour in need.colours.items():
            taken[colour[0]] = taken.get(colour[0], 0) | host
            showing[colour] = showing.get(colour, 0) | host
        found[number] = host.bit_length() - 1
    return found
