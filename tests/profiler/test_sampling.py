"""Stride and reservoir sampling: how many, how uniform, how much memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from penstock.profiler.reservoir import Reservoir
from penstock.profiler.stride import Stride


@given(st.floats(0.001, 1.0), st.lists(st.integers(0, 500), max_size=20), st.integers(0, 10))
def test_one_tuple_in_every_1_over_s_is_taken_however_the_stream_is_cut(fraction, batches, seed):
    stride = Stride(fraction, seed=seed)
    taken = sum(len(stride.take(batch)) for batch in batches)
    assert abs(taken - fraction * sum(batches)) <= 2


@given(st.floats(0.001, 1.0), st.integers(0, 500), st.integers(0, 10))
def test_positions_are_distinct_and_lie_in_the_batch(fraction, batch, seed):
    taken = Stride(fraction, seed=seed).take(batch)
    assert taken == sorted(set(taken))
    assert all(0 <= position < batch for position in taken)


def test_every_tuple_is_taken_if_the_fraction_is_one():
    assert Stride(1.0, seed=3).take(5) == [0, 1, 2, 3, 4]


def test_a_stream_with_a_period_shows_all_of_it():
    taken = Stride(0.05, seed=1).take(20_000)
    even = sum(position % 2 == 0 for position in taken)
    assert 0.4 < even / len(taken) < 0.6


def kept_counts(fill, runs: int, values: int) -> np.ndarray:
    counts = np.zeros(values)
    for seed in range(runs):
        for value in fill(seed).values:
            counts[value] += 1
    return counts


def test_each_value_has_the_same_chance_to_be_kept():
    def fill(seed: int) -> Reservoir:
        reservoir = Reservoir(10, seed=seed)
        for value in range(50):
            reservoir.add(value)
        return reservoir

    assert chisquare(kept_counts(fill, 4_000, 50)).pvalue > 0.001


@pytest.mark.parametrize("sizes", [(40, 10), (5, 45), (25, 25), (0, 50)])
def test_merged_reservoirs_are_uniform_over_all_that_both_have_seen(sizes):
    first, _ = sizes

    def fill(seed: int) -> Reservoir:
        one, other = Reservoir(10, seed=seed), Reservoir(10, seed=seed + 1_000_000)
        for value in range(50):
            (one if value < first else other).add(value)
        one.merge(other)
        return one

    assert all(len(fill(seed).values) == 10 for seed in range(20))
    assert chisquare(kept_counts(fill, 4_000, 50)).pvalue > 0.001


def test_memory_stays_bounded_over_a_long_run():
    reservoir = Reservoir(100, seed=1)
    for value in range(100_000):
        reservoir.add(value)
    assert (len(reservoir.values), reservoir.seen) == (100, 100_000)


@given(st.lists(st.lists(st.integers(), max_size=30), max_size=8))
def test_what_fits_is_kept_whole(parts):
    whole = Reservoir(1_000, seed=1)
    for part in parts:
        reservoir = Reservoir(1_000, seed=2)
        for value in part:
            reservoir.add(value)
        whole.merge(reservoir)
    assert sorted(whole.values) == sorted(value for part in parts for value in part)
