from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.diagnostics import UserError
from penstock.model import Cost, Transfer, TransferSample, fit_costs, fit_transfer
from penstock.model.transfer import PARTS

costs = st.floats(1e-8, 1e-5)


def _sample(truth, tuples, tuple_bytes, noise=1.0):
    seconds = sum(truth[part].seconds(count, tuple_bytes) for part, count in tuples.items())
    return TransferSample(seconds=seconds * noise, tuples=tuples, tuple_bytes=tuple_bytes)


@given(st.fixed_dictionaries({part: st.tuples(costs, costs) for part in PARTS}), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_costs_are_recovered_from_samples_that_tell_them_apart(values, seed):
    truth = {part: Cost(seconds_per_tuple=a, seconds_per_byte=c) for part, (a, c) in values.items()}
    rng = np.random.default_rng(seed)
    samples = [
        _sample(truth, {part: float(rng.integers(1, 10_000)) for part in PARTS}, float(size))
        for size in (8, 64, 500, 4000)
        for _ in range(20)
    ]
    fit = fit_costs(samples)
    assert max(map(abs, fit.errors)) < 1e-3


def test_noise_is_averaged_out():
    truth = {"jvm_feed": Cost(seconds_per_tuple=2e-7, seconds_per_byte=3e-9)}
    rng = np.random.default_rng(7)
    samples = [
        _sample(truth, {"jvm_feed": 1e6}, size, noise=float(rng.normal(1.0, 0.05)))
        for size in (10.0, 50.0, 100.0, 500.0, 1000.0)
        for _ in range(20)
    ]
    found = fit_costs(samples).costs["jvm_feed"]
    assert found.seconds_per_tuple == pytest.approx(2e-7, rel=0.1)
    assert found.seconds_per_byte == pytest.approx(3e-9, rel=0.1)


def test_a_cost_is_never_negative():
    # Larger tuples that took less time: the best line falls, and the best that may not fall is flat.
    samples = [TransferSample(seconds=s, tuples={"x": 1}, tuple_bytes=b) for s, b in ((2.0, 10.0), (1.0, 1000.0))]
    found = fit_costs(samples).costs["x"]
    assert found.seconds_per_byte == 0.0
    assert found.seconds_per_tuple == pytest.approx(1.2, rel=1e-3)


def test_parts_that_cannot_be_told_apart_share_their_cost():
    samples = [TransferSample(seconds=4.0 * n, tuples={"jvm_feed": n, "jvm_drain": n}) for n in (1, 2, 5)]
    found = fit_costs(samples).costs
    assert found["jvm_feed"].seconds_per_tuple == pytest.approx(2.0, rel=1e-4)
    assert found["jvm_drain"].seconds_per_tuple == pytest.approx(2.0, rel=1e-4)


def test_a_calibration_has_the_costs_of_batches_and_stages():
    samples = [
        TransferSample(seconds=0.3 + 0.1 * stages, tuples={"batch": 1, "stage": stages}) for stages in (1, 2, 5, 9)
    ]
    transfer = fit_transfer(samples, mips=1500.0, pipelined=True)
    assert transfer.batch_seconds == pytest.approx(0.3, rel=1e-3)
    assert transfer.stage_seconds == pytest.approx(0.1, rel=1e-3)
    assert (transfer.mips, transfer.pipelined) == (1500.0, True)


def test_samples_without_time_are_refused():
    for samples in ([], [TransferSample(seconds=0.0, tuples={"x": 1})]):
        with pytest.raises(UserError, match="transfer costs cannot be fitted; give samples"):
            fit_costs(samples)


def test_the_mapping_of_the_paper_grows_with_rate_and_size_and_falls_with_speed():
    transfer = Transfer(mips=1000.0, jvm_feed=Cost(seconds_per_tuple=1e-6, seconds_per_byte=1e-8))
    base = transfer.fraction("jvm_feed", rate_tps=1000.0, tuple_bytes=100.0)
    assert base == pytest.approx(0.002)
    assert transfer.fraction("jvm_feed", rate_tps=2000.0, tuple_bytes=100.0) == pytest.approx(2 * base)
    assert transfer.fraction("jvm_feed", rate_tps=1000.0, tuple_bytes=300.0) == pytest.approx(2 * base)
    assert transfer.fraction("jvm_feed", rate_tps=1000.0, tuple_bytes=100.0, mips=500.0) == pytest.approx(2 * base)
