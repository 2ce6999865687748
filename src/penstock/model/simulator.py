"""A cluster simulator: a plan over time, micro-batch by micro-batch, on hosts that we do not have.

Introduction:
    The model says what a plan sustains. A simulation shows what happens on the way: how a backlog builds up when the
    load rises and how long it takes to work off, what a hot key does to one channel, on hundreds of hosts in racks. It
    is seeded: the same seed gives the same numbers.

Formulation:
    A micro-batch takes in what has come since the last one took its input, up to the model's limit, and runs for
    T = F + (its load at the model's costs), with what is left to chance in it (`simulator_chance`).

    The next one starts when it is done, or when the trigger is due.

Example:
    >>> from penstock.model import OperatorProfile, Profile, Transfer, equal_hosts, plan_of
    >>> from penstock.model.arrivals import steady
    >>> profile = Profile(mips=1000.0, operators=(OperatorProfile(id="a", rate_tps=100.0, cpu_seconds=0.005),))
    >>> model = ThroughputModel(profile, equal_hosts(1), Transfer(mips=1000.0, batch_seconds=0.1))
    >>> run = simulate(model, plan_of([["a"]], hosts=["h0"]), steady(1.0), seconds=60, seed=1)
    >>> round(run.throughput_tps(after=10.0)), round(float(run.batch_seconds[-1]), 3)
    (100, 0.2)

When it does not apply:
    Hosts neither fail nor slow down, and one job has the cluster for itself.

Algorithm:
    For each micro-batch a pass over the stages, linear in channels, hosts and (where links are limited) streams.

Reference:
    Ours. It stands in for the clusters of the papers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrivals import Arrivals
from penstock.model.hosts import Floats
from penstock.model.plan import Plan
from penstock.model.simulator_chance import Dice
from penstock.model.throughput import ThroughputModel

_LEAST_PERIOD = 0.001
"""Micro-batches start no closer than this: without overhead they would become ever smaller."""

_IDLE_SECONDS = 0.01
"""How long Spark waits before it looks for input again."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulation:
    """The outcome of a simulation, one entry for each micro-batch.

    Attributes:
        starts: When it started, in seconds.
        batch_seconds: How long it took.
        tuples: How many tuples it took from the sources.
        backlog: How many were waiting when it was done.
        lag_seconds: How long the oldest of them had been waiting by then.
        host_utilization: The part of each host's capacity that it used; a row for each micro-batch.
    """

    starts: Floats
    batch_seconds: Floats
    tuples: Floats
    backlog: Floats
    lag_seconds: Floats
    host_utilization: Floats

    @property
    def ends(self) -> Floats:
        """When each micro-batch was done."""
        return self.starts + self.batch_seconds

    def throughput_tps(self, *, after: float = 0.0) -> float:
        """Tuples a second that were taken from the sources by the micro-batches that started after a time."""
        kept = self.starts >= after
        if not kept.any():
            return 0.0
        first, last = int(kept.argmax()), len(self.starts) - 1
        # From start to start, so that the pauses between micro-batches count as well.
        until = self.ends[last] if last == first else self.starts[last]
        done = self.tuples[first:last].sum() if last > first else self.tuples[first]
        return float(done / (until - self.starts[first]))


def simulate(
    model: ThroughputModel, plan: Plan, arrivals: Arrivals, *, seconds: float, seed: int, trigger_seconds: float = 0.0
) -> Simulation:
    """Run a plan for a time.

    Args:
        model: Of the application and the cluster.
        plan: With the shares of its channels, where they are uneven.
        arrivals: The input.
        seconds: Micro-batches start up to this time.
        seed: Of all chance.
        trigger_seconds: Micro-batches start at least this long after one another.

    Raises:
        UserError: The plan does not fit, or its PEs form a cycle.
    """
    state = model.state(plan)
    dice = Dice(state, np.random.default_rng(seed))
    fixed = state.fixed_seconds(model.transfer)
    record = _Record(sum(model.source_rates.values()), len(model.hosts.hosts))
    now = 0.0
    while now < seconds:
        record.arrive(now, arrivals)
        taken = min(record.waiting, model.batch_limit)
        if taken <= 0:
            now += max(trigger_seconds, _IDLE_SECONDS)
            continue
        rolled = dice.roll(taken)
        took = fixed + taken * rolled.load_seconds
        record.batch(now, took, taken, rolled.host_seconds * taken / took if took > 0 else rolled.host_seconds)
        now += max(took, trigger_seconds, _LEAST_PERIOD)
    record.arrive(now, arrivals)
    return record.done()


class _Record:
    """Keeps the books: what has come, what was taken, and what each micro-batch did."""

    def __init__(self, tuples_in_a_second: float, hosts: int) -> None:
        self.rate = tuples_in_a_second
        self.hosts = hosts
        self.times, self.come = [0.0], [0.0]
        self.taken = 0.0
        self.batches: list[tuple[float, float, float, float]] = []
        self.utilization: list[Floats] = []

    @property
    def waiting(self) -> float:
        """Seconds of input that have come and were not taken."""
        return self.come[-1] - self.taken

    def arrive(self, now: float, arrivals: Arrivals) -> None:
        """Let input come until now."""
        self.come.append(self.come[-1] + arrivals.between(self.times[-1], now))
        self.times.append(now)

    def batch(self, start: float, took: float, taken: float, utilization: Floats) -> None:
        """Take input for a micro-batch."""
        self.taken += taken
        self.batches.append((start, took, taken, self.taken))
        self.utilization.append(utilization)

    def done(self) -> Simulation:
        """All of it, as columns."""
        rows = np.array(self.batches).reshape(-1, 4)
        starts, took, taken, total = rows.T
        ends = starts + took
        times, come = np.array(self.times), np.array(self.come)
        backlog = np.maximum(np.interp(ends, times, come) - total, 0.0)
        # The oldest tuple that waits is the one that came when as much had come as has been taken.
        oldest = np.interp(total, come, times)
        return Simulation(
            starts=starts,
            batch_seconds=took,
            tuples=taken * self.rate,
            backlog=backlog * self.rate,
            lag_seconds=np.where(backlog > 0, np.maximum(ends - oldest, 0.0), 0.0),
            host_utilization=np.array(self.utilization).reshape(len(rows), self.hosts),
        )
