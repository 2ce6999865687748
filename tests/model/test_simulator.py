from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import chain_profile, scenes

from penstock.base.diagnostics import UserError
from penstock.model import (
    Cost,
    PlacedPE,
    Plan,
    StreamProfile,
    ThroughputModel,
    Transfer,
    bursts,
    equal_hosts,
    plan_of,
    simulate,
    steady,
    steps,
    wave,
    zipf_shares,
)
from penstock.model.transfer import PARTS

COSTS = {part: Cost(seconds_per_tuple=1e-6, seconds_per_byte=1e-9) for part in PARTS}
TRANSFER = Transfer(mips=1000.0, batch_seconds=0.1, stage_seconds=0.02, **COSTS)


def _keyed(channels, hosts, *, exponent, batch_tuples=200_000.0):
    """A source, a keyed region and a sink, with keys of a Zipf distribution."""
    base = chain_profile([1e-6, 5e-5, 1e-6], rate_tps=20_000.0, tuple_bytes=100.0)
    profile = replace(base, operators=tuple(replace(o, cpu_variance=1e-10) for o in base.operators))
    names = tuple(host.id for host in hosts.hosts)
    shares = zipf_shares(channels, keys=10_000, exponent=exponent, seed=3) if exponent else ()
    plan = Plan(
        pes=(
            PlacedPE(operators=("o0",), hosts=names[:1]),
            PlacedPE(operators=("o1",), hosts=names, channels=channels, shares=shares, keyed=True, region="r"),
            PlacedPE(operators=("o2",), hosts=names[-1:]),
        )
    )
    return ThroughputModel(profile, hosts, TRANSFER, batch_tuples=batch_tuples), plan


@given(scenes(), st.sampled_from([0.3, 0.8, 3.0]))
@settings(max_examples=60, deadline=None)
def test_under_constant_load_it_settles_where_the_model_says(scene, part):
    model, plan = scene
    model.transfer = replace(model.transfer, batch_seconds=0.1)
    plan = Plan(pes=tuple(replace(pe, shares=()) for pe in plan.pes))
    prediction = model.evaluate(plan)
    if not 0.01 < prediction.scale < 100:
        return
    offered = part * prediction.scale
    steady_batch = prediction.batch_seconds(min(offered, 0.8 * prediction.scale))
    run = simulate(model, plan, steady(offered), seconds=40 * steady_batch, seed=1)
    rate = sum(model.source_rates.values())
    if part < 1:
        assert run.batch_seconds[-1] == pytest.approx(prediction.batch_seconds(offered), rel=0.03)
        assert run.tuples[-1] == pytest.approx(offered * rate * run.batch_seconds[-1], rel=0.03)
    elif np.isfinite(model.batch_limit):
        assert run.throughput_tps(after=20 * steady_batch) == pytest.approx(prediction.scale * rate, rel=0.03)
        assert run.backlog[-1] > 0


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.2])
def test_with_skewed_keys_and_noise_it_agrees_with_the_model_within_a_few_per_cent(exponent):
    model, plan = _keyed(8, equal_hosts(4, cores=2), exponent=exponent)
    prediction = model.evaluate(plan)
    run = simulate(model, plan, steady(2 * prediction.scale), seconds=400, seed=5)
    expected = sum(prediction.sustained_rates.values())
    assert run.throughput_tps(after=100) == pytest.approx(expected, rel=0.04)


def test_a_hot_key_costs_throughput():
    rates = []
    for exponent in (0.0, 0.8, 1.2):
        model, plan = _keyed(8, equal_hosts(4, cores=2), exponent=exponent)
        rates.append(simulate(model, plan, steady(50.0), seconds=100, seed=5).throughput_tps())
    assert rates[0] > rates[1] > rates[2]


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    model, plan = _keyed(8, equal_hosts(4, cores=2), exponent=1.0)
    one, same, other = (simulate(model, plan, steady(1.0), seconds=20, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.batch_seconds, same.batch_seconds)
    assert np.array_equal(one.host_utilization, same.host_utilization)
    assert not np.array_equal(one.batch_seconds[:10], other.batch_seconds[:10])


def test_a_backlog_builds_up_in_a_burst_and_is_worked_off_after_it():
    model = ThroughputModel(chain_profile([0.0005]), equal_hosts(1), Transfer(mips=1000.0, batch_seconds=0.1))
    plan = plan_of([["o0"]], hosts=["h0"])
    assert model.evaluate(plan).scale == pytest.approx(2.0)
    model.batch_limit = 5.0
    run = simulate(model, plan, steps([(0, 1.0), (50, 4.0), (80, 1.0)]), seconds=200, seed=1)
    before, during, after = run.ends < 50, (run.ends > 75) & (run.ends < 80), run.ends > 190
    assert run.lag_seconds[before].max() < 1.0
    assert run.lag_seconds[during].min() > 10.0
    assert run.backlog[during].min() > 30_000
    assert run.lag_seconds[after].max() < 1.0


def test_what_comes_is_taken_or_waits():
    model, plan = _keyed(8, equal_hosts(4, cores=2), exponent=1.0)
    arrivals = bursts(calm=0.5, burst=6.0, calm_seconds=20, burst_seconds=10, until_seconds=150, seed=4)
    run = simulate(model, plan, arrivals, seconds=150, seed=2)
    come = np.array([arrivals.between(0.0, end) for end in run.ends[:-1]]) * 20_000.0
    # The backlog between the starts of micro-batches is read off a line, hence the tolerance.
    assert run.tuples.cumsum()[:-1] + run.backlog[:-1] == pytest.approx(come, rel=0.02, abs=2000)


def test_hosts_are_busy_in_proportion_to_the_load():
    model, plan = _keyed(8, equal_hosts(4, cores=2), exponent=0.0)
    low, high = (simulate(model, plan, steady(s), seconds=60, seed=1, trigger_seconds=2.0) for s in (0.5, 1.0))
    used = [(run.host_utilization * run.batch_seconds[:, None]).sum() for run in (low, high)]
    assert used[1] == pytest.approx(2 * used[0], rel=0.05)
    assert high.host_utilization.max() <= 1.0


def test_a_trigger_keeps_micro_batches_apart():
    model, plan = _keyed(4, equal_hosts(2, cores=2), exponent=0.0)
    run = simulate(model, plan, steady(0.2), seconds=30, seed=1, trigger_seconds=3.0)
    assert np.diff(run.starts).min() == pytest.approx(3.0)
    assert run.throughput_tps(after=3.0) == pytest.approx(4000.0)


def test_without_input_nothing_runs():
    model, plan = _keyed(4, equal_hosts(2, cores=2), exponent=0.0)
    run = simulate(model, plan, steady(0.0), seconds=5, seed=1)
    assert len(run.starts) == 0
    assert run.throughput_tps() == 0.0


def test_hundreds_of_hosts_in_racks_with_links_that_fill():
    hosts = equal_hosts(300, cores=4, racks=10, link_mbps=1000.0, uplink_mbps=40.0)
    wide = equal_hosts(300, cores=4, racks=10)
    model, plan = _keyed(900, hosts, exponent=0.6)
    free, same = _keyed(900, wide, exponent=0.6)
    offered = steady(200.0)
    limited, unlimited = (simulate(m, p, offered, seconds=600, seed=9) for m, p in ((model, plan), (free, same)))
    assert limited.host_utilization.shape[1] == 300
    assert limited.throughput_tps() < unlimited.throughput_tps()
    prediction = model.evaluate(plan)
    assert prediction.bottleneck.limit.value == "uplink"
    assert limited.throughput_tps(after=100) == pytest.approx(sum(prediction.sustained_rates.values()), rel=0.04)


def test_load_that_varies_keeps_its_mean():
    day = wave(mean=2.0, amplitude=1.0, period_seconds=100.0)
    assert day.between(0, 300) == pytest.approx(600.0)
    assert day.between(0, 50) > day.between(50, 100)
    jumps = steps([(0, 1.0), (10, 5.0)])
    assert jumps.between(5, 15) == pytest.approx(30.0)
    assert sum(jumps.between(t, t + 1) for t in range(20)) == pytest.approx(jumps.between(0, 20))


def test_loads_that_make_no_sense_are_refused():
    with pytest.raises(UserError, match="a wave of input has mean 1, amplitude 2"):
        wave(mean=1.0, amplitude=2.0, period_seconds=10.0)
    with pytest.raises(UserError, match="give \\(time, scale\\) pairs with growing times"):
        steps([(5, 1.0), (0, 2.0)])


def test_zipf_shares_are_more_uneven_with_a_larger_exponent():
    shares = [max(zipf_shares(16, keys=5000, exponent=e, seed=1)) for e in (0.0, 0.8, 1.5)]
    assert shares == sorted(shares)
    assert shares[0] < 1.3 / 16
    assert sum(zipf_shares(16, keys=5000, exponent=0.8, seed=1)) == pytest.approx(1.0)


def test_independent_branches_are_simulated_at_the_same_time():
    profile = replace(
        chain_profile([0.0, 0.0005, 0.0005]),
        streams=(StreamProfile(id="s", producer="o0", consumers=("o1", "o2"), rate_tps=1000.0, tuple_bytes=8.0),),
    )
    plan = plan_of([["o0"], ["o1"], ["o2"]], hosts=["h0"])
    transfer = Transfer(mips=1000.0, batch_seconds=0.1)
    one, two = (ThroughputModel(profile, equal_hosts(1, cores=c), transfer) for c in (1, 2))
    runs = [simulate(m, plan, steady(0.5), seconds=60, seed=1).batch_seconds[-1] for m in (one, two)]
    assert runs == [pytest.approx(0.2, rel=0.01), pytest.approx(0.1 / 0.75, rel=0.01)]
