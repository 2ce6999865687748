"""From raw statistics to a profile."""

from __future__ import annotations

import pytest

from penstock.lang import compile_text
from penstock.model.profile_format import profile_from_json, profile_to_json
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.refine import own_seconds, refine

PROGRAM = compile_text(
    """composite Main { graph
    stream<int64 n> A = Beacon() {}
    stream<int64 n, rstring s> B = Functor(A) { output B: s = "x"; }
    (stream<int64 n> C; stream<int64 n> D) = Functor(B) { }
    () as Sink = FileSink(C, D) { param file: "out"; } }"""
)
RECEIVED = {"B": [100], "C": [80], "Sink": [60]}
SUBMITTED = {"A": [100], "B": [80], "C": [40, 20]}


def collected() -> Statistics:
    found = Statistics()
    found.add_base("A", 1_000_000.0)
    found.add(("process", "B", 0), 90_000.0, tuples=3)
    found.add(("submit", "B", 0), 40_000.0, tuples=2)
    found.add(("size", "B", 0), 120.0, tuples=10)
    return found


def test_equation_1_takes_submit_times_out_of_process_times_and_adds_base_time():
    found = Statistics()
    found.add(("process", "O", 0), 50_000.0)
    found.add(("process", "O", 1), 10_000.0)
    found.add(("submit", "O", 0), 20_000.0)
    found.add_base("O", 7_000.0)
    assert own_seconds("O", found, [100, 10], [50]) == pytest.approx((7 + 5_000 + 100 - 1_000) * 1e-6)


def test_an_operator_never_costs_less_than_nothing():
    found = Statistics()
    found.add(("submit", "O", 0), 20_000.0)
    assert own_seconds("O", found, [1], [1]) == 0.0


def test_a_profile_has_costs_rates_selectivities_and_sizes():
    profile = refine(PROGRAM.application, collected(), received=RECEIVED, submitted=SUBMITTED, seconds=2.0, mips=1000.0)
    source, functor, split = (profile.operator[id_] for id_ in "ABC")
    assert (source.rate_tps, source.cpu_seconds) == (50.0, pytest.approx(10e-6))
    assert functor.cpu_seconds == pytest.approx((100 * 30 - 80 * 20) / 100 * 1e-6)
    assert functor.selectivity == (0.8,)
    assert split.selectivity == (0.5, 0.25)
    assert profile.stream["B"].tuple_bytes == pytest.approx(12.0)
    assert profile.stream["C"].tuple_bytes == pytest.approx(8.0)
    assert profile.stream["B"].rate_tps == pytest.approx(40.0)
    assert profile_from_json(profile_to_json(profile)) == profile


def test_operators_that_saw_nothing_cost_nothing():
    profile = refine(PROGRAM.application, Statistics(), received={}, submitted={}, seconds=1.0, mips=1000.0)
    assert all(o.cpu_seconds == 0.0 and o.rate_tps == 0.0 for o in profile.operators)
    assert profile.operator["C"].selectivity == (0.0, 0.0)


def test_the_variance_of_tuples_follows_from_that_of_batches():
    single, batches = Statistics(), Statistics()
    for amount in (1.0, 3.0):
        single.add(("process", "O", 0), amount)
        batches.add(("process", "O", 0), 100 * amount, tuples=100)
    assert batches.variance(("process", "O", 0)) == pytest.approx(100 * single.variance(("process", "O", 0)))


def test_statistics_survive_the_report_that_carries_them():
    found = collected()
    again = Statistics.from_json(found.to_json())
    assert again.mean(("process", "B", 0)) == found.mean(("process", "B", 0))
    assert again.base_ns == found.base_ns
