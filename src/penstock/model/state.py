"""A plan with everything that follows from it, kept so that a small change costs little.

Introduction:
    An optimizer asks about thousands of plans that differ by one operator. A state keeps what each PE demands, what is
    around it, and how long each stage takes; `changed` makes the next state out of it and works out only what the
    change has touched.

Algorithm:
    Moving operators between PEs touches the PEs they leave and enter (their loads are summed anew) and the PEs at the
    other ends of their streams (what is around them). A stage is timed anew if it holds a touched PE, or did not exist.
    What is left for every change is linear in PEs, not in operators: chains, order, the longest way.

Preserves:
    A changed state equals one built from scratch, up to the rounding of sums.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from penstock.base.topological_order import sort_topologically, turn_edges
from penstock.model.demand import Demand
from penstock.model.hosts import Floats, Hosts
from penstock.model.line import fixed_seconds, is_exchanged, is_forward, line_loads, line_stages
from penstock.model.plan import Place, PlacedPE, Plan
from penstock.model.spread import Spread, link_factors, spread_over
from penstock.model.stage_time import StageTime, time_stage
from penstock.model.stages import Chain, Neighbours, Overlap, PeLoad, chain_up, neighbours, pe_load, stage_load
from penstock.model.transfer import Transfer


class Setting:
    """The data that all states of a model share: demands, hosts, how tasks work, and the spreads computed so far."""

    def __init__(self, demand: Demand, hosts: Hosts, *, pipelined: bool, pieces: float = math.inf) -> None:
        self.demand = demand
        self.hosts = hosts
        self.pipelined = pipelined
        self.pieces = pieces
        self.index_of = {id_: i for i, id_ in enumerate(demand.ids)}
        self._spreads: dict[Place, Spread] = {}
        self._links: dict[tuple[Place, Place], Floats] = {}

    def spread(self, place: Place) -> Spread:
        """The spread of a place."""
        if place not in self._spreads:
            self._spreads[place] = spread_over(self.hosts, place)
        return self._spreads[place]

    def link_factors(self, origin: Place, goal: Place) -> Floats:
        """How what flows between two places loads the links."""
        if (origin, goal) not in self._links:
            self._links[origin, goal] = link_factors(self.hosts, self.spread(origin), self.spread(goal))
        return self._links[origin, goal]


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanState:
    """A plan, worked out.

    Attributes:
        setting: What it shares with others.
        pes: The PEs with their places; who is in them stands in `members`.
        pe_of: The PE of each operator.
        members: The operators of each PE, which may be none.
        loads: What each PE demands.
        around: The neighbours of each PE.
        known: The stages of the state before.
        touched: The PEs for which these may not hold any more.
        is_line: Whether the PEs stand in one line.
    """

    setting: Setting
    pes: tuple[PlacedPE, ...]
    pe_of: list[int]
    members: list[frozenset[int]]
    loads: list[PeLoad]
    around: list[Neighbours]
    known: Mapping[Chain, StageTime] = field(default_factory=dict)
    touched: frozenset[int] = frozenset()
    is_line: bool = False

    @cached_property
    def stages(self) -> dict[Chain, StageTime]:
        """Every stage with its time."""
        in_jvm = [pe.in_jvm for pe in self.pes]
        stages: dict[Chain, StageTime] = {}
        for chain in self._chains():
            if chain in self.known and self.touched.isdisjoint(chain):
                stages[chain] = self.known[chain]
            elif self.members[chain[0]]:
                load = stage_load(chain, self.loads, in_jvm, self.overlap(chain))
                stages[chain] = time_stage(self.setting.hosts, load, self.spread(chain[0]), self.fetched(chain[0]))
        return stages

    def _chains(self) -> list[Chain]:
        if self.is_line:
            return line_stages(self.pes, self.members)
        return chain_up(self.around, [pe.place for pe in self.pes], [pe.keyed for pe in self.pes])

    def overlap(self, chain: Chain) -> Overlap:
        """How the threads of a stage work together; a PE that gathers its input overlaps with nothing."""
        pipelined = self.setting.pipelined
        if not self.is_line:
            return Overlap(pipelined=pipelined)
        there = [pe for pe, held in enumerate(self.members) if held]
        first, last = there.index(chain[0]), there.index(chain[-1])
        before, behind = there[:first][-1:], there[last + 1 :][:1]
        return Overlap(
            pipelined=pipelined,
            pieces=1.0 if self.pes[chain[0]].gathers else self.setting.pieces,
            reads=any(is_exchanged(self.pes[pe], self.pes[chain[0]]) for pe in before),
            writes=any(is_exchanged(self.pes[chain[-1]], self.pes[pe]) for pe in behind),
        )

    def spread(self, pe: int) -> Spread:
        """How the load of a PE falls on hosts."""
        return self.setting.spread(self.pes[pe].place)

    def fetched(self, pe: int) -> list[tuple[float, Floats]]:
        """The bytes that enter a PE in a second, each with its `link_factors`; none where no link is limited."""
        setting, demand, goal = self.setting, self.setting.demand, self.pes[pe].place
        if not setting.hosts.has_links:
            return []
        origins = [(s, self.pes[self.pe_of[demand.producer[s]]].place) for s, _ in self.loads[pe].entering]
        return [(demand.stream_bytes[s], setting.link_factors(origin, goal)) for s, origin in origins]

    @cached_property
    def before(self) -> dict[Chain, tuple[Chain, ...]]:
        """For each stage, those that must have finished."""
        if self.is_line:
            line = list(self.stages)
            return dict(zip(line, [(), *((stage,) for stage in line[:-1])], strict=True))
        stage_of = {pe: chain for chain in self.stages for pe in chain}
        found = {}
        for chain in self.stages:
            near = self.around[chain[0]]
            forward = near.producers - near.loops
            found[chain] = tuple(dict.fromkeys(stage_of[pe] for pe in sorted(forward) if pe in stage_of))
        return found

    @cached_property
    def order(self) -> list[Chain] | None:
        """The stages in an order in which they can run; None if the PEs form a cycle."""
        if self.is_line:
            return list(self.stages) if is_forward(self.setting.demand, self.pe_of) else None
        held = sum(len(chain) for chain in self.stages)
        return in_order(self.before) if held == sum(map(bool, self.members)) else None

    @cached_property
    def way(self) -> tuple[float, list[Chain]]:
        """The longest way through the stages, in seconds for a second of input."""
        assert self.order is not None
        return longest_way(self.order, self.before, {chain: stage.seconds for chain, stage in self.stages.items()})

    @cached_property
    def depth(self) -> int:
        """How many stages come one after the other."""
        assert self.order is not None
        return round(longest_way(self.order, self.before, dict.fromkeys(self.order, 1.0))[0])

    def fixed_seconds(self, transfer: Transfer) -> float:
        """Seconds that a micro-batch takes in any case."""
        if self.is_line:
            inputs = self.setting.demand.inputs
            held = zip(self.members, self.pes, strict=True)
            return fixed_seconds([pe for m, pe in held if not pe.in_driver and any(inputs[o] for o in m)], transfer)
        # The depth is worth its while only if a stage costs something: what-ifs come here by the thousand.
        stages = transfer.stage_seconds * (self.depth - 1) if transfer.stage_seconds else 0.0
        pes = sum(bool(m) and not pe.in_jvm for m, pe in zip(self.members, self.pes, strict=True))
        return transfer.batch_seconds + stages + transfer.pe_seconds * pes

    @cached_property
    def host_seconds(self) -> Floats:
        """Seconds for which each host is busy with all its cores, for a second of input."""
        mips = np.zeros(len(self.setting.hosts.hosts))
        totals: dict[int, tuple[Spread, float]] = {}
        for stage in self.stages.values():
            sum_ = totals.get(id(stage.spread), (stage.spread, 0.0))[1]
            totals[id(stage.spread)] = (stage.spread, sum_ + stage.load.total)
        for spread, total in totals.values():
            mips += total * spread.host_shares
        return np.asarray(mips / self.setting.hosts.capacity_mips)

    @cached_property
    def link_seconds(self) -> Floats:
        """Seconds for which each link and uplink is busy, leaving and entering, for a second of input."""
        hosts = self.setting.hosts
        busy = np.zeros((2, len(hosts.hosts) + len(hosts.racks)))
        for stage in self.stages.values():
            if stage.links is not None:
                busy += stage.links
        return busy

    @property
    def load_seconds(self) -> float:
        """Seconds that a micro-batch takes for each second of input, beside what it takes in any case.

        That is the longest way, unless independent stages need more of one host or link together.
        """
        busiest = max(float(self.host_seconds.max()), float(self.link_seconds.max(initial=0.0)))
        return max(self.way[0], busiest)

    def changed(
        self, moves: Mapping[int, int] | None = None, hosts: Mapping[int, tuple[str, ...]] | None = None
    ) -> PlanState:
        """The state after operators have moved to other PEs, and PEs to other hosts."""
        moved = {o: pe for o, pe in (moves or {}).items() if self.pe_of[o] != pe}
        pe_of, members, loads, around = [*self.pe_of], [*self.members], [*self.loads], [*self.around]
        touched = {self.pe_of[o] for o in moved} | set(moved.values())
        for operator, pe in moved.items():
            members[pe_of[operator]] -= {operator}
            members[pe] |= {operator}
            pe_of[operator] = pe
        if self.is_line:
            loads = line_loads(self.setting.demand, members, pe_of)
        else:
            for pe in touched:
                loads[pe] = pe_load(self.setting.demand, members[pe])
        near = touched.union(*(self._ends(operator, pe_of) for operator in moved))
        for pe in near:
            around[pe] = neighbours(self.setting.demand, loads[pe], pe, pe_of)
        for pe in hosts or {}:
            near |= {pe} | around[pe].consumers
        return PlanState(
            setting=self.setting,
            pes=_placed(self.pes, hosts or {}),
            pe_of=pe_of,
            members=members,
            loads=loads,
            around=around,
            known={} if self.is_line else self.stages,
            touched=frozenset(near),
            is_line=self.is_line,
        )

    def plan(self) -> Plan:
        """The plan of the state; PEs without operators are left out."""
        ids = self.setting.demand.ids
        held = zip(self.pes, self.members, strict=True)
        pes = tuple(replace(pe, operators=tuple(ids[o] for o in sorted(m))) for pe, m in held if m)
        return Plan(pes=pes, is_line=self.is_line)

    def _ends(self, operator: int, pe_of: list[int]) -> Iterable[int]:
        """The PEs at the other ends of an operator's streams."""
        demand = self.setting.demand
        for stream, _ in demand.inputs[operator]:
            yield pe_of[demand.producer[stream]]
        for stream in demand.outputs[operator]:
            yield from (pe_of[taker] for taker, _ in demand.subscribers[stream])


def build_state(setting: Setting, plan: Plan) -> PlanState:
    """Work out a plan that `check_plan` has passed."""
    demand = setting.demand
    members = [frozenset(setting.index_of[o] for o in pe.operators) for pe in plan.pes]
    pe_of = [-1] * len(demand.ids)
    for pe, group in enumerate(members):
        for operator in group:
            pe_of[operator] = pe
    loads = line_loads(demand, members, pe_of) if plan.is_line else [pe_load(demand, group) for group in members]
    around = [neighbours(demand, load, pe, pe_of) for pe, load in enumerate(loads)]
    return PlanState(
        setting=setting,
        pes=plan.pes,
        pe_of=pe_of,
        members=members,
        loads=loads,
        around=around,
        is_line=plan.is_line,
    )


def _placed(pes: tuple[PlacedPE, ...], hosts: Mapping[int, tuple[str, ...]]) -> tuple[PlacedPE, ...]:
    if not hosts:
        return pes
    return tuple(replace(pe, hosts=hosts[i]) if i in hosts else pe for i, pe in enumerate(pes))


Node = TypeVar("Node", bound=Hashable)


def in_order(before: Mapping[Node, Sequence[Node]]) -> list[Node] | None:
    """The nodes in an order in which each comes after those before it; None if there is a cycle."""
    order = sort_topologically(turn_edges(before))
    return order if len(order) == len(before) else None


def longest_way(
    order: Sequence[Node], before: Mapping[Node, Sequence[Node]], length: Mapping[Node, float]
) -> tuple[float, list[Node]]:
    """The longest way through nodes that are in order: its length, and the nodes on it.

    Spark starts a stage when all stages that it reads from have finished, so a micro-batch takes at least as long as
    its longest way; independent stages run at the same time.

    Example:
        >>> order = in_order({"a": (), "b": (), "c": ("a", "b")})
        >>> order
        ['a', 'b', 'c']
        >>> longest_way(order, {"c": ("a", "b")}, {"a": 2.0, "b": 3.0, "c": 1.0})
        (4.0, ['b', 'c'])
    """
    reached: dict[Node, float] = {}
    previous: dict[Node, Node | None] = {}
    for node in order:
        from_ = max(before.get(node, ()), key=reached.__getitem__, default=None)
        previous[node] = from_
        reached[node] = length[node] + (reached[from_] if from_ is not None else 0.0)
    last: Node | None = max(order, key=reached.__getitem__, default=None)
    if last is None:
        return 0.0, []
    total, way = reached[last], []
    while last is not None:
        way.append(last)
        last = previous[last]
    return total, way[::-1]
