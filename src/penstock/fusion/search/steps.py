"""The steps that a local search tries: larger than those of `live`, and complete in themselves.

Each function makes one change and says whether it is allowed; if not, the caller rolls back. Templates move as a whole,
so isomorphic replicas stay alike; PEs that share a host colocation move together.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.fusion.search.live import Live


def join(live: Live, vertices: Sequence[int], others: Sequence[int]) -> bool:
    """Move the vertices of a template to the PEs of the vertices of another."""
    if len(vertices) != len(others):
        return False
    for v, u in zip(vertices, others, strict=True):
        pe = live.pe_of[u]
        if live.graph.kinds[v] != live.graph.kinds[u] or live.pe_of[v] == pe:
            return False
        low, high = live.window((v,), (pe,))
        if not low < live.ranks[pe] < high:
            return False
        live.move(v, pe)
    return not live.broken


def part(live: Live, vertices: Sequence[int], host: int | None) -> bool:
    """Move the vertices of a template to PEs of their own, on a host or where they are."""
    for v in vertices:
        pe = live.pe_of[v]
        if len(live.members[pe]) == 1:
            return False
        low, high = live.window((v,), ())
        if low >= high:
            return False
        live.move(v, live.open_pe(live.host_of[pe] if host is None else host, _middle(low, high)))
    return not live.broken


def split(live: Live, halves: Sequence[Sequence[int]], host: int | None, *, is_first: bool) -> bool:
    """Move a half of each of some PEs to PEs of their own; in acyclic plans what precedes or follows the rest."""
    for half in halves:
        pe = live.pe_of[half[0]]
        low, high = live.window(half, (pe,))
        rank = live.ranks[pe]
        low, high = (low, min(high, rank)) if is_first else (max(low, rank), high)
        if low >= high:
            return False
        new = live.open_pe(live.host_of[pe] if host is None else host, _middle(low, high))
        for v in half:
            live.move(v, new)
    return not live.broken


def merge(live: Live, vertices: Sequence[int], others: Sequence[int], *, to_second: bool) -> bool:
    """Merge the PEs of two templates, on the host of the first or of the second."""
    if len(vertices) != len(others):
        return False
    for v, u in zip(vertices, others, strict=True):
        one, other = live.pe_of[v], live.pe_of[u]
        if to_second:
            one, other = other, one
        if one == other or live.graph.kinds[v] != live.graph.kinds[u]:
            return False
        moved = list(live.members[other])
        if live.graph.acyclic:
            low, high = live.window([*live.members[one], *moved], (one, other))
            if low >= high:
                return False
            live.rerank(one, _middle(low, high))
        for w in moved:
            live.move(w, one)
    return not live.broken


def relocate(live: Live, pe: int, host: int) -> bool:
    """Move a PE, and whatever must share its host, to a host."""
    if live.host_of[pe] == host:
        return False
    for other in unit(live, pe):
        live.rehost(other, host)
    return not live.broken


def exchange(live: Live, pe: int, other: int) -> bool:
    """Let two PEs, and whatever must share their hosts, change places."""
    here, there = live.host_of[pe], live.host_of[other]
    if here == there:
        return False
    mine, theirs = unit(live, pe), unit(live, other)
    for some, host in ((mine, there), (theirs, here)):
        for number in some:
            live.rehost(number, host)
    return not live.broken


def unit(live: Live, pe: int) -> list[int]:
    """A PE and all that must share its host."""
    if not live.has_clusters:
        return [pe]
    found, waiting = {pe}, [pe]
    while waiting:
        for v in live.members[waiting.pop()]:
            for u in live.clustered[live.graph.clusters[v]]:
                if live.pe_of[u] not in found:
                    found.add(live.pe_of[u])
                    waiting.append(live.pe_of[u])
    return sorted(found)


def _middle(low: float, high: float) -> float:
    if low == float("-inf"):
        return 0.0 if high == float("inf") else high - 1.0
    return low + 1.0 if high == float("inf") else (low + high) / 2
