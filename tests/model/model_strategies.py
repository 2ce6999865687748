"""Hypothesis strategies for the model, and the model written out the slow way."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cache

from hypothesis import strategies as st

from penstock.model import (
    Cost,
    Host,
    Hosts,
    OperatorProfile,
    PlacedPE,
    Plan,
    Profile,
    StreamProfile,
    ThroughputModel,
    Transfer,
)
from penstock.model.transfer import PARTS

MIPS = 1000.0


def chain_profile(costs, *, rate_tps=1000.0, tuple_bytes=24.0):
    """Operators `o0`, `o1`, ... in a row, with these CPU seconds for a tuple."""
    ids = [f"o{i}" for i in range(len(costs))]
    return Profile(
        mips=MIPS,
        operators=tuple(
            OperatorProfile(id=id_, rate_tps=rate_tps, cpu_seconds=cost, selectivity=(1.0,))
            for id_, cost in zip(ids, costs, strict=True)
        ),
        streams=tuple(
            StreamProfile(id=a, producer=a, consumers=(b,), rate_tps=rate_tps, tuple_bytes=tuple_bytes)
            for a, b in itertools.pairwise(ids)
        ),
    )


amounts = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5])


@st.composite
def profiles(draw, most=7):
    """Acyclic graphs; the rates are what the selectivities make of the sources' rates."""
    count = draw(st.integers(1, most))
    takers = st.lists(st.integers(0, count - 1), max_size=3)
    streams = []
    ports = []
    for i in range(count):
        made = draw(st.integers(0, 2))
        ports.append(tuple(draw(amounts) for _ in range(made)))
        for port in range(made):
            to = tuple(f"o{j}" for j in draw(takers) if j > i)
            size = draw(st.sampled_from([8.0, 100.0]))
            streams.append((f"s{i}.{port}", f"o{i}", port, to, size))
    taking = {consumer for s in streams for consumer in s[3]}
    taken = [0.0 if f"o{i}" in taking else draw(st.sampled_from([1.0, 4.0])) for i in range(count)]
    rates = {}
    for id_, producer, port, to, _ in streams:
        rates[id_] = taken[int(producer[1:])] * ports[int(producer[1:])][port]
        for consumer in to:
            taken[int(consumer[1:])] += rates[id_]
    operators = tuple(
        OperatorProfile(id=f"o{i}", rate_tps=taken[i], cpu_seconds=0.01 * draw(amounts), selectivity=ports[i])
        for i in range(count)
    )
    return Profile(
        mips=MIPS,
        operators=operators,
        streams=tuple(
            StreamProfile(id=id_, producer=o, port=p, consumers=to, rate_tps=rates[id_], tuple_bytes=size)
            for id_, o, p, to, size in streams
        ),
    )


@st.composite
def clusters(draw, most=3):
    count = draw(st.integers(1, most))
    sizes = st.sampled_from([500.0, 1000.0, 2000.0])
    links = st.sampled_from([float("inf"), 200.0, 1000.0])
    hosts = tuple(
        Host(
            id=f"h{i}",
            cores=(cores := draw(st.integers(1, 3))),
            capacity_mips=cores * draw(sizes),
            link_bytes=draw(links),
            rack=draw(st.sampled_from(["north", "south"])),
        )
        for i in range(count)
    )
    return Hosts(hosts=hosts, uplinks={"north": draw(links)})


@st.composite
def transfers(draw):
    cost = st.builds(
        Cost, seconds_per_tuple=amounts.map(lambda a: 0.002 * a), seconds_per_byte=amounts.map(lambda a: 1e-5 * a)
    )
    return Transfer(
        mips=2000.0,
        batch_seconds=draw(st.sampled_from([0.0, 0.1])),
        stage_seconds=draw(st.sampled_from([0.0, 0.05])),
        pe_seconds=draw(st.sampled_from([0.0, 0.01])),
        pipelined=draw(st.booleans()),
        **{part: draw(cost) for part in PARTS},
    )


@st.composite
def placed_pes(draw, operators, hosts):
    ids = [host.id for host in hosts.hosts]
    channels = draw(st.sampled_from([1, 1, 1, 2, 3, 5]))
    weights = draw(st.lists(st.integers(1, 4), min_size=channels, max_size=channels))
    even = draw(st.booleans())
    return PlacedPE(
        operators=operators,
        hosts=tuple(draw(st.lists(st.sampled_from(ids), min_size=1, max_size=2))),
        channels=channels,
        shares=() if even else tuple(w / sum(weights) for w in weights),
        keyed=draw(st.integers(0, 4)) == 0,
        in_jvm=draw(st.integers(0, 3)) == 0,
        region="r" if channels > 1 else None,
    )


@st.composite
def plans(draw, profile, hosts):
    """Plans whose PEs form no cycle; many PEs share a place, so that streams are narrow."""
    ids = [o.id for o in profile.operators]
    labels = draw(st.lists(st.integers(0, len(ids) - 1), min_size=len(ids), max_size=len(ids)))
    if _has_cycle(profile, dict(zip(ids, labels, strict=True))):
        labels = sorted(labels)
    groups = {label: tuple(i for i, at in zip(ids, labels, strict=True) if at == label) for label in labels}
    first = draw(placed_pes((), hosts))
    pes = []
    for group in groups.values():
        other = draw(placed_pes(group, hosts))
        alike = PlacedPE(operators=group, hosts=first.hosts, channels=first.channels, shares=first.shares)
        pes.append(alike if draw(st.integers(0, 2)) else other)
    return Plan(pes=tuple(pes))


@st.composite
def scenes(draw):
    """A model with a plan."""
    profile, hosts = draw(profiles()), draw(clusters())
    batch = draw(st.sampled_from([float("inf"), 5.0]))
    model = ThroughputModel(profile, hosts, draw(transfers()), batch_tuples=batch)
    return model, draw(plans(profile, hosts))


def _has_cycle(profile, label):
    after = {}
    for s in profile.streams:
        for consumer in s.consumers:
            if label[s.producer] != label[consumer]:
                after.setdefault(label[s.producer], set()).add(label[consumer])

    def leads_back(start, at, seen):
        for other in after.get(at, ()):
            if other == start or (other not in seen and leads_back(start, other, seen | {other})):
                return True
        return False

    return any(leads_back(pe, pe, frozenset()) for pe in after)


def scale_by_definition(model, plan):
    """The formulation of `throughput`, stage by stage and channel by channel, with nothing shared and nothing fast."""
    return _ByDefinition(model=model, plan=plan).scale()


@dataclass
class _ByDefinition:
    model: ThroughputModel
    plan: Plan
    links: dict = field(default_factory=dict)

    def __post_init__(self):
        self.profile, self.hosts, self.transfer = self.model.profile, self.model.hosts, self.model.transfer
        self.home = {o: i for i, pe in enumerate(self.plan.pes) for o in pe.operators}
        self.edges = [
            (s, self.home[s.producer], self.home[c])
            for s in self.profile.streams
            for c in dict.fromkeys(s.consumers)
            if self.home[c] != self.home[s.producer]
        ]

    def scale(self):
        stages = self._stages()
        time = {stage: self._stage_seconds(stage) for stage in stages}

        @cache
        def way(stage, seconds):
            first = self._before(stage, stages)
            longest = max((way(other, seconds) for other in first), default=0.0)
            return longest + (time[stage] if seconds else 1)

        crowds = [
            sum(self._host_mips(stage, h) for stage in stages) / host.capacity_mips
            for h, host in enumerate(self.hosts.hosts)
        ]
        load = max([way(stage, True) for stage in stages] + crowds + list(self.links.values()))
        depth = max(way(stage, False) for stage in stages)
        pes = sum(not pe.in_jvm for pe in self.plan.pes)
        fixed = self.transfer.batch_seconds + self.transfer.stage_seconds * (depth - 1) + self.transfer.pe_seconds * pes
        limit = self.model.batch_limit
        if limit == float("inf"):
            return 1 / load if load else float("inf")
        return limit / (fixed + load * limit) if fixed + load * limit else float("inf")

    def _stages(self):
        following = {}
        for p, pe in enumerate(self.plan.pes):
            takers = {q for _, a, q in self.edges if a == p}
            if len(takers) == 1:
                (q,) = takers
                other = self.plan.pes[q]
                same = (pe.hosts, pe.channels, pe.shares) == (other.hosts, other.channels, other.shares)
                if same and not other.keyed and {a for _, a, b in self.edges if b == q} == {p}:
                    following[p] = q
        stages = []
        for p in range(len(self.plan.pes)):
            if p not in following.values():
                stage = [p]
                while stage[-1] in following:
                    stage.append(following[stage[-1]])
                stages.append(tuple(stage))
        return stages

    def _before(self, stage, stages):
        senders = {a for _, a, b in self.edges if b == stage[0]}
        return [other for other in stages if senders & set(other)]

    def _cost(self, part, streams):
        cost = self.transfer.part(part)
        return sum(cost.seconds(s.rate_tps, s.tuple_bytes) for s in streams) * self.transfer.mips

    def _entering(self, p):
        return {s.id: s for s, _, b in self.edges if b == p}.values()

    def _leaving(self, p):
        return {s.id: s for s, a, _ in self.edges if a == p}.values()

    def _threads(self, stage):
        work = {
            p: sum(o.rate_tps * o.cpu_seconds for o in self.profile.operators if self.home[o.id] == p) * MIPS
            for p in stage
        }
        threads = [self._cost("exchange_read", self._entering(stage[0]))]
        for p in stage:
            if self.plan.pes[p].in_jvm:
                threads[-1] += work[p]
            else:
                threads[-1] += self._cost("jvm_feed", self._entering(p))
                received = sum(self._cost(part, self._entering(p)) for part in ("python_receive", "python_pass"))
                sent = sum(self._cost(part, self._leaving(p)) for part in ("python_send", "python_pass"))
                threads.append(work[p] + received + sent)
                threads.append(self._cost("jvm_drain", self._leaving(p)))
        threads[-1] += self._cost("exchange_write", self._leaving(stage[-1]))
        processes, tasks = threads[1::2], threads[::2]
        return processes + (tasks if self.transfer.pipelined else [sum(tasks)])

    def _channels(self, p):
        pe = self.plan.pes[p]
        shares = pe.shares or [1 / pe.channels] * pe.channels
        return [(self.hosts.index_of[pe.hosts[c % len(pe.hosts)]], shares[c]) for c in range(pe.channels)]

    def _host_mips(self, stage, host):
        return sum(self._threads(stage)) * sum(share for h, share in self._channels(stage[0]) if h == host)

    def _stage_seconds(self, stage):
        limits = [0.0]
        busiest = max(self._threads(stage))
        for h, host in enumerate(self.hosts.hosts):
            limits.append(self._host_mips(stage, h) / host.capacity_mips)
            tasks = [share * busiest / host.core_mips for g, share in self._channels(stage[0]) if g == h]
            free = [0.0] * host.cores
            for seconds in tasks:
                first = free.index(min(free))
                free[first] += seconds
            limits.append(max(free))
        return max(limits + self._link_seconds(stage[0]))

    def _link_seconds(self, p):
        """Every channel of a producer sends to every channel of `p`."""
        busy = {}
        for s in self._entering(p):
            for g, sent in self._channels(self.home[s.producer]):
                for h, taken in self._channels(p):
                    count = s.rate_tps * s.tuple_bytes * sent * taken
                    one, other = self.hosts.hosts[g], self.hosts.hosts[h]
                    if g != h:
                        _add(busy, ("out", g), count / one.link_bytes)
                        _add(busy, ("in", h), count / other.link_bytes)
                    if one.rack != other.rack:
                        uplinks = self.hosts.uplinks
                        _add(busy, ("out", one.rack), count / uplinks.get(one.rack, float("inf")))
                        _add(busy, ("in", other.rack), count / uplinks.get(other.rack, float("inf")))
        for key, seconds in busy.items():
            _add(self.links, key, seconds)
        return list(busy.values())


def _add(sums, key, value):
    sums[key] = sums.get(key, 0.0) + value
