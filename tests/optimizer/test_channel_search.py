"""The loop chooses the number of channels with the fusion; on the simulator, which plays plans by the true costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from optimizer_settings import setting, simulated

from penstock.base.diagnostics import Infeasible
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.lang import compile_text
from penstock.model import Profile, equal_hosts
from penstock.optimizer import (
    Candidate,
    Setting,
    channel_numbers,
    channel_search,
    everything_fused,
    inner_operators,
    optimize,
    ranked_on_channels,
)
from penstock.optimizer.loop_state import keep_runs, kept_runs

KEYED = """
composite Main {{
  graph
    stream<int32 k, float64 x> In = Beacon() {{ param iterations: 10; }}
    stream<float64 x> Level = Aggregate(In) {{ window In: sliding, count(9); output Level: x = Sum(x); }}
    {annotation} stream<In> Sums = Aggregate(In) {{
      window In: sliding, count(3), partitioned; param partitionBy: k; output Sums: k = Any(k), x = Sum(x); }}
    {annotation} stream<In> Scaled = Functor(Sums) {{ output Scaled: x = x * 2.0; }}
    () as Levels = FileSink(Level) {{ param file: "levels"; }}
    () as Out = FileSink(Scaled) {{ param file: "out"; }}
}}
"""


def keyed(heavy_us: float, cores: int = 4, annotation: str = "") -> Setting:
    application = compile_text(KEYED.format(annotation=annotation)).application
    costs = {"Sums": heavy_us, "Scaled": heavy_us}
    return setting(application, costs, hosts=equal_hosts(1, cores=cores, core_mips=1000.0), channels=None)


def found_by_the_loop(real: Setting, runs: list[Candidate], cores: int = 4):
    numbers = channel_numbers(real, cores)

    def choose(profile: Profile, gamma: float):
        return ranked_on_channels(replace(real, profile=profile), numbers, gamma=gamma, deadline_seconds=4.0)

    unfused = Candidate(groups=tuple((id_,) for id_ in inner_operators(real.application)))
    return optimize(
        unfused, simulated(real, runs), choose, iterations=3, whatever=everything_fused(real, numbers), confirmations=0
    )


@pytest.mark.parametrize(
    ("cores", "numbers"), [(1, (None,)), (2, (None, 2)), (4, (None, 2, 4)), (6, (None, 2, 4, 6)), (8, (None, 2, 4, 8))]
)
def test_powers_of_two_up_to_the_cores_and_all_cores_are_tried(cores, numbers):
    assert channel_numbers(keyed(1.0), cores) == numbers


def test_without_a_region_that_would_run_on_channels_there_is_one_number():
    text = """composite Main { graph
        stream<float64 x> In = Beacon() { param iterations: 10; }
        stream<In> Sums = Aggregate(In) { window In: sliding, count(3); output Sums: x = Sum(x); }
        () as Out = FileSink(Sums) { param file: "out"; } }"""
    given = setting(compile_text(text).application)
    assert channel_numbers(given, 8) == (None,)
    assert len(everything_fused(given, (None,))) == 1


def test_where_annotations_say_every_width_there_is_one_number_that_respects_them():
    given = keyed(1.0, annotation="@parallel(width=3)")
    assert channel_numbers(given, 8) == (None,)
    assert set(given.regions.width.values()) == {3}


def test_a_number_that_contradicts_the_demands_on_pes_is_not_tried():
    text = """composite Main { graph
        stream<float64 x> In = Beacon() { param iterations: 10; }
        stream<In> Before = Aggregate(In) { window In: sliding, count(3); output Before: x = Sum(x); }
        stream<In> Work = Functor(Before) { output Work: x = x * 2.0; }
        stream<In> After = Aggregate(Work) { window Work: sliding, count(3); output After: x = Sum(x); }
        () as Out = FileSink(After) { param file: "out"; } }"""
    free = setting(compile_text(text).application)
    together = Constraint(kind=ConstraintKind.PE_COLOCATION, operators=("Before", "After"))
    bound = replace(free, application=replace(free.application, constraints=(together,)))
    assert channel_numbers(free, 2) == (None, 2)
    assert channel_numbers(bound, 2) == (None,)
    with pytest.raises(Infeasible):
        everything_fused(bound, (2,))


def test_heavy_work_ends_on_many_channels_and_light_work_on_one():
    assert found_by_the_loop(keyed(400.0), []).best.candidate.channels == 4
    assert found_by_the_loop(keyed(0.1), []).best.candidate.channels is None


def test_the_unfused_run_is_on_one_channel_and_everything_fused_is_tried_on_one_and_on_all_cores():
    runs: list[Candidate] = []
    given = keyed(400.0)
    found_by_the_loop(given, runs)
    assert runs[0].channels is None
    alone = Candidate(groups=(("Level", "Sums", "Scaled"),))
    assert any(run.is_same(alone) for run in runs)
    wide = Candidate(groups=(("Level",), ("Sums", "Scaled")), channels=4)
    assert any(run.is_same(wide) for run in runs)


def test_no_fusion_is_tried_twice_on_the_same_channels():
    runs: list[Candidate] = []
    found_by_the_loop(keyed(100.0), runs)
    assert not any(run.is_same(other) for i, run in enumerate(runs) for other in runs[:i])


def test_of_what_is_as_good_the_fewest_pes_and_then_the_fewest_channels_come_first(monkeypatch):
    one, two = (("a", "b"),), (("a",), ("b",))
    answers = {None: [(two, 100.0)], 2: [(one, 99.5), (two, 98.0)], 4: [(one, 99.9)]}
    monkeypatch.setattr(channel_search, "ranked", lambda given, **rest: answers[given.channels])
    order = ranked_on_channels(keyed(1.0), (None, 2, 4), deadline_seconds=1.0)
    assert [(len(c.groups), c.channels) for c, _ in order] == [(1, 2), (1, 4), (2, None), (2, 2)]


def test_every_number_has_its_fusions_and_the_best_predicted_comes_first():
    predicted = ranked_on_channels(keyed(400.0), (None, 2, 4), deadline_seconds=4.0)
    assert {candidate.channels for candidate, _ in predicted} == {None, 2, 4}
    assert predicted[0][0].channels == 4
    assert predicted[0][1] >= 0.99 * max(tps for _, tps in predicted)


def test_kept_runs_know_their_channels(tmp_path):
    outcome = found_by_the_loop(keyed(400.0), [])
    keep_runs(tmp_path / "runs", "same", "auto", outcome.iterations)
    assert kept_runs(tmp_path / "runs", "same", "auto") == list(outcome.iterations)
    assert kept_runs(tmp_path / "runs", "same", 4) == []
    assert {run.candidate.channels for run in outcome.iterations} >= {None, 4}


def test_when_time_is_up_no_more_numbers_of_channels_are_tried():
    setting = keyed(5.0)
    numbers = channel_numbers(setting, 4)
    assert len(numbers) > 1
    found = ranked_on_channels(setting, numbers, deadline_seconds=0.0)
    assert {candidate.channels for candidate, _ in found} == {numbers[0]}
