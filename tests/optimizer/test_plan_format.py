"""Plan files: written, read, and refused where they do not fit."""

from __future__ import annotations

import json

import pytest
from optimizer_settings import branches

from penstock.base.diagnostics import UserError
from penstock.optimizer import PlanFile, fingerprint, read_plan, write_plan

FUSION = (("Light", "Left"), ("Right", "RightMore"), ("LeftMore", "Both"))


def plan(**more) -> PlanFile:
    application = branches()
    given = {"application": "Main", "fingerprint": fingerprint(application), "fusion": FUSION, **more}
    return PlanFile(**given)


def test_a_plan_is_read_as_it_was_written(tmp_path):
    whole = plan(channels=4, hosts=("h1",), predicted_tps=9.5, bottleneck="PE 2", measured_tps=9.0, unfused_tps=2.0)
    for written in (plan(), whole):
        write_plan(written, tmp_path / "folder" / "plan.json")
        assert read_plan(tmp_path / "folder" / "plan.json") == written


def test_a_plan_fits_the_application_that_it_was_made_for():
    plan().check(branches())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"application": "Other"}, "the plan is for the application `Other`, this is `Main`"),
        ({"fingerprint": "0"}, "has changed since the plan was made"),
        ({"fusion": (*FUSION, ("Lift",))}, "fuses `Lift`, which the application does not have; did you mean `Left`"),
        ({"fusion": FUSION[1:]}, "operator `Light` is in no PE of the plan"),
        ({"fusion": (*FUSION, ("Both",))}, "operator `Both` is in 2 PEs of the plan"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(change, message):
    with pytest.raises(UserError, match=message):
        plan(**change).check(branches(), "plan.json")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "the plan is not an object"),
        ({"version": 2}, "has version 2"),
        ({"version": 1}, "has no `fingerprint`"),
        ({"version": 1, "application": "A", "fingerprint": "f", "fusion": [[]]}, "PE 0 of `fusion` is"),
        ({"version": 1, "application": "A", "fingerprint": "f", "fusion": [[3]]}, "PE 0 of `fusion` is"),
        ({"version": 1, "application": "A", "fingerprint": "f", "fusion": [], "channels": 0}, "`channels`"),
        ({"version": 1, "application": "A", "fingerprint": "f", "fusion": [], "chanels": 2}, "did you mean `channels`"),
        (
            {"version": 1, "application": "A", "fingerprint": "f", "fusion": [], "predicted": {"x": 1}},
            "unknown key `x`",
        ),
    ],
)
def test_what_is_no_plan_is_refused_with_what_is_wrong(tmp_path, value, message):
    (tmp_path / "plan.json").write_text(json.dumps(value))
    with pytest.raises(UserError, match=message):
        read_plan(tmp_path / "plan.json")
