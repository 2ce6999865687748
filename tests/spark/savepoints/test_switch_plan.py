"""A job on Spark that goes on with other fusions, channels and batches, from its checkpoint and from savepoints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from savepoints.changing_job import app, write_input

from compiling import compile_fused
from penstock import App, agg, col, count, source, tumbling
from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from penstock.runtime.savepoints.inside import describe_state, export_state, inside_of
from penstock.runtime.savepoints.savepoint_files import read_savepoint
from penstock.spark.checkpoint.lock import lock_checkpoint
from penstock.spark.checkpoint.plan_record import claim
from penstock.spark.job.run import SparkRun, run_on_spark
from penstock.spark.savepoints import switch_plan as switching
from penstock.spark.savepoints.apply_savepoint import Target
from penstock.spark.savepoints.stopped_jobs import look_into_job, rescale_job, save_job
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.toolkit.core.program import Program
from spark_session import environment, everything_fused, files, nothing_fused, run_reference, session

pytestmark = pytest.mark.xdist_group("spark")
FOR_EVER = 10**9


class Running:
    """A program with its folders, run for some batches at a time."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.data, self.out, self.checkpoint = folder / "data", folder / "out", folder / "c"
        self.told: list[str] = []
        write_input(self.data)
        self.out.mkdir()
        self.wanted = run_reference(program, self.data)

    def run(
        self,
        batches: int = FOR_EVER,
        *,
        channels: int = 1,
        fusion: Callable = everything_fused,
        size: int = 40,
        **options,
    ) -> SparkRun:
        seen: list[object] = []
        where = environment(self.data, self.out)
        pes = fusion(self.program.application)
        checkpoint = options.pop("checkpoint", self.checkpoint)
        job = compile_fused(self.program, pes, channels=channels, environment=where, batch=size, checkpoint=checkpoint)
        return run_on_spark(
            job,
            session(),
            checkpoint=checkpoint,
            on_progress=seen.append,
            notice=self.told.append,
            stops=lambda: int(len(seen) >= batches),
            **options,
        )

    def assert_complete(self) -> None:
        assert files(self.out) == self.wanted


@pytest.fixture
def running(tmp_path):
    return Running(app.program(), tmp_path)


def fail_once_at(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    """Let the driver fail when the sinks have written a batch, and before that is noted anywhere."""
    store = SinkPE._store
    failed: list[int] = []

    def fail(self: SinkPE, number: int) -> None:
        if number == batch and not failed:
            failed.append(number)
            raise KeyError("the power has gone")
        store(self, number)

    monkeypatch.setattr(SinkPE, "_store", fail)


def test_fusion_channels_and_batches_change_while_a_job_is_stopped_and_after_it_was_killed(running, monkeypatch):
    running.run(2, size=30)
    assert running.run(2, channels=3, fusion=nothing_fused, size=50).resumed
    assert running.told[-1].startswith("going on from batch ")
    record = json.loads((running.checkpoint / "plan.json").read_text())
    fail_once_at(monkeypatch, record["first_batch"] + 4)
    with pytest.raises(Exception, match="the power has gone"):
        running.run(channels=3, fusion=nothing_fused, size=20)
    # What was begun is finished in batches of the old size, by the old plan.
    running.run(1, channels=2, size=70)
    assert running.run(channels=1, fusion=nothing_fused, size=1000).stopped == "done"
    running.assert_complete()
    numbers = sorted(int(path.stem) for path in (running.checkpoint / "sinks").glob("*.state"))
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_a_change_that_was_killed_in_the_middle_begins_again(running, monkeypatch):
    running.run(2)
    with monkeypatch.context() as patched:
        patched.setattr("penstock.spark.savepoints.apply_savepoint.dump", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            running.run(channels=3)
    assert "switching" in json.loads((running.checkpoint / "plan.json").read_text())
    running.run(1, channels=2, fusion=nothing_fused)
    assert not (running.checkpoint / switching.OWN).exists()
    running.run(channels=2, fusion=nothing_fused)
    running.assert_complete()


@source
def numbers():
    yield from ((i % 4, i) for i in range(200))


def test_rows_that_were_read_ahead_are_processed_before_the_plan_changes(tmp_path, monkeypatch):
    rows = App("Rows").source(numbers, "int32 k, int32 v", name="Rows")
    sums = rows.aggregate(tumbling(count(3)), by="k", s=agg.sum(col.v), name="Sums")
    sums.write_file("sums.csv", name="SumsFile")
    running = Running(sums.app.program(), tmp_path)
    fail_once_at(monkeypatch, 2)
    with pytest.raises(Exception, match="the power has gone"):
        running.run(size=20)
    assert running.run(1, channels=3, size=35).resumed
    assert running.run(size=50, fusion=nothing_fused).stopped == "done"
    running.assert_complete()


def test_state_above_its_limit_ends_the_job_with_a_message_and_goes_on_with_more_channels(running):
    held = running.run(2).totals.held
    assert held["Numbers"][0] == 10
    assert all(bytes_ > 0 for _, bytes_ in held.values())
    limit = sum(bytes_ for _, bytes_ in held.values()) - 1
    with pytest.raises(UserError) as caught:
        running.run(state_limit=limit)
    text = str(caught.value)
    assert f"above its limit of {limit:,}: operator `" in text
    assert "resume it with more --channels" in text
    # What was begun is finished without a limit.
    assert running.run(channels=3, state_limit=limit).stopped == "done"
    running.assert_complete()


def test_a_savepoint_is_the_start_of_another_checkpoint(running):
    running.run(2, channels=2)
    saved = running.folder / "saved"
    save_job(session(), running.checkpoint, saved)
    head = json.loads((saved / "savepoint.json").read_text())
    assert (head["format"], head["application"], head["key_groups"]) == (2, "Changing", 720)
    other = running.folder / "c2"
    running.run(1, channels=3, start_from=saved, checkpoint=other)
    # The same command again resumes, and does not begin anew.
    running.run(channels=3, start_from=saved, checkpoint=other)
    running.assert_complete()
    with pytest.raises(UserError, match="has a job already, which did not begin with"):
        running.run(start_from=running.folder / "another", checkpoint=other)
    with pytest.raises(UserError, match="is not empty"):
        save_job(session(), running.checkpoint, saved)
    shutil.copytree(saved, running.folder / "cut")
    next((running.folder / "cut" / "operators").glob("*.parquet")).unlink()
    with pytest.raises(UserError, match="the savepoint is damaged: there is no"):
        read_savepoint(running.folder / "cut")


def test_a_stopped_job_is_rescaled_and_looked_into(running, tmp_path):
    running.run(3)
    phases, widths = rescale_job(session(), running.checkpoint, 3)
    assert max(widths) == 3
    assert {"savepoint", "deal out"} <= phases.keys()
    assert rescale_job(session(), running.checkpoint, 3)[0] == {}
    odd = [Random(1).randrange(3) for _ in range(720)]
    assert rescale_job(session(), running.checkpoint, None, tables={"Sums": odd})[1] == widths
    assert odd in json.loads((running.checkpoint / "plan.json").read_text())["tables"].values()
    with pytest.raises(UserError, match="key group 719 goes to channel 3"):
        rescale_job(session(), running.checkpoint, None, tables={"Sums": [*odd[:-1], 3]})
    savepoint, _ = look_into_job(session(), running.checkpoint)
    found = {row["operator"]: row for row in describe_state(inside_of(savepoint))}
    assert {"Sums", "Highs", "Met", "Numbers", "Late"} <= found.keys()
    assert found["Numbers"]["keys"] == 10
    assert found["Numbers"]["groups"] <= 10
    exported = dict(export_state(inside_of(savepoint), tmp_path / "exported", ["Numbers", "Highs"]))
    assert sorted(path.name for path in exported) == ["Highs.parquet", "Numbers.parquet"]
    # What was chosen for the key groups stays.
    assert not running.run(channels=3).switched
    running.assert_complete()


PROGRAM = """composite Main { graph
    stream<rstring k, int32 v, float64 x> A = FileSource() { param file: "in.csv"; format: csv; }
    stream<rstring k, int32 n> Kept = Aggregate(A) { window A: tumbling, count(3), partitioned; param partitionBy: k;
      output Kept: k = Any(k), n = Sum(v); }
    stream<rstring k, int32 n> Other = Aggregate(A) { window A: tumbling, count(SIZE), partitioned;
      param partitionBy: k; output Other: k = Any(k), n = Sum(v); }
    () as KeptFile = FileSink(Kept) { param file: "kept.csv"; }
    () as OtherFile = FileSink(Other) { param file: "other.csv"; }
    MORE
}"""
GONE = """stream<rstring k, int32 n> Gone = Aggregate(A) { window A: tumbling, count(7), partitioned;
      param partitionBy: k; output Gone: k = Any(k), n = Sum(v); }
    () as GoneFile = FileSink(Gone) { param file: "gone.csv"; }"""
ADDED = """stream<rstring k, int32 n> Added = Aggregate(Kept) { window Kept: tumbling, count(1); }
    () as AddedFile = FileSink(Added) { param file: "added.csv"; }"""


def test_a_changed_program_keeps_the_state_of_operators_that_stay(tmp_path):
    def program(size: int, more: str = "") -> Program:
        return compile_text(PROGRAM.replace("SIZE", str(size)).replace("MORE", more))

    running = Running(program(2, GONE), tmp_path)
    running.run(2, size=50)
    changed = program(5, ADDED)
    running.program = changed
    with pytest.raises(UserError, match=r"`Gone` is gone; .*`Other` has another definition; `Added` is new; `Add"):
        running.run()
    running.run(allow_dropped_state=True, channels=2)
    assert any("the program has changed since the checkpoint was written" in text for text in running.told)
    found = files(running.out)
    assert found["kept.csv"] == running.wanted["kept.csv"]
    assert len(found["gone.csv"]) < len(running.wanted["gone.csv"])
    assert found["added.csv"]
    assert len(found["added.csv"]) < len(found["kept.csv"])


def test_other_sources_are_refused(tmp_path):
    text = PROGRAM.replace("SIZE", "2").replace("MORE", "")
    running = Running(compile_text(text), tmp_path)
    running.run(1)
    other = compile_text(text.replace(" A = ", " B = ").replace("(A)", "(B)").replace("window A", "window B"))
    running.program = replace(other, application=replace(other.application, name=running.program.application.name))
    with pytest.raises(UserError, match=r"its sources were `A` \(FileSource\), now they are `B` \(FileSource\)"):
        running.run()


STATELESS = """composite Main { graph
    stream<int32 n> S = Beacon() { param iterations: 3u; }
    stream<int32 n> A = Filter(S) { }
    () as K = FileSink(A) { param file: "k"; } }"""


def test_a_job_that_was_ended_before_it_began_may_begin_with_another_plan(tmp_path):
    """Its record is written before its program: of one that was killed between them there is nothing to go on from."""
    program = compile_text(STATELESS)
    one, other = (compile_fused(program, everything_fused(program.application), channels=n) for n in (1, 2))
    claim(tmp_path, one.plan)
    target = Target(program=other.program, plan=other.plan, build=other.build, environment=other.options.environment)
    with lock_checkpoint(tmp_path) as lock:
        assert switching.switch_plan(None, target, {}, tmp_path, lock, finish=pytest.fail) == {}
    assert not claim(tmp_path, other.plan)
