"""Says of a worked-out plan what it sustains, what holds it up, and how busy everything is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.model.hosts import Floats, Hosts
from penstock.model.prediction import Bottleneck, Prediction, StagePrediction, highest_scale
from penstock.model.stage_time import Limit, StageTime, link_at
from penstock.model.stages import Chain, task_threads
from penstock.model.state import PlanState
from penstock.model.transfer import Transfer

_MOST = 0.5
"""An operator that takes more of its PE than this is what the PE waits for."""


def predict(state: PlanState, transfer: Transfer, source_rates: Mapping[str, float], batch_limit: float) -> Prediction:
    """The prediction of a state whose PEs form no cycle."""
    assert state.order is not None
    hosts = state.setting.hosts
    fixed, load = state.fixed_seconds(transfer), state.load_seconds
    scale = highest_scale(fixed, load, batch_limit)
    grown = scale if load > 0 else 0.0
    ids, links = [host.id for host in hosts.hosts], state.link_seconds.max(axis=0) * grown
    return Prediction(
        fixed_seconds=fixed,
        load_seconds=load,
        batch_limit=batch_limit,
        source_rates=source_rates,
        bottleneck=_bottleneck(state, fixed, scale, batch_limit),
        stages=tuple(_stage(state, chain, scale) for chain in state.order),
        pe_utilization=_pe_utilization(state, scale),
        host_utilization=_named(ids, state.host_seconds * grown),
        link_utilization=_named(ids, links[: len(ids)]),
        uplink_utilization=_named(hosts.racks, links[len(ids) :]),
    )


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _pe_utilization(state: PlanState, scale: float) -> tuple[float, ...]:
    found = []
    for pe, (placed, load) in enumerate(zip(state.pes, state.loads, strict=True)):
        mips = load.work if placed.in_jvm else load.process
        found.append(mips * state.spread(pe).longest * scale if mips > 0 else 0.0)
    return tuple(found)


def _bottleneck(state: PlanState, fixed: float, scale: float, batch_limit: float) -> Bottleneck:
    """The bottleneck of a plan: what takes the largest part of a micro-batch at the highest rate."""
    load = state.load_seconds
    overhead = Bottleneck(limit=Limit.OVERHEAD, share=min(1.0, fixed * scale / batch_limit))
    if load == 0:
        return overhead
    found = _shared_bottleneck(state, scale)
    if found is None:
        chain = max(state.way[1], key=lambda c: state.stages[c].seconds)
        found = _stage(state, chain, scale).bottleneck
    return overhead if overhead.share > found.share else found


def _shared_bottleneck(state: PlanState, scale: float) -> Bottleneck | None:
    """The host or link that independent stages need for longer than the longest way takes, if there is one."""
    hosts, way = state.setting.hosts, state.way[0]
    links = state.link_seconds.max(axis=0)
    host, link = int(state.host_seconds.argmax()), int(links.argmax())
    if max(state.host_seconds[host], links[link]) <= way * (1 + 1e-12):
        return None
    if state.host_seconds[host] >= links[link]:
        return Bottleneck(limit=Limit.HOST, name=hosts.hosts[host].id, share=float(state.host_seconds[host]) * scale)
    limit, index = link_at(hosts, link)
    return Bottleneck(limit=limit, name=_link_name(hosts, limit, index), share=float(links[link]) * scale)


def _stage(state: PlanState, chain: Chain, scale: float) -> StagePrediction:
    stage = state.stages[chain]
    limit, name = _named_limit(state, chain, stage)
    share = stage.seconds * scale if stage.seconds > 0 else 0.0
    return StagePrediction(pes=chain, seconds=stage.seconds, bottleneck=Bottleneck(limit=limit, name=name, share=share))


def _named_limit(state: PlanState, chain: Chain, stage: StageTime) -> tuple[Limit, str]:
    hosts, limit, index = state.setting.hosts, stage.limit, stage.index
    if limit is Limit.HOST:
        return limit, hosts.hosts[index].id
    if limit in (Limit.LINK, Limit.UPLINK):
        return limit, _link_name(hosts, limit, index)
    if limit is Limit.CROSSING:
        limit, index = _named_thread(state, chain, stage)
    load, demand = state.loads[index], state.setting.demand
    is_sequential = limit is Limit.PE and state.pes[index].channels == 1
    if is_sequential and demand.work_mips[load.hottest] > _MOST * stage.load.busiest:
        return Limit.OPERATOR, demand.ids[load.hottest]
    return limit, str(index)


def _named_thread(state: PlanState, chain: Chain, stage: StageTime) -> tuple[Limit, int]:
    """A thread of the JVM: the PE whose operators are most of it, else the PE whose crossings cost it most."""
    in_jvm = [pe.in_jvm for pe in state.pes]
    threads = task_threads(chain, state.loads, in_jvm, state.overlap(chain))
    assert stage.load.thread is not None
    crossings: dict[int, float] = {}
    for mips, pe, is_work in threads[stage.load.thread]:
        if is_work and mips > _MOST * stage.load.busiest:
            return Limit.PE, pe
        crossings[pe] = crossings.get(pe, 0.0) + (0.0 if is_work else mips)
    return Limit.CROSSING, max(crossings, key=crossings.__getitem__)


def _link_name(hosts: Hosts, limit: Limit, index: int) -> str:
    return hosts.racks[index] if limit is Limit.UPLINK else hosts.hosts[index].id
