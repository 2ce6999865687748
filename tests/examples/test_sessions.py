"""Sessions of users: the same from SPL and from Python, on one channel and on three, and nobody is lost."""

from __future__ import annotations

from collections import Counter

from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.testing import outputs, run
from plan_runner import run_plan


def test_every_user_who_is_reminded_or_leaves_has_clicked(example, examples):
    program = compile_file(examples / "sessions/sessions.spl")
    told = outputs(program, "Sessions")
    clicks = Counter(user for user, _ in outputs(program, "Seen"))
    pages = Counter()
    for user, what, count in told:
        pages[user] += count if what == "left" else 0
    assert {what for _, what, _ in told} == {"left", "reminded"}
    assert pages.total() > 200
    assert all(pages[user] <= clicks[user] for user in pages)
    assert outputs(example("sessions/sessions.py").app, "Sessions") == told


def test_sessions_on_channels_are_those_of_one(examples, tmp_path):
    program = compile_file(examples / "sessions/sessions.spl")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    run(program, environment=Environment(data_directory=whole, output_directory=whole))
    plan = physical_plan(program.application, [["Seen"], ["Sessions"], ["Sink"]], 3)
    assert plan.channels == 3
    run_plan(program, plan, Environment(data_directory=parts, output_directory=parts), turns_per_batch=50)
    assert (parts / "sessions.csv").read_bytes() == (whole / "sessions.csv").read_bytes()
