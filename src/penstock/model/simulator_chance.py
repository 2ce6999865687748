"""The random parts of a simulated micro-batch.

- The tuples of a PE whose channels have uneven shares fall on them by chance, in these proportions (multinomial).
- The work of a channel varies by chance, with the variance that the profile has for the CPU time of a tuple (normal,
  because a micro-batch has many tuples).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from penstock.model.hosts import Floats, Hosts, Ints
from penstock.model.spread import Spread, channel_hosts, channel_shares, link_factors, spread_of
from penstock.model.stage_time import StageTime, time_stage
from penstock.model.stages import Chain
from penstock.model.state import PlanState


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Channels:
    """The channels of a stage.

    Attributes:
        where: The host of each.
        shares: What each gets on average.
        by_chance: Whether tuples fall on them by chance.
        tuples_tps: What they get together in a second of input.
        deviation: Of the work of a second of input, as a fraction of the work.
    """

    where: Ints
    shares: Floats
    by_chance: bool
    tuples_tps: float
    deviation: float


class Dice:
    """Rolls what is left to chance in a micro-batch."""

    def __init__(self, state: PlanState, rng: np.random.Generator) -> None:
        self.state = state
        self.rng = rng
        assert state.order is not None
        self.channels = {chain: _channels(state, chain) for chain in state.order}
        self.stage_of = {pe: chain for chain in state.order for pe in chain}

    def roll(self, taken: float) -> PlanState:
        """The state of the plan as one micro-batch of `taken` seconds of input finds it."""
        hosts = self.state.setting.hosts
        spreads = {chain: self._spread(channels, taken, hosts) for chain, channels in self.channels.items()}
        stages = {chain: self._time(chain, spreads) for chain in spreads}
        return replace(self.state, known=stages, touched=frozenset())

    def _spread(self, channels: _Channels, taken: float, hosts: Hosts) -> Spread:
        shares = channels.shares
        count = round(channels.tuples_tps * taken)
        if channels.by_chance and count > 0:
            shares = self.rng.multinomial(count, shares / shares.sum()) / count
        if channels.deviation > 0:
            # The deviation of a sum grows with the root of what is summed.
            spread = channels.deviation * np.sqrt(shares / taken)
            shares = np.maximum(shares + spread * self.rng.standard_normal(len(shares)), 0.0)
        return spread_of(hosts, channels.where, shares)

    def _time(self, chain: Chain, spreads: dict[Chain, Spread]) -> StageTime:
        state = self.state
        hosts, demand = state.setting.hosts, state.setting.demand
        fetched = []
        if hosts.has_links:
            for stream, _ in state.loads[chain[0]].entering:
                origin = spreads[self.stage_of[state.pe_of[demand.producer[stream]]]]
                fetched.append((demand.stream_bytes[stream], link_factors(hosts, origin, spreads[chain])))
        return time_stage(hosts, state.stages[chain].load, spreads[chain], fetched)


def _channels(state: PlanState, chain: Chain) -> _Channels:
    demand, placed = state.setting.demand, state.pes[chain[0]]
    members = [operator for pe in chain for operator in state.members[pe]]
    entering = [demand.stream_tps[stream] for stream, _ in state.loads[chain[0]].entering]
    made = [demand.tuples_tps[o] for o in state.members[chain[0]] if not demand.inputs[o]]
    variance, total = sum(demand.work_variance[o] for o in members), state.stages[chain].load.total
    return _Channels(
        where=channel_hosts(state.setting.hosts, placed.place),
        shares=channel_shares(placed.place),
        by_chance=bool(placed.shares),
        tuples_tps=sum(entering) + sum(made),
        deviation=math.sqrt(variance) / total if total > 0 else 0.0,
    )
