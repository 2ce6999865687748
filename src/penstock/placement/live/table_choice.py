"""Whether other tables of key groups pay for a running job, by what its groups have sent each other.

A change of tables stops the query between two batches and starts it with its state dealt out anew, which takes seconds.
It pays if what it saves on the network in the batches to come takes longer, and if it saves a good part at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.codegen.plan.physical import PhysicalPlan, Route
from penstock.placement.live.channel_graph import Task
from penstock.placement.live.group_tables import GroupTraffic, Table, choose_tables, parts_of, places_of
from penstock.placement.live.rescheduling import BATCHES_TO_PAY
from penstock.runtime.pes.traffic import TaskTraffic

CHANGE_SECONDS = 4.0
"""What a change of tables takes, about: `penstock rescale` tells it."""

LEAST_SHARE = 0.2
"""A change saves at least such a part of what crosses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChange:
    """Other tables, and what they are to change.

    Attributes:
        tables: By region, the channel of each key group.
        remote_bytes: What crosses between hosts in a batch, before and after.
    """

    tables: Mapping[str, Table]
    remote_bytes: tuple[float, float]


class TableChoice:
    """Chooses tables for a job while it runs.

    Args:
        plan: Of the job.
        link_bytes: What a link carries in a second.
    """

    def __init__(self, plan: PhysicalPlan, link_bytes: float) -> None:
        self._link_bytes = link_bytes
        self._region = {pe.index: pe.region for pe in plan.pes if pe.region in plan.tables}
        self._channels = {pe.region: pe.channels for pe in plan.pes if pe.region in plan.tables}
        self._tables = dict(plan.tables)
        self._edges = {
            edge.index: edge
            for edge in plan.edges
            if edge.route is Route.KEY and edge.producer in self._region and edge.consumer in self._region
        }
        self._flows: defaultdict[tuple[int, int, int], float] = defaultdict(float)
        self._tuples: dict[str, defaultdict[int, float]] = {name: defaultdict(float) for name in self._tables}
        self.batches = 0

    def add(self, traffic: Iterable[TaskTraffic]) -> None:
        """Take what the tasks of a batch have told."""
        self.batches += 1
        for told in traffic:
            region = self._region.get(told.pe)
            for group, count in told.arrived.items() if region is not None else ():
                self._tuples[region or ""][group] += count
            for edge, one, other, _, size in told.between:
                if edge in self._edges:
                    self._flows[edge, one, other] += size

    def choose(self, host_of: Mapping[Task, str]) -> TableChange | None:
        """Other tables, if they pay; None if not.

        Args:
            host_of: Where tasks run.
        """
        hosts = len(set(host_of.values()))
        channels = {region: number for region, number in self._channels.items() if region is not None}
        if not self._flows or parts_of(channels, hosts) < 2:
            return None
        seen = GroupTraffic(
            ends={n: (self._region[e.producer] or "", self._region[e.consumer] or "") for n, e in self._edges.items()},
            flows=self._flows,
            tuples=self._tuples,
        )
        found = choose_tables(seen, self._tables, channels, hosts)
        after = seen.cut(places_of(found, parts_of(channels, hosts))) / self.batches
        before = self._crossing(host_of) / self.batches
        saved = before - after
        if saved < LEAST_SHARE * before or saved / self._link_bytes * BATCHES_TO_PAY <= CHANGE_SECONDS:
            return None
        return TableChange(tables=found, remote_bytes=(before, after))

    def _crossing(self, host_of: Mapping[Task, str]) -> float:
        """The bytes that have crossed between hosts, had all tasks run where they run now."""
        total = 0.0
        for (number, one, other), size in self._flows.items():
            edge = self._edges[number]
            here = self._tables[self._region[edge.producer] or ""][one]
            there = self._tables[self._region[edge.consumer] or ""][other]
            total += size * (host_of.get((edge.producer, here)) != host_of.get((edge.consumer, there)))
        return total
