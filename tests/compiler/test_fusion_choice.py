"""Which fusion a run gets, where that takes no Spark."""

from __future__ import annotations

import json

import pytest
from optimizer_settings import BRANCHES, branches, setting

from penstock.base.diagnostics import UserError
from penstock.compiler import Options
from penstock.compiler.fusion_choice import fuse_by_costs
from penstock.compiler.pipeline import run_stages
from penstock.compiler.short_profile import is_harmless
from penstock.compiler.without_costs import fuse_without_costs as without_costs
from penstock.lang import compile_text
from penstock.optimizer import PlanFile, fingerprint, inner_operators, write_plan
from penstock.optimizer.kept_profiles import is_good, keep_profile, kept_profile, profile_path

INNER = ("Light", "Left", "Right", "LeftMore", "RightMore", "Both")


def chosen(option: str = "all", **more):
    return run_stages(compile_text(BRANCHES), Options(fusion=option, **more), until="choose fusion").choice


def inner(choice) -> set[frozenset[str]]:
    known = set(INNER)
    return {frozenset(known.intersection(group)) for group in choice.fusion if known.intersection(group)}


def test_all_is_one_pe_and_none_one_for_each_operator():
    assert inner(chosen("all")) == {frozenset(INNER)}
    assert inner(chosen("none")) == {frozenset({id_}) for id_ in INNER}


def test_a_plan_goes_before_the_option_and_the_channels_of_the_user_before_those_of_the_plan(tmp_path):
    application, path = branches(), tmp_path / "plan.json"
    fusion = (INNER[:2], INNER[2:])
    write_plan(PlanFile(application="Main", fingerprint=fingerprint(application), fusion=fusion, channels=3), path)
    choice = chosen("none", plan=path)
    assert choice.fusion == fusion
    assert choice.channels == 3
    assert chosen("none", plan=path, channels=2).channels == 2


def test_a_plan_of_another_program_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    write_plan(PlanFile(application="Main", fingerprint="other", fusion=(INNER,)), path)
    with pytest.raises(UserError, match="has changed since the plan was made"):
        chosen(plan=path)


def test_automatic_fusion_keeps_the_pes_of_the_checkpoint_that_it_resumes(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps({"pes": [["In"], ["Light", "Left"], ["Right"]]}))
    choice = chosen("auto", checkpoint=tmp_path)
    assert choice.fusion == (("In",), ("Light", "Left"), ("Right",))
    assert choice.sampling is not None


def test_demands_on_pes_hold_without_a_profile_too():
    text = BRANCHES.replace("param filter: a > 0;", "param filter: a > 0; config placement: partitionIsolation;")
    application = compile_text(text).application
    assert ("Left",) in without_costs(application, "all", 1)
    assert sorted(map(len, without_costs(application, "manual", 1))) == [1] * len(INNER)


@pytest.mark.parametrize("algorithm", ["greedy", "cola", "advanced-cola", "exact", "throughput"])
def test_every_algorithm_chooses_by_a_profile(algorithm):
    application = branches()
    groups = fuse_by_costs(application, setting(application).profile, 1, Options(fusion=algorithm, cores=2))
    assert sorted(id_ for group in groups for id_ in group) == sorted(inner_operators(application))


def test_the_last_good_profile_is_kept_by_the_graph(tmp_path):
    application = branches()
    profile = setting(application).profile
    assert kept_profile(application, tmp_path) is None
    keep_profile(profile, application, tmp_path)
    assert kept_profile(application, tmp_path) == profile
    other = compile_text(BRANCHES.replace("b + 1.0", "b + 2.0")).application
    assert kept_profile(other, tmp_path) is None


def test_a_profile_that_saw_nothing_replaces_no_good_one(tmp_path):
    application = branches()
    profile = setting(application).profile
    nothing = setting(application, dict.fromkeys([o.id for o in application.operators], 0.0)).profile
    assert not is_good(nothing)
    keep_profile(profile, application, tmp_path)
    keep_profile(nothing, application, tmp_path)
    assert kept_profile(application, tmp_path) == profile


def test_a_damaged_profile_counts_as_none(tmp_path):
    application = branches()
    keep_profile(setting(application).profile, application, tmp_path)
    profile_path(application, tmp_path).write_text("{")
    assert kept_profile(application, tmp_path) is None


@pytest.mark.parametrize(
    ("sink", "harmless"),
    [
        ('FileSink(In) { param file: "out"; }', True),
        ('FileSink(In) { param file: "/tmp/out"; }', False),
        ('FileSink(In) { param file: "../out"; }', False),
        ("Custom(In) { logic onTuple In: printStringLn((rstring) a); }", False),
    ],
)
def test_only_what_touches_nothing_outside_is_run_for_a_profile(sink, harmless):
    text = f"composite Main {{ graph stream<int32 a> In = Beacon() {{}} () as Out = {sink} }}"
    assert is_harmless(compile_text(text).application) is harmless
