"""Local search: relieve whatever is the fullest, and save communication where nothing gets fuller.

Introduction:
    Turns any valid fusion into a better one, quickly, for graphs of any size.

Formulation:
    Minimize the bottleneck, the largest utilization of a host, a PE or a link; while a host is beyond its capacity, the
    largest utilization of a host alone.

Example:
    Two PEs on one host while another host is idle: one of them moves.

When it does not apply:
    It ends where no single change helps; `throughput` goes on from there.

Algorithm:
    Take the fullest element. Try the changes that could relieve it (`steps`): its operators join other PEs or part, it
    is split where it is thin, PEs are merged, moved to other hosts or exchanged. Make the change after which everything
    that it touched is the least full, if that is below the bottleneck. If there is none, make all changes that lower
    the cut and leave what they touch below the bottleneck, and start again. So no change makes another element as full
    as the fullest, and the search ends: a change relieves one of the fullest, or lowers the cut while their number does
    not grow. A change costs the degree of what moves; some hundred are tried at a time.

Preserves:
    Validity, at every step; the bottleneck never grows.

Reference:
    Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from penstock.base.deadline import Deadline
from penstock.fusion.graph.splitting import halves
from penstock.fusion.problem.costs import TOLERANCE
from penstock.fusion.search import steps as moves
from penstock.fusion.search.live import Live

Change = Callable[[], bool]

_BETTER = 1 - 1e-9
_MOST_TRIED = 160
_MOST_HOSTS = 6
_SPLIT_VERTICES = 1500


class Descent:
    """A local search on one fusion.

    Args:
        live: What is improved.
        rng: Where random choices come from.
        deadline: When to stop.
        by_host_only: Whether only hosts can be full.
    """

    def __init__(self, live: Live, rng: np.random.Generator, deadline: Deadline, *, by_host_only: bool = False) -> None:
        self.live = live
        self.rng = rng
        self.deadline = deadline
        self.by_host_only = by_host_only
        self._number = {v: t for t, template in enumerate(live.graph.templates) for v in template}

    def run(self, goal: float = 0.0) -> None:
        """Improve until nothing helps, time is up, or the value is at most a goal."""
        while not self.deadline.has_passed():
            value, is_overload, changes = self.fullest()
            if value <= goal:
                return
            if not self._relieve(value, is_overload, changes) and not self._save(value * _BETTER, is_overload):
                return

    def lower_cut(self) -> None:
        """Make changes that lower the cut while no host is beyond its capacity, until there is none or time is up."""
        if self.fullest()[0] > 1 + TOLERANCE:
            return
        while not self.deadline.has_passed() and self._save(1.0 + TOLERANCE / 2, is_overload=True):
            continue

    def value(self) -> tuple[bool, float]:
        """Whether a host is overloaded, and how full the fullest is; smaller is better."""
        value, is_overload, _ = self.fullest()
        return is_overload, value

    def fullest(self) -> tuple[float, bool, Iterator[Change]]:
        """How full the fullest is, whether that is an overloaded host, and the changes that may relieve it."""
        live = self.live
        host = max(range(len(live.loads)), key=live.utilization)
        value = live.utilization(host)
        if self.by_host_only or value > 1 + TOLERANCE:
            return value, True, self._changes_of_host(host)
        pe = max(live.members, key=live.core_utilization)
        core = live.core_utilization(pe)
        link = live.flows.utilization() if live.flows is not None else 0.0
        if link > max(value, core):
            assert live.flows is not None
            return link, False, self._changes_of_host(live.flows.fullest())
        if core > value:
            return core, False, self._changes_of_pe(pe)
        return value, False, self._changes_of_host(host)

    def _relieve(self, value: float, is_overload: bool, changes: Iterator[Change]) -> bool:
        """Make the best of the changes, if one is good enough."""
        live = self.live
        best: tuple[float, float] = (value * _BETTER, float("inf"))
        chosen: Change | None = None
        for number, change in enumerate(changes):
            if number >= _MOST_TRIED and (chosen is not None or number >= 4 * _MOST_TRIED):
                break
            mark = len(live.journal)
            live.touched.clear()
            if change():
                found = (self._touched_value(is_overload), live.cut)
                if found < best:
                    best, chosen = found, change
            live.roll_back(mark)
            if self.deadline.has_passed():
                break
        if chosen is None:
            return False
        chosen()
        live.journal.clear()
        return True

    def _touched_value(self, is_overload: bool) -> float:
        """How full what was touched is; while a host is overloaded only hosts count, and later none may be."""
        live = self.live
        touched = [pe for pe in live.touched if pe in live.members]
        full = max((live.utilization(live.host_of[pe]) for pe in touched), default=0.0)
        if is_overload:
            return full
        if full > 1 + TOLERANCE:
            return float("inf")
        full = max(full, max((live.core_utilization(pe) for pe in touched), default=0.0))
        return full if live.flows is None else max(full, live.flows.utilization())

    def _save(self, most: float, is_overload: bool) -> bool:
        """Make changes that lower the cut and leave what they touch no fuller than this; whether there was any."""
        live, found = self.live, False
        for number in self.rng.permutation(len(live.graph.templates)).tolist():
            if self.deadline.has_passed():
                break
            found |= self._save_with(live.graph.templates[number], most, is_overload)
        live.rank_anew(self.rng)
        return found

    def _save_with(self, template: tuple[int, ...], most: float, is_overload: bool) -> bool:
        live = self.live
        for other in self._connected(template)[:2]:
            changes: list[Change] = [partial(moves.join, live, template, other)]
            changes += [partial(moves.merge, live, template, other, to_second=there) for there in (False, True)]
            for change in changes:
                before, mark = live.cut, len(live.journal)
                live.touched.clear()
                if change() and live.cut < before * _BETTER and self._touched_value(is_overload) <= most:
                    live.journal.clear()
                    return True
                live.roll_back(mark)
        return False

    def _connected(self, template: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Templates in the PEs that a template communicates with, one for each PE, the most connected first."""
        live, v = self.live, template[0]
        pull: dict[int, float] = {}
        shown: dict[int, int] = {}
        for u, cost in live.graph.neighbours[v].items():
            pe = live.pe_of[u]
            if pe != live.pe_of[v]:
                pull[pe] = pull.get(pe, 0.0) + cost
                shown[pe] = u
        return [live.graph.templates[self._number[shown[pe]]] for pe in sorted(pull, key=lambda pe: -pull[pe])]

    def _hosts(self) -> list[int]:
        """The hosts with the most room, and some others."""
        live = self.live
        by_room = sorted(range(len(live.loads)), key=live.utilization)
        others = by_room[_MOST_HOSTS:]
        some = self.rng.choice(others, min(2, len(others)), replace=False).tolist() if others else []
        return by_room[:_MOST_HOSTS] + some

    def _changes_of_host(self, host: int) -> Iterator[Change]:
        live = self.live
        pes = sorted(live.on_host[host], key=lambda pe: -live.sizes[pe])
        hosts = [other for other in self._hosts() if other != host]
        for pe in pes:
            for other in hosts[:3]:
                yield partial(moves.relocate, live, pe, other)
        for pe in pes:
            for other in (q for h in hosts[:3] for q in live.on_host[h] if live.sizes[q] < live.sizes[pe]):
                yield partial(moves.exchange, live, pe, other)
        yield from self._changes_of_vertices([v for pe in pes for v in live.members[pe]], hosts)
        for pe in pes[:4]:
            yield from self._splits(pe, hosts[:2])

    def _changes_of_pe(self, pe: int) -> Iterator[Change]:
        live = self.live
        hosts = self._hosts()
        yield from self._splits(pe, hosts[:3])
        for host in hosts:
            yield partial(moves.relocate, live, pe, host)
        yield from self._changes_of_vertices(list(live.members[pe]), hosts)

    def _changes_of_vertices(self, vertices: list[int], hosts: list[int]) -> Iterator[Change]:
        live = self.live
        self.rng.shuffle(vertices)
        for v in vertices:
            template = live.graph.templates[self._number[v]]
            for other in self._connected(template)[:3]:
                yield partial(moves.join, live, template, other)
                for to_second in (False, True):
                    yield partial(moves.merge, live, template, other, to_second=to_second)
            for host in (None, *hosts[:2]) if len(template) == 1 else (None,):
                yield partial(moves.part, live, template, host)

    def _splits(self, pe: int, hosts: list[int]) -> Iterator[Change]:
        """Splits of a PE where it is thin, the new one here or elsewhere."""
        live = self.live
        templates = live.graph.templates
        group = tuple(sorted({self._number[v] for v in live.members[pe]}))
        if not 3 <= len(group) <= _SPLIT_VERTICES:
            return
        first, *rest = halves(live.graph, group, deadline=self.deadline)
        if len(rest) > 1:
            return
        for half, is_first in ((first, True), (rest[0], False)):
            parts = [[templates[t][replica] for t in half] for replica in range(len(templates[half[0]]))]
            for host in (None, *hosts) if len(parts) == 1 else (None,):
                yield partial(moves.split, live, parts, host, is_first=is_first)
