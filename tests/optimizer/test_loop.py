"""The loop: profile, fuse, profile again; on the simulator, which plays plans by the true costs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from optimizer_settings import branches, setting, simulated

from penstock.base.diagnostics import UserError
from penstock.model import Profile
from penstock.optimizer import (
    Candidate,
    Iteration,
    Outcome,
    inner_operators,
    optimize,
    predict,
    ranked,
    ranked_on_channels,
    throughput_model,
)
from penstock.optimizer.loop_state import VERSION, keep_runs, kept_runs, state_path

REAL = setting(branches(), {"Left": 30.0, "RightMore": 20.0})
UNFUSED = Candidate(groups=tuple((id_,) for id_ in inner_operators(REAL.application)), channels=1)


def choose(profile: Profile, gamma: float):
    return ranked_on_channels(replace(REAL, profile=profile), (1,), gamma=gamma, deadline_seconds=2.0)


def test_the_loop_starts_unfused_and_ends_with_what_the_model_holds_for_best():
    runs = []
    outcome = optimize(UNFUSED, simulated(REAL, runs), choose, iterations=6)
    assert runs[0] == UNFUSED
    model = throughput_model(REAL)
    best = predict(model, REAL, ranked(REAL)[0][0]).scale * sum(model.source_rates.values())
    assert outcome.best.throughput_tps == pytest.approx(best, rel=0.05)
    assert outcome.gain > 1.1


def test_no_fusion_is_tried_twice():
    runs = []
    optimize(UNFUSED, simulated(REAL, runs), choose, iterations=6, confirmations=0)
    as_sets = [frozenset(map(frozenset, candidate.groups)) for candidate in runs]
    assert len(as_sets) == len(set(as_sets))


def test_a_wrong_profile_costs_iterations_but_not_the_result():
    right, wrong = (optimize(UNFUSED, simulated(REAL, [], error=e), choose, iterations=6) for e in (1.0, 4.0))
    assert wrong.best.throughput_tps >= 0.9 * right.best.throughput_tps


def test_gamma_grows_from_one_half_to_one():
    seen = []

    def watch(profile, gamma):
        seen.append(gamma)
        return choose(profile, gamma)

    optimize(UNFUSED, simulated(REAL, []), watch, iterations=6)
    assert seen == [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def test_an_interrupted_loop_goes_on_where_it_stopped(tmp_path):
    path = state_path(tmp_path / "plan.json")
    whole = optimize(UNFUSED, simulated(REAL, []), choose, iterations=4)
    stopped = []

    def stop_after_two(runs, last):
        keep_runs(path, "same", 1, runs)
        stopped[:] = runs
        if len(runs) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimize(UNFUSED, simulated(REAL, []), choose, iterations=4, on_run=stop_after_two)
    again = []
    outcome = optimize(UNFUSED, simulated(REAL, again), choose, iterations=4, known=kept_runs(path, "same", 1))
    assert len(again) == sum(1 + len(r.confirmed_tps) for r in whole.iterations) - 2
    assert [r.candidate for r in outcome.iterations] == [r.candidate for r in whole.iterations]
    assert [r.throughput_tps for r in outcome.iterations] == [r.throughput_tps for r in whole.iterations]


def test_runs_of_another_application_or_with_other_channels_are_not_taken(tmp_path):
    path = tmp_path / "runs"
    runs = [iteration(0, 1.0)]
    keep_runs(path, "same", 1, runs)
    assert kept_runs(path, "same", 1) == runs
    assert kept_runs(path, "other", 1) == []
    assert kept_runs(path, "same", 2) == []
    assert kept_runs(path, "same", "auto") == []
    assert kept_runs(tmp_path / "none", "same", 1) == []


def test_damaged_runs_are_refused(tmp_path):
    path = tmp_path / "runs"
    path.write_text(json.dumps({"version": VERSION, "fingerprint": "same", "channels": 1, "runs": [{"number": 0}]}))
    with pytest.raises(UserError, match="delete the file"):
        kept_runs(path, "same", 1)


def measured_as(*tps: float):
    given = iter(tps)
    return lambda candidate: (Profile(mips=1.0), next(given))


def another_each_time(profile: Profile, gamma: float):
    return [(fused((f"fusion {gamma}",)), 1.0)]


def fused(*groups: tuple[str, ...], channels: int | None = None) -> Candidate:
    return Candidate(groups=groups, channels=channels)


def test_the_fastest_are_run_again_in_turns_and_their_medians_decide():
    order = []
    measure = measured_as(1.0, 9.0, 2.0, 10.0, 7.0, 9.0, 7.5, 9.1)
    outcome = optimize(
        fused(("a",)), measure, another_each_time, iterations=3, on_run=lambda runs, last: order.append(last.number)
    )
    assert order == [0, 1, 2, 3, 3, 1, 3, 1]
    assert outcome.iterations[3].confirmed_tps == (7.0, 7.5)
    assert (outcome.best.number, outcome.best.median_tps) == (1, 9.0)


def test_everything_fused_is_measured_whatever_is_predicted_for_it():
    together, apart = fused(("a", "b")), fused(("a",), ("b",))
    outcome = optimize(
        apart, measured_as(1.0, 2.0, 9.0), another_each_time, iterations=1, whatever=(together, apart), confirmations=0
    )
    assert outcome.best.candidate == together
    assert [run.candidate for run in outcome.iterations].count(apart) == 1


def test_a_fusion_without_rivals_is_not_run_again():
    outcome = optimize(fused(("a",)), measured_as(1.0, 9.0, 2.0), another_each_time, iterations=2)
    assert all(not run.confirmed_tps for run in outcome.iterations)


def test_a_loop_that_was_interrupted_while_it_confirmed_goes_on_there(tmp_path):
    path = tmp_path / "runs"
    runs = [iteration(0, 1.0), replace(iteration(1, 9.0), confirmed_tps=(8.0,)), iteration(2, 8.5)]
    keep_runs(path, "same", 1, runs)
    known = kept_runs(path, "same", 1)
    assert known == runs
    outcome = optimize(fused(), measured_as(8.6, 8.2, 8.7), lambda profile, gamma: [], iterations=1, known=known)
    assert [run.confirmed_tps for run in outcome.iterations] == [(), (8.0, 8.2), (8.6, 8.7)]


def test_it_can_end_at_the_first_local_maximum():
    outcome = optimize(fused(("a",)), measured_as(1.0, 5.0, 3.0, 9.0), another_each_time, take="first-local")
    assert [i.throughput_tps for i in outcome.iterations] == [1.0, 5.0, 3.0]
    assert outcome.first_maximum.number == outcome.best.number == 1


def iteration(number: int, tps: float) -> Iteration:
    return Iteration(
        number=number,
        gamma=0.5,
        candidate=fused((f"fusion {number}",)),
        predicted_tps=None,
        throughput_tps=tps,
        profile=REAL.profile,
    )


def test_a_throughput_that_never_falls_has_its_first_maximum_at_the_end():
    assert Outcome(iterations=(iteration(0, 1.0), iteration(1, 2.0))).first_maximum.number == 1
