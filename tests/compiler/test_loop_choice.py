"""`--loops`: a loop leads through batches where the model sees a gain, or where the user says so."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from optimizer_settings import TRANSFER, setting

from penstock.base.diagnostics import UserError
from penstock.compiler import Options, loop_choice
from penstock.compiler.pipeline import run_stages
from penstock.compiler.without_costs import fuse_without_costs as without_costs
from penstock.lang import compile_text
from penstock.model import StreamProfile
from penstock.optimizer.open_loop_gain import open_loop_gain

TEXT = """
composite Main {
  graph
    stream<int32 a> In = Beacon() { param iterations: 10; }
    stream<int32 a> Tasks = Custom(In, Again as T) { logic onTuple T: for (int32 i in range(4)) submit(T, Tasks); }
    stream<int32 a> Work = Functor(Tasks) { output Work: a = a + 1; }
    stream<int32 a> Again = Custom(Work as T) {
      logic state: { mutable int32 seen = 0; }
            onTuple T: { seen++; if (seen % 8 == 0) submit(T, Again); }
    }
    () as Out = FileSink(Again) { param file: "out"; }
}
"""
PROGRAM = compile_text(TEXT)
APPLICATION = PROGRAM.application
OTHER = compile_text(TEXT.replace("In, Again as T", "In as T"))
STRAIGHT = OTHER.application


def rounds(work_seconds: float, channels: int = 2):
    """One item a second, which goes round once; the work of a second is shared by the tasks of both rounds."""
    made = setting(APPLICATION, {o.id: 0.0 for o in APPLICATION.operators}, channels=channels)
    rates = {"In": 1.0, "Tasks": 2.0, "Work": 8.0, "Again": 8.0}
    operators = tuple(
        replace(o, rate_tps=rates.get(o.id, 1.0), cpu_seconds=work_seconds / 8 if o.id == "Work" else 0.0)
        for o in made.profile.operators
    )

    def stream(s: StreamProfile) -> StreamProfile:
        return replace(s, rate_tps=1.0, feedback=frozenset({"Tasks"} if s.id == "Again" else ()))

    profile = replace(made.profile, operators=operators, streams=tuple(map(stream, made.profile.streams)))
    return replace(made, profile=profile)


def test_heavy_rounds_gain_what_channels_gain_and_light_ones_lose():
    # Two batches: one stage with state behind the region, which is one itself.
    batch = TRANSFER.batch_seconds + 2 * TRANSFER.stage_seconds
    assert open_loop_gain(rounds(100.0)) == pytest.approx(100 / (50 + 2 * batch), rel=1e-3)
    assert open_loop_gain(rounds(0.1)) < 0.5


def test_a_round_of_one_tuple_has_work_for_one_channel():
    alone = rounds(100.0)
    slower = tuple(replace(o, rate_tps=2.0, cpu_seconds=o.cpu_seconds * 4) for o in alone.profile.operators)
    assert open_loop_gain(replace(alone, profile=replace(alone.profile, operators=slower))) < 1.0


def test_without_channels_nothing_is_gained():
    assert open_loop_gain(rounds(100.0, channels=1)) == 0.0


def way(option: str, program=PROGRAM, **more: object) -> tuple[bool, int | None]:
    """Whether the loop leads through batches, and on how many channels."""
    draft = run_stages(program, Options(loops=option, **{"channels": 2, "cores": 4} | more), until="choose channels")
    return draft.loop_is_open, draft.channels


def test_the_user_has_the_last_word():
    assert way("inside") == (False, 2)
    assert way("batches") == (True, 2)
    assert way("batches", channels=None) == (True, 4)
    assert way("batches", channels=None, fusion="all") == (True, None)
    assert way("batches", channels="auto", fusion="all") == (True, 4)


def test_by_itself_it_asks_the_last_profile(monkeypatch):
    monkeypatch.setattr(loop_choice, "_gain", lambda *_: 1.0)
    assert way("auto") == (False, 2)
    said: list[str] = []
    monkeypatch.setattr(loop_choice, "_gain", lambda *_: 1.7)
    assert way("auto", channels=None, tell=said.append) == (True, 4)
    assert said == ["the loop leads through batches, 1.7 times as fast by the last profile"]
    assert way("auto", continuous=True) == (False, 2)
    assert way("auto", OTHER) == (False, 2)


def test_pes_that_are_given_keep_the_loop_inside(monkeypatch):
    monkeypatch.setattr(loop_choice, "_gain", lambda *_: 1.7)
    assert way("auto", pes=[[o.id for o in APPLICATION.operators]]) == (False, 2)


def test_a_resumed_job_goes_on_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_choice, "_gain", lambda *_: 0.0)
    for is_open in (True, False):
        (tmp_path / "plan.json").write_text(json.dumps({"open_loop": is_open}))
        assert way("auto", checkpoint=tmp_path)[0] is is_open
    assert way("batches", checkpoint=tmp_path, channels=None) == (True, None)


def test_batches_are_refused_where_there_is_no_loop_or_no_end():
    with pytest.raises(UserError, match="it has no loop"):
        way("batches", OTHER)
    with pytest.raises(UserError, match="goes on for ever"):
        way("batches", continuous=True)


def test_unfused_operators_of_a_loop_share_a_pe():
    assert without_costs(APPLICATION, "none", 1) == (("Tasks", "Work", "Again"),)
    assert without_costs(STRAIGHT, "none", 1) == (("Tasks",), ("Work",), ("Again",))
