"""The resource function learner: it recovers known functions, and its confidence is honest."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import UserError
from penstock.scheduler.learner.learner import LearnedFunction, ResourceFunctionLearner, learn
from penstock.scheduler.learner.prior import Prior
from penstock.scheduler.learner.samples import Matrix, Sample, check_samples
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.problem.admission_problem import Flow, Job, Linear, Output, Pe, Problem, Template
from penstock.scheduler.problem.resource_functions import rate_of

Truth = Callable[[Matrix, Matrix], Matrix]

KNOWN: dict[str, tuple[int, Truth]] = {
    "flow": (1, lambda r, g: np.minimum(0.5 * r[:, 0], g / 4)),
    "flow of three inputs": (3, lambda r, g: np.minimum(0.3 * r.sum(axis=1), g / 1.3)),
    "inputs that differ": (2, lambda r, g: np.minimum(0.8 * r[:, 0] + 0.2 * r[:, 1], g / 2)),
    "table over mips": (0, lambda r, g: np.interp(g, [0, 20, 60, 100], [0, 5, 60, 70])),
    "falling returns": (1, lambda r, g: np.minimum(r[:, 0], 8 * np.sqrt(g))),
    "rising returns": (0, lambda r, g: g**2 / 50),
    "join": (2, lambda r, g: np.minimum(r[:, 0] * r[:, 1] / 80, g / 1.2)),
}


def draw(name: str, seed: int, *, noise: float = 0.1, count: int = 200) -> list[Sample]:
    inputs, truth = KNOWN[name]
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 100, (count, inputs + 1))
    rates = truth(points[:, :-1], points[:, -1]) * np.maximum(1 + noise * rng.standard_normal(count), 0)
    return [sample(point, rate) for point, rate in zip(points, rates, strict=True)]


def sample(point: Matrix, rate: float) -> Sample:
    return Sample(input_tps=tuple(float(v) for v in point[:-1]), mips=float(point[-1]), output_tps=float(rate))


def held_out(name: str, learned: LearnedFunction, seed: int) -> tuple[Matrix, Matrix]:
    inputs, truth = KNOWN[name]
    points = np.random.default_rng(seed + 10_000).uniform(learned.lowest, learned.highest, (400, inputs + 1))
    return points, truth(points[:, :-1], points[:, -1])


@pytest.mark.parametrize("name", KNOWN)
def test_known_functions_are_recovered_within_a_tenth_from_200_noisy_samples(name: str) -> None:
    for seed in range(3):
        learned = learn(draw(name, seed))
        points, true = held_out(name, learned, seed)
        assert np.abs(learned.rates_tps(points) - true).mean() <= 0.10 * true.mean()


@pytest.mark.parametrize("name", ["flow", "inputs that differ", "falling returns", "table over mips", "join"])
def test_the_band_covers_the_true_function_as_often_as_it_says(name: str) -> None:
    covered = []
    for seed in range(8):
        learned = learn(draw(name, seed))
        points, true = held_out(name, learned, seed)
        low, high = learned.band(points, 0.9)
        covered.append(float(((low <= true) & (true <= high)).mean()))
    assert np.mean(covered) >= 0.85


@pytest.mark.parametrize("name", ["flow", "falling returns", "rising returns"])
def test_the_sample_band_covers_the_next_sample_neither_too_seldom_nor_too_often(name: str) -> None:
    covered = []
    for seed in range(8):
        learned = learn(draw(name, seed))
        points, true = held_out(name, learned, seed)
        measured = true * (1 + 0.1 * np.random.default_rng(seed + 5).standard_normal(len(true)))
        low, high = learned.sample_band(points, 0.9)
        covered.append(float(((low <= measured) & (measured <= high)).mean()))
    assert 0.85 <= np.mean(covered) <= 0.96


def test_more_samples_make_it_surer() -> None:
    few, many = learn(draw("flow", 1, count=40)), learn(draw("flow", 1, count=1000))
    assert many.uncertainty() < few.uncertainty() / 2


def test_less_noise_makes_it_surer() -> None:
    assert learn(draw("flow", 1, noise=0.02)).uncertainty() < learn(draw("flow", 1, noise=0.2)).uncertainty() / 3


def test_outside_what_was_seen_the_band_is_open() -> None:
    learned = learn(draw("falling returns", 3))
    low, high = learned.band(np.array([[150.0, 150.0], [-1.0, 50.0]]))
    assert high[0] == np.inf
    assert low[0] > 0
    assert low[1] == 0


def test_a_flow_gives_back_its_price_and_its_selectivity() -> None:
    flow = learn(draw("flow", 2)).flow()
    assert flow is not None
    assert flow == pytest.approx((2.0, 0.5), rel=0.05)


def test_inputs_that_differ_have_no_single_selectivity() -> None:
    assert learn(draw("inputs that differ", 2)).flow() is None


def test_a_table_over_mips_never_falls() -> None:
    table = learn(draw("falling returns", 2)).table_over_mips([60.0])
    assert all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(table))


def test_partial_samples_are_completed_and_recovery_stays_within_a_tenth() -> None:
    samples = draw("flow", 4)
    rng = np.random.default_rng(4)
    partial = [_with_a_gap(s, rng.integers(3)) if rng.random() < 0.4 else s for s in samples]
    learned = learn(partial)
    points, true = held_out("flow", learned, 4)
    assert learned.partial_samples > 20
    assert learned.samples + learned.partial_samples < 200
    assert np.abs(learned.rates_tps(points) - true).mean() <= 0.10 * true.mean()


def _with_a_gap(s: Sample, gap: int) -> Sample:
    return Sample(
        input_tps=(None,) if gap == 0 else s.input_tps,
        mips=None if gap == 1 else s.mips,
        output_tps=None if gap == 2 else s.output_tps,
    )


def test_a_few_wild_samples_do_not_spoil_the_fit() -> None:
    samples = draw("flow", 5)
    wild = [Sample(input_tps=s.input_tps, mips=s.mips, output_tps=500.0) for s in samples[:8]]
    learned = learn(wild + samples[8:])
    points, true = held_out("flow", learned, 5)
    assert np.abs(learned.rates_tps(points) - true).mean() <= 0.10 * true.mean()


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(0, 500)), min_size=12, max_size=30),
    st.integers(0, 3),
)
def test_what_is_learned_is_monotone_whatever_the_samples(rows: list[tuple[int, int, int]], seed: int) -> None:
    learned = learn([Sample(input_tps=(r,), mips=g, output_tps=y) for r, g, y in rows], seed=seed)
    rng = np.random.default_rng(seed)
    lower = rng.uniform(0, 100, (200, 2))
    upper = lower + rng.uniform(0, 50, (200, 2))
    slack = 1e-6 * max(1.0, max(y for _, _, y in rows))
    assert (learned.rates_tps(lower) <= learned.rates_tps(upper) + slack).all()


def test_impossible_samples_are_all_named_at_once() -> None:
    with pytest.raises(UserError) as error:
        check_samples(
            [
                Sample(input_tps=(1.0,), mips=2.0, output_tps=1.0),
                Sample(input_tps=(-1.0,), mips=2.0, output_tps=float("nan")),
                Sample(input_tps=(), mips=2.0, output_tps=1.0),
            ]
        )
    assert str(error.value).splitlines() == [
        "error: sample 1: input_tps[0] is -1.0; give a finite number of at least 0",
        "error: sample 1: output_tps is nan; give a finite number of at least 0",
        "error: sample 2: has 0 input rates, sample 0 has 1",
    ]


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(UserError, match="5 complete samples are too few to learn"):
        learn(draw("flow", 1)[:5])


def test_the_learner_forgets_what_is_older_than_its_window() -> None:
    learner = ResourceFunctionLearner(window=40)
    for mips in range(1, 41):
        learner.observe(Sample(input_tps=(), mips=float(mips), output_tps=1.0 * mips))
    for mips in range(1, 41):
        learner.observe(Sample(input_tps=(), mips=float(mips), output_tps=2.0 * mips))
    assert learner.learned().rate_tps([], 20.0) == pytest.approx(40.0)


def never_starved(seed: int, *, cost: float = 2.0, selectivity: float = 0.5, count: int = 200) -> list[Sample]:
    """Samples of a PE that had all the mips it could use: they lie on a line."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(10, 100, count)
    mips, rates = (factor * inputs * (1 + 0.1 * rng.standard_normal(count)) for factor in (cost, selectivity))
    return [sample(np.array([r, g]), y) for r, g, y in zip(inputs, mips, rates, strict=True)]


def test_a_pe_that_is_never_starved_tells_its_price_and_its_selectivity() -> None:
    for seed in range(5):
        learned = learn(never_starved(seed))
        assert learned.flow() == pytest.approx((2.0, 0.5), rel=0.05)
        assert learned.rate_tps([80.0], 80.0) == pytest.approx(20.0, rel=0.1)


def test_beside_the_line_that_was_seen_the_band_is_wide_and_covers_the_truth() -> None:
    covered = []
    for seed in range(8):
        learned = learn(never_starved(seed))
        points = np.random.default_rng(seed).uniform(learned.lowest, learned.highest, (400, 2))
        true = np.minimum(0.5 * points[:, 0], points[:, 1] / 4)
        low, high = learned.band(points, 0.9)
        covered.append(float(((low <= true) & (true <= high)).mean()))
        assert learned.uncertainty() > 0.2
        beside, on = learned.band(np.array([[90.0, 90.0], [90.0, 180.0]]))
        assert on[1] - beside[1] < (on[0] - beside[0]) / 3
    assert np.mean(covered) >= 0.9


def test_a_rate_that_bends_where_nothing_was_seen_is_covered_too() -> None:
    """The same line is shown by a PE that, once starved, falls to half of what its price says."""
    learned = learn(never_starved(3))
    points = np.random.default_rng(3).uniform(learned.lowest, learned.highest, (400, 2))
    starved = points[:, 1] < 0.9 * 2.0 * points[:, 0]
    true = np.minimum(0.5 * points[:, 0], points[:, 1] / 4)[starved]
    low, high = learned.band(points[starved], 0.9)
    assert ((low <= true) & (true <= high)).mean() >= 0.9
    assert (high > 1.5 * true).mean() > 0.2


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_a_few_samples_of_several_inputs_that_never_starve_make_nobody_sure(noise: float) -> None:
    covered = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        inputs = rng.uniform(10, 100, (20, 2))
        mips, rates = (f * inputs.sum(axis=1) * (1 + noise * rng.standard_normal(20)) for f in (2.0, 0.5))
        learned = learn([sample(np.array([*r, g]), y) for r, g, y in zip(inputs, mips, rates, strict=True)])
        assert learned.uncertainty() > 0.1
        points = rng.uniform(learned.lowest, learned.highest, (400, 3))
        starved = points[points[:, 2] < 0.8 * 2.0 * points[:, :2].sum(axis=1)]
        # What the samples cannot tell from a flow: a PE that needs fewer mips than it takes.
        offered, low, high = 0.5 * starved[:, :2].sum(axis=1), *learned.band(starved, 0.9)
        for true in (offered, np.minimum(offered, starved[:, 2] / 4)):
            covered.append(float(((low <= true) & (true <= high)).mean()))
    assert np.mean(covered) >= 0.9


def test_a_profile_speaks_until_there_are_samples_and_is_unsure() -> None:
    prior = Prior(mips_per_tps=2.0, selectivity=0.5, most_tps=100.0)
    learner = ResourceFunctionLearner(prior=prior)
    first = learner.learned()
    assert first.rate_tps([80.0], 80.0) == pytest.approx(20.0, rel=0.05)
    assert (first.samples, first.uncertainty() > 0.3) == (0, True)
    for seen in never_starved(1, cost=4.0, count=200):
        learner.observe(seen)
    later = learner.learned()
    assert later.flow() == pytest.approx((4.0, 0.5), rel=0.05)


def test_what_is_learned_is_what_macroq_composes() -> None:
    for name, (inputs, _) in KNOWN.items():
        learned = learn(draw(name, 1))
        streams = [f"s{i}" for i in range(inputs)]
        rate = learned.rate_function(streams)
        for point in np.random.default_rng(2).uniform(learned.lowest, learned.highest, (50, inputs + 1)):
            given = dict(zip(streams, point[:-1].tolist(), strict=True))
            composed = rate_of(rate, float(sum(given.values())), float(point[-1]), given)
            assert composed == pytest.approx(learned.rate_tps(point[:-1], point[-1]), rel=0.06, abs=1e-6)


def test_a_learned_join_is_admitted_with_what_both_of_its_inputs_need() -> None:
    learned = learn(draw("join", 1))
    feeds = [
        Pe(
            id=p,
            max_mips=100.0,
            offered_tps=90.0,
            outputs=(Output(stream=s, rate=Flow(mips_per_tps=0.2, selectivity=1.0)),),
        )
        for p, s in (("left", "a"), ("right", "b"))
    ]
    out = Output(stream="c", rate=learned.rate_function(["a", "b"]), value=Linear(slope=1.0))
    join = Pe(id="join", max_mips=100.0, inputs=("a", "b"), outputs=(out,))
    job = Job(id="J", templates=(Template(id="t", pes=(*feeds, join)),))
    answer = solve(Problem(mips=100.0, jobs=(job,)), deadline=Deadline.after(10.0))
    pes = answer.jobs["J"].pes
    assert min(pes["left"], pes["right"]) > 5.0
    # With 14 mips for each input and the rest for the join, 72 x 72 / 80 tuples meet, and 72 mips allow 60.
    assert answer.importance > 50.0


def drawn(seed: int, count: int = 60, inputs: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    points = rng.uniform(1.0, 100.0, (count, inputs + 1))
    rates = np.minimum(0.5 * points[:, :-1].sum(axis=1), points[:, -1] / 4)
    return points, rates * (1.0 + 0.1 * rng.uniform(-1.0, 1.0, count))


def samples_of(points: np.ndarray, rates: np.ndarray) -> list[Sample]:
    return [
        Sample(input_tps=tuple(point[:-1]), mips=point[-1], output_tps=rate)
        for point, rate in zip(points.tolist(), rates.tolist(), strict=True)
    ]


@given(st.integers(0, 10**6), st.integers(-12, 12), st.integers(-12, 12), st.integers(-12, 12))
@settings(max_examples=8, deadline=None)
def test_what_is_learned_does_not_depend_on_units(seed: int, inputs: int, mips: int, rates: int) -> None:
    points, seen = drawn(seed)
    sizes, size = np.array([10.0**inputs, 10.0**mips]), 10.0**rates
    here, there = learn(samples_of(points, seen)), learn(samples_of(points * sizes, seen * size))
    asked = drawn(seed + 1)[0]
    assert there.family == here.family
    assert there.rates_tps(asked * sizes) == pytest.approx(here.rates_tps(asked) * size, rel=1e-6)
    for own, other in zip(here.band(asked), there.band(asked * sizes), strict=True):
        assert other == pytest.approx(own * size, rel=1e-4, abs=1e-6 * size)


def test_samples_of_one_point_do_not_vouch_for_each_other() -> None:
    points, _ = drawn(3, count=14)
    rates = np.minimum(0.5 * points[:, 0], points[:, 1] / 4)
    learned = learn(samples_of(np.repeat(points, 15, axis=0), np.repeat(rates, 15)))
    assert learned.family == "flow"
    asked = drawn(4)[0]
    assert learned.rates_tps(asked) == pytest.approx(np.minimum(0.5 * asked[:, 0], asked[:, 1] / 4), rel=1e-6)


@pytest.mark.parametrize(
    "factors",
    [(0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (1.0, 1.0, 0.0)],
    ids=["no input", "no mips", "nothing", "no output"],
)
def test_a_pe_that_stood_still_is_learned_as_such(factors: tuple[float, float, float]) -> None:
    points, rates = drawn(5)
    learned = learn(samples_of(points * factors[:2], rates * factors[2]))
    assert learned.rates_tps(points * factors[:2]) == pytest.approx(np.zeros(len(points)))
    assert np.isfinite(learned.uncertainty())


@given(st.integers(0, 10**6), st.sampled_from(["input", "mips", "both"]))
@settings(max_examples=10, deadline=None)
def test_constant_figures_give_finite_monotone_functions(seed: int, which: str) -> None:
    points, rates = drawn(seed)
    for column, name in enumerate(("input", "mips")):
        if which in (name, "both"):
            points[:, column] = points[0, column]
    learned = learn(samples_of(points, rates))
    low = drawn(seed + 1)[0]
    at_low, at_high = learned.rates_tps(low), learned.rates_tps(low * 1.5)
    assert np.isfinite(at_high).all()
    assert (at_high >= at_low * (1 - 1e-9)).all()


def test_ten_thousand_samples_are_learned_from_in_moments() -> None:
    points, rates = drawn(6, count=10_000)
    began = time.process_time()
    learned = learn(samples_of(points, rates))
    assert time.process_time() - began < 10.0
    assert learned.samples == 10_000
    asked = drawn(7)[0]
    true = np.minimum(0.5 * asked[:, 0], asked[:, 1] / 4)
    assert learned.rates_tps(asked) == pytest.approx(true, rel=0.05)
