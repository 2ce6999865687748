"""`--fusion auto`: what a run gets that the user has said nothing about, and the line that says why; without Spark."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from optimizer_settings import BRANCHES, setting

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import physical_plan
from penstock.compiler import Choice, Options
from penstock.compiler.auto_choice import choose_automatically, name_shape
from penstock.compiler.job import Draft
from penstock.compiler.pipeline import run_stages
from penstock.compiler.resuming import resumed_plan
from penstock.ir import codec
from penstock.ir.codec import to_json
from penstock.lang import compile_text
from penstock.model import Profile, write_profile
from penstock.optimizer import inner_operators, machine, plan_choice
from penstock.optimizer.kept_profiles import keep_if_seen_more, keep_profile, kept_profile, profile_path
from penstock.optimizer.machine import TYPICAL
from penstock.optimizer.prediction import seen_tuples
from penstock.parallel import regions
from penstock.parallel.fusion_groups import fusion_groups
from penstock.spark.checkpoint.plan_record import claim

KEYED = """
composite Main {
  graph
    stream<int32 k, float64 x> In = Beacon() { param iterations: 10; }
    stream<float64 x> Level = Aggregate(In) { window In: sliding, count(9); output Level: x = Sum(x); }
    stream<In> Sums = Aggregate(In) {
      window In: sliding, count(3), partitioned; param partitionBy: k; output Sums: k = Any(k), x = Sum(x); }
    stream<In> Scaled = Functor(Sums) { output Scaled: x = x * 2.0; }
    stream<In> Last = Custom(Scaled) { logic onTuple Scaled: submit(Scaled, Last); }
    () as Levels = FileSink(Level) { param file: "levels"; }
    () as Out = FileSink(Last) { param file: "out"; }
}
"""
WIDE = KEYED.replace("stream<In> Sums", "@parallel(width = 3) stream<In> Sums")
PROGRAM = compile_text(KEYED)
INNER_ROLES = ("stateless", "stateful")
HEAVY = {"Sums": 40.0, "Scaled": 40.0}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(machine, "_speed", lambda: TYPICAL.mips)
    return tmp_path / "cache"


def profile(costs: dict[str, float], seconds: float = 1000.0) -> Profile:
    """1,000 tuples a second from the source."""
    return replace(setting(PROGRAM.application, costs).profile, seconds=seconds)


def chosen(cores: int = 4, program=PROGRAM, **more) -> tuple[Choice, str]:
    lines: list[str] = []
    choice = run_stages(program, Options(cores=cores, tell=lines.append, **more), until="choose fusion").choice
    (line,) = lines
    assert choice is not None
    return choice, line


def test_without_a_profile_it_is_what_is_safe_and_the_run_looks_for_the_next():
    choice, line = chosen()
    assert (len(choice.fusion), choice.channels, choice.decided_by) == (1, None, "default")
    assert line == "fusion: all in one PE: there is no profile of it yet"
    assert choice.sampling is not None


def test_annotations_hold_without_a_profile():
    program = compile_text(WIDE)
    choice, line = chosen(program=program)
    assert choice.channels is None
    between = [pe for pe in physical_plan(program.application, choice.fusion, None).pes if pe.role in INNER_ROLES]
    assert len(between) == 2
    assert line == "fusion: 2 PEs on 3 channels: there is no profile of it yet"


def test_with_a_profile_channels_are_chosen_with_the_fusion_and_told_in_one_line():
    keep_profile(profile(HEAVY), PROGRAM.application)
    choice, line = chosen()
    assert choice.channels == 4
    assert choice.decided_by == "profile"
    assert choice.predicted_gain is not None
    assert choice.predicted_gain > 1.5
    shape = name_shape(PROGRAM.application, choice.fusion, 4)
    gain = f"{choice.predicted_gain:.1f} times as fast as all in one PE"
    assert line == f"fusion: {shape}: by the profile of a moment ago {gain}"
    assert choice.sampling is None, "a profile that saw a whole batch needs no other"


def test_what_is_hardly_better_is_not_worth_leaving_the_default():
    keep_profile(profile({}), PROGRAM.application)
    choice, line = chosen(cores=1)
    assert (choice.channels, choice.predicted_gain) == (None, 1.0)
    assert line == "fusion: all in one PE: by the profile of a moment ago nothing is 1.1 times as fast"


def test_a_job_of_few_tuples_is_not_planned_for_full_batches():
    keep_profile(profile(HEAVY, seconds=0.4), PROGRAM.application)
    choice, _ = chosen()
    assert (choice.channels, len(choice.fusion)) == (None, 1)
    assert choice.sampling is not None, "more may come the next time"


def test_no_plan_has_more_workers_than_cores_have_room_for(monkeypatch):
    text = KEYED.replace("() as Out = FileSink(Last)", "{more} () as Out = FileSink(L39)")
    steps = "stream<In> L0 = Functor(Last) {{ }}" + "".join(
        f"""stream<In> L{i} = Aggregate(L{i - 1}) {{ window L{i - 1}: sliding, count(3){", partitioned" * (i % 2)};
              {"param partitionBy: k;" * (i % 2)} output L{i}: k = Any(k), x = Sum(x); }}\n"""
        for i in range(1, 40)
    )
    program = compile_text(text.replace("{more}", steps.replace("{{ }}", "{ }")))
    heavy = setting(program.application, {f"L{i}": 40.0 for i in range(1, 40, 2)}).profile
    keep_profile(replace(heavy, seconds=1000.0), program.application)
    choice, _ = chosen(cores=2, program=program)
    assert sum(pe.channels for pe in physical_plan(program.application, choice.fusion, choice.channels).pes) <= 16
    monkeypatch.setattr(plan_choice, "_WORKERS_PER_CORE", 1000)
    assert chosen(cores=2, program=program)[0].channels == 2, "or else it would be many"


def test_what_does_not_change_is_found_out_once(monkeypatch):
    asked = []
    monkeypatch.setattr(regions, "fusion_groups", lambda app: asked.append("regions") or fusion_groups(app))
    monkeypatch.setattr(codec, "to_json", lambda app: asked.append("fingerprint") or to_json(app))
    program = compile_text(KEYED.replace("Scaled", "Raised"))
    keep_profile(setting(program.application, HEAVY).profile, program.application)
    chosen(program=program)
    assert sorted(asked) == ["fingerprint", "regions"], "each takes a good part of the time that planning has"


def test_a_number_that_is_given_is_kept():
    keep_profile(profile(HEAVY), PROGRAM.application)
    assert chosen(channels=2)[0].channels == 2
    assert chosen(channels=1)[0].channels == 1


def test_a_file_goes_before_the_last_profile(tmp_path):
    keep_profile(profile({}), PROGRAM.application)
    write_profile(profile(HEAVY), tmp_path / "given.json")
    choice, line = chosen(profile=tmp_path / "given.json")
    assert choice.channels == 4
    assert f"by the profile in {tmp_path / 'given.json'} " in line
    with pytest.raises(UserError, match="is a profile of another graph"):
        chosen(program=compile_text(BRANCHES), profile=tmp_path / "given.json")


def test_a_profile_that_saw_nothing_leaves_the_default(tmp_path):
    seen = profile(HEAVY)
    still = replace(
        seen,
        operators=tuple(replace(o, rate_tps=0.0) for o in seen.operators),
        streams=tuple(replace(s, rate_tps=0.0) for s in seen.streams),
    )
    for nothing in (still, profile(HEAVY, seconds=0.001)):
        write_profile(nothing, tmp_path / "nothing.json")
        assert chosen(profile=tmp_path / "nothing.json")[0].channels is None


def test_a_kept_profile_of_other_operators_counts_as_none():
    keep_profile(profile(HEAVY), PROGRAM.application)
    other = compile_text(BRANCHES)
    path = profile_path(other.application)
    path.write_bytes(profile_path(PROGRAM.application).read_bytes())
    assert chosen(program=other)[0].decided_by == "default"


def test_a_loop_through_batches_is_fused_as_its_gain_was_predicted():
    keep_profile(profile(HEAVY), PROGRAM.application)
    lines: list[str] = []
    opened = Draft(program=PROGRAM, options=Options(tell=lines.append), opened=replace(PROGRAM), channels=4)
    choice, (line,) = choose_automatically(opened), lines
    assert (choice.channels, len(choice.fusion)) == (4, 1)
    assert line == "fusion: as few PEs as can be on 4 channels: its loop leads through batches"


def test_less_does_not_replace_more(tmp_path):
    application, large, small = PROGRAM.application, profile(HEAVY, 100.0), profile({}, 1.0)
    assert (seen_tuples(large), seen_tuples(small)) == (100_000, 1_000)
    keep_if_seen_more(small, application)
    keep_if_seen_more(large, application)
    keep_if_seen_more(small, application)
    assert kept_profile(application) == large


@pytest.mark.parametrize("text", [KEYED, WIDE, BRANCHES])
def test_whatever_plan_a_checkpoint_has_is_resumed_whatever_a_profile_says(text, tmp_path):
    program, pick = compile_text(text), random.Random(1)
    application = program.application
    keep_profile(replace(setting(application, dict.fromkeys(inner_operators(application), 40.0)).profile), application)
    for number, width in enumerate((None, 1, 2, 3, 5) * 4):
        groups = [inner_operators(application)]
        if number % 2:
            groups = _cut(groups[0], pick)
        folder = tmp_path / str(number)
        assert not claim(folder, physical_plan(application, groups, width))
        choice, line = chosen(program=program, checkpoint=folder)
        assert claim(folder, physical_plan(application, choice.fusion, choose_channels(application, choice.channels)))
        assert line.endswith(": as the checkpoint has it")
        assert choice.decided_by == "checkpoint"


def _cut(ids: list[str], pick: random.Random) -> list[list[str]]:
    """Operators in order of declaration, which is one of the streams, cut somewhere: no PE comes back to another."""
    places = sorted(pick.sample(range(1, len(ids)), 2))
    return [ids[a:b] for a, b in zip([0, *places], [*places, len(ids)], strict=True)]


def test_a_part_of_the_plan_is_enough_to_know_its_channels(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({"pes": [["In"], ["Sums"]], "channels": [1, 7]}))
    assert resumed_plan(PROGRAM.application, tmp_path) == ((("In",), ("Sums",)), 7)


def test_channels_that_the_user_gives_go_before_those_of_the_checkpoint(tmp_path):
    claim(tmp_path, physical_plan(PROGRAM.application, [inner_operators(PROGRAM.application)], 2))
    assert chosen(checkpoint=tmp_path)[0].channels == 2
    assert chosen(checkpoint=tmp_path, channels=3)[0].channels == 3
