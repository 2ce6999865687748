"""GreedyFuse and COLA iterated as the COLA paper does; on the simulator, which plays plans by the true costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from optimizer_settings import branches, setting, simulated

from penstock.model import Profile
from penstock.optimizer import Candidate, inner_operators
from penstock.optimizer.loop_state import keep_runs, kept_runs
from penstock.optimizer.paper_loop import fuse_by, gammas_of, iterate

REAL = setting(branches(), {"Left": 3.0, "RightMore": 2.0})
UNFUSED = Candidate(groups=tuple((id_,) for id_ in inner_operators(REAL.application)), channels=1)
NOTHING = REAL.profile


def scripted(*steps: tuple[str, float]):
    """An algorithm that names its fusions, and a measure that knows how fast each is."""
    names = iter([name for name, _ in steps])
    speed = dict(steps) | {"unfused": 1.0}
    measured: list[str] = []

    def measure(candidate: Candidate) -> tuple[Profile, float]:
        measured.append(candidate.groups[0][0])
        return NOTHING, speed[measured[-1]]

    def fuse(profile: Profile, gamma: float) -> tuple[Candidate, float]:
        return Candidate(groups=((next(names),),)), 0.0

    return measure, fuse, measured


START = Candidate(groups=(("unfused",),))
STEPS = (("a", 2.4), ("b", 3.4), ("c", 3.3), ("d", 3.5))


@pytest.mark.parametrize(("take", "number", "runs"), [("first", 1, 2), ("first-local", 2, 4), ("best", 4, 5)])
def test_the_columns_of_table_2(take, number, runs):
    measure, fuse, measured = scripted(*STEPS)
    outcome = iterate(START, measure, fuse, gammas_of("cola", 4), take=take)
    assert outcome.take(take).number == number
    assert len(measured) == runs


def test_every_iteration_has_its_gamma_and_the_profile_of_the_one_before():
    given = []

    def fuse(profile: Profile, gamma: float) -> tuple[Candidate, float]:
        given.append((profile.seconds, gamma))
        return Candidate(groups=((f"fusion {gamma}",),)), 0.0

    times = iter(range(9))
    iterate(START, lambda _: (replace(NOTHING, seconds=float(next(times))), 1.0), fuse, gammas_of("cola", 6))
    assert given == [(0, 0.5), (1, 0.6), (2, 0.7), (3, 0.8), (4, 0.9), (5, 1.0)]


def test_a_fusion_that_was_measured_is_an_iteration_but_no_run():
    measure, fuse, measured = scripted(("a", 2.0), ("b", 3.0), ("a", 2.0), ("c", 4.0))
    outcome = iterate(START, measure, fuse, gammas_of("cola", 4))
    assert measured == ["unfused", "a", "b", "c"]
    assert [run.throughput_tps for run in outcome.iterations] == [1.0, 2.0, 3.0, 2.0, 4.0]
    assert (outcome.first_maximum.number, outcome.best.number) == (2, 4)


def test_what_repeats_itself_without_gamma_ends():
    measure, fuse, _ = scripted(("a", 2.0), ("a", 2.0), ("b", 9.0))
    assert len(iterate(START, measure, fuse, gammas_of("greedy", 6)).iterations) == 3
    measure, fuse, _ = scripted(("a", 2.0), ("a", 2.0), ("b", 9.0))
    assert iterate(START, measure, fuse, gammas_of("cola", 3)).best.throughput_tps == 9.0


def test_the_same_fusion_does_not_contend_with_itself():
    measure, fuse, measured = scripted(("a", 2.0), ("a", 2.0), ("a", 2.0))
    iterate(START, measure, fuse, gammas_of("cola", 3), confirmations=2)
    assert measured == ["unfused", "a"]


def test_an_interrupted_loop_goes_on_and_not_with_runs_of_another_algorithm(tmp_path):
    path = tmp_path / "runs"
    measure, fuse, _ = scripted(*STEPS)

    def stop_after_three(runs, last):
        keep_runs(path, "same", 1, runs, by="cola")
        if len(runs) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        iterate(START, measure, fuse, gammas_of("cola", 4), on_run=stop_after_three)
    assert kept_runs(path, "same", 1) == []
    assert kept_runs(path, "same", 1, by="greedy") == []
    known = kept_runs(path, "same", 1, by="cola")
    measure, fuse, measured = scripted(*STEPS[2:])
    outcome = iterate(START, measure, fuse, gammas_of("cola", 4), known=known)
    assert measured == ["c", "d"]
    assert [run.gamma for run in outcome.iterations] == [0.0, *gammas_of("cola", 4)]


@pytest.mark.parametrize("algorithm", ["greedy", "cola", "advanced-cola"])
def test_on_real_problems_each_beats_the_unfused_run(algorithm):
    runs: list[Candidate] = []
    fuse = fuse_by(algorithm, replace(REAL, channels=1), deadline_seconds=1.0)
    outcome = iterate(UNFUSED, simulated(REAL, runs), fuse, gammas_of(algorithm, 4))
    inner = sorted(inner_operators(REAL.application))
    assert runs[0] == UNFUSED
    assert all(sorted(id_ for group in run.groups for id_ in group) == inner for run in runs)
    assert outcome.gain > 1.1
    assert outcome.best.predicted_tps == pytest.approx(outcome.best.throughput_tps, rel=0.2)
