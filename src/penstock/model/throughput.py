"""The throughput model: what a plan will sustain, before it is run.

Introduction:
    The SPADE paper fuses by CPU fractions because the throughput of a fusion "is hard to model". On Spark it can be
    modelled: a micro-batch is a small job whose parts take times in proportion to their input. The optimizers search
    with this model, `--channels auto` asks it, `explain --profile` shows it.

Formulation:
    Given a profile, a calibration, hosts, and a plan (which operators form a PE, with how many channels, where):

    1. Rates and demands in mips follow from the sources' rates (`demand`).
    2. PEs form stages; each has a process for each PE and a thread for the crossings (`stages`).
    3. A stage takes the time of its busiest thread, most crowded host or busiest link (`stage_time`).
    4. A micro-batch of x seconds of input takes T(x) = F + s x, where s is the longest way through the stages, or the
       time for which independent stages need one host or link together if that is more (`state`), and
       F = batch_seconds + stage_seconds * (depth - 1) + pe_seconds * PEs.
       In a line (`line`), PEs overlap by pieces, and what every micro-batch has anyway is part of batch_seconds.
    5. Input that grows by the factor `scale` is sustained if T(x) <= x / scale for some x that a micro-batch may
       take: scale = 1 / s, or X / T(X) where a micro-batch takes X at most (`prediction`).

Example:
    Two operators of 10 microseconds on two cores, with crossings of 1 microsecond in each of their parts. Fused: one
    process of 22, with what it receives and sends. Apart: two of 12 and 4 in the JVM, 28 in all, on two cores.

    >>> from penstock.model.hosts import equal_hosts
    >>> from penstock.model.plan import PlacedPE
    >>> from penstock.model.profile import OperatorProfile, StreamProfile
    >>> from penstock.model.transfer import CROSSING, Cost
    >>> crossing = dict.fromkeys(CROSSING, Cost(seconds_per_tuple=1e-6))
    >>> names, costs = ("in", "f", "g", "out"), (0.0, 1e-5, 1e-5, 0.0)
    >>> profile = Profile(
    ...     mips=1000.0,
    ...     operators=tuple(OperatorProfile(id=n, rate_tps=1000.0, cpu_seconds=c, selectivity=(1.0,))
    ...                     for n, c in zip(names, costs)),
    ...     streams=tuple(StreamProfile(id=a, producer=a, consumers=(b,), rate_tps=1000.0, tuple_bytes=24.0)
    ...                   for a, b in zip(names, names[1:])))
    >>> model = ThroughputModel(profile, equal_hosts(1, cores=2), Transfer(mips=1000.0, **crossing))
    >>> def pe(*operators, in_jvm=False):
    ...     return PlacedPE(operators=operators, hosts=("h0",), in_jvm=in_jvm)
    >>> fused = model.evaluate(Plan(pes=(pe("in", in_jvm=True), pe("f", "g"), pe("out", in_jvm=True))))
    >>> apart = model.evaluate(Plan(pes=(pe("in", in_jvm=True), pe("f"), pe("g"), pe("out", in_jvm=True))))
    >>> round(fused.sustained_rates["in"]), str(fused.bottleneck)
    (45455, 'PE 1')
    >>> round(apart.sustained_rates["in"]), str(apart.bottleneck)
    (71429, 'host h0')

When it does not apply:
    Costs that do not grow in proportion (a join whose windows fill with the rate, caches that overflow, swapping)
    need a profile taken near the rate that is asked about. Other work on the hosts is not known. PEs that form a cycle
    cannot run on Spark: `UserError`.

Algorithm:
    Linear in operators and streams, plus PEs times hosts for links. `what_if` answers for small changes in a fraction.

Preserves:
    More or faster cores and wider links never lower the prediction; nor does taking away a crossing, unless the larger
    PE becomes the bottleneck.

Reference:
    Gedik et al., CIKM 2009, sections 3 and 4; Khandekar et al., Middleware 2009, equation 1 and expression i, whose
    mips we use. Stages, threads, cores, links and channels are ours: `docs/design/throughput-model.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from penstock.base.diagnostics import UserError
from penstock.model.demand import demand
from penstock.model.explain import predict
from penstock.model.hosts import Hosts
from penstock.model.plan import Plan, check_plan
from penstock.model.prediction import Prediction, highest_scale
from penstock.model.profile import Profile
from penstock.model.state import PlanState, Setting, build_state
from penstock.model.transfer import Transfer


class ThroughputModel:
    """Predicts plans of one application on one cluster.

    Attributes:
        profile: What the application costs.
        hosts: The cluster.
        transfer: What moving tuples costs.
        source_rates: What each source gives; the unit of all scales.
        batch_limit: The most input that a micro-batch takes, in seconds at these rates.
    """

    def __init__(
        self,
        profile: Profile,
        hosts: Hosts,
        transfer: Transfer,
        *,
        source_rates: Mapping[str, float] | None = None,
        batch_tuples: float = math.inf,
        piece_tuples: float = 0.0,
    ) -> None:
        """Set the scene.

        Args:
            profile: What the application costs.
            hosts: The cluster.
            transfer: What moving tuples costs.
            source_rates: Instead of the rates that the profile has for its sources.
            batch_tuples: The most tuples that a micro-batch takes from all sources together.
            piece_tuples: How many tuples travel together from PE to PE, in a line; PEs overlap if there are several.
        """
        self.profile = profile
        self.hosts = hosts
        self.transfer = transfer
        self.source_rates = dict(profile.source_rates if source_rates is None else source_rates)
        total = sum(self.source_rates.values())
        self.batch_limit = batch_tuples / total if total > 0 else math.inf
        pieces = max(1.0, batch_tuples / piece_tuples) if piece_tuples else math.inf
        flow = demand(profile, transfer, self.source_rates)
        self.setting = Setting(flow, hosts, pipelined=transfer.pipelined, pieces=pieces)

    def evaluate(self, plan: Plan) -> Prediction:
        """Predict a plan.

        Raises:
            UserError: The plan does not fit the profile or the hosts, or its PEs form a cycle.
        """
        return self.predict(self.state(plan))

    def delta(
        self,
        plan: Plan,
        moves: Mapping[str, int] | None = None,
        hosts: Mapping[int, tuple[str, ...]] | None = None,
    ) -> float:
        """By how much the highest scale changes when operators move to other PEs, and PEs to other hosts.

        Who asks often keeps a `what_if` of the plan instead.
        """
        return self.what_if(plan).delta(moves, hosts)

    def what_if(self, plan: Plan) -> WhatIf:
        """Start to ask what small changes of a plan would do."""
        return WhatIf(self, self.state(plan))

    def state(self, plan: Plan) -> PlanState:
        """Work out a plan.

        Raises:
            UserError: The plan does not fit, or its PEs form a cycle.
        """
        check_plan(plan, self.profile, self.hosts)
        state = build_state(self.setting, plan)
        if state.order is None:
            raise UserError("the PEs form a cycle", hint="no path may leave a PE and come back to it; fuse convex PEs")
        return state

    def predict(self, state: PlanState) -> Prediction:
        """Say all that follows from a state."""
        return predict(state, self.transfer, self.source_rates, self.batch_limit)

    def scale(self, state: PlanState) -> float:
        """The highest scale of a state; 0 where its PEs form a cycle, because such a plan cannot run."""
        if state.order is None:
            return 0.0
        return highest_scale(state.fixed_seconds(self.transfer), state.load_seconds, self.batch_limit)


class WhatIf:
    """A plan under change.

    Attributes:
        state: The plan as it stands.
        scale: Its highest scale.
    """

    def __init__(self, model: ThroughputModel, state: PlanState) -> None:
        self.model = model
        self.state = state
        self.scale = model.scale(state)

    def delta(
        self, moves: Mapping[str, int] | None = None, hosts: Mapping[int, tuple[str, ...]] | None = None
    ) -> float:
        """By how much the highest scale would change; the plan stays as it is.

        Args:
            moves: From operator to the PE that it moves to.
            hosts: From PE to the hosts that it moves to.
        """
        return self.model.scale(self._changed(moves, hosts)) - self.scale

    def change(
        self, moves: Mapping[str, int] | None = None, hosts: Mapping[int, tuple[str, ...]] | None = None
    ) -> None:
        """Change the plan."""
        self.state = self._changed(moves, hosts)
        self.scale = self.model.scale(self.state)

    def plan(self) -> Plan:
        """The plan as it stands; PEs that have lost all their operators are left out."""
        return self.state.plan()

    def _changed(self, moves: Mapping[str, int] | None, hosts: Mapping[int, tuple[str, ...]] | None) -> PlanState:
        index = self.model.setting.index_of
        return self.state.changed({index[o]: pe for o, pe in (moves or {}).items()}, hosts)
