"""Checkpoints on Spark: torn files, a power loss, a batch that is too large, and where the files lie."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from compiling import compile_fused
from penstock.base.diagnostics import UserError
from penstock.compiler.resuming import read_record
from penstock.lang import compile_text
from penstock.spark.checkpoint.inspection import inspect_checkpoint
from penstock.spark.checkpoint.spark_files import SparkFiles
from penstock.spark.job.run import run_on_spark
from power_loss import Disk
from spark_session import environment, files, run_reference, session

pytestmark = pytest.mark.xdist_group("spark")

ALL = "PENSTOCK_CHECKPOINTS" in os.environ
"""Whether to run everything; otherwise what shows the most."""

PROGRAM = """
composite Main { graph
  stream<int32 k, int32 x> A = Beacon() {
    param iterations: 40u; period: 0.1; output A: k = (int32) IterationCount() % 3, x = (int32) IterationCount();
  }
  stream<int32 k, int32 x> B = Beacon() {
    param iterations: 40u; period: 0.15; output B: k = (int32) IterationCount() % 2, x = 1;
  }
  stream<int32 k, int32 t> C = Aggregate(A, B as I) {
    window I: tumbling, count(4), partitioned; param partitionBy: k; output C: k = Any(k), t = Sum(x);
  }
  () as S = FileSink(C) { param file: "s.csv"; }
}
"""
FUSION = [["A"], ["B"], ["C"], ["S"]]


class Stopped(Exception):
    """The user has had enough."""


def _run(folder: Path, *, until: int | None = None, turns: int = 16) -> None:
    (folder / "out").mkdir(parents=True, exist_ok=True)

    def stop(progress: dict) -> None:
        if until is not None and progress["batchId"] >= until:
            raise Stopped

    settings = environment(folder, folder / "out")
    job = compile_fused(compile_text(PROGRAM), FUSION, environment=settings, batch=turns)
    run_on_spark(job, session(), checkpoint=folder / "job", on_progress=stop)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    return run_reference(compile_text(PROGRAM), tmp_path_factory.mktemp("reference"))


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A job that was stopped in the middle."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.raises(Stopped):
        _run(folder, until=1)
    return folder


DAMAGES = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "garbage": lambda data: bytes((7 * byte + 13) % 256 for byte in data) or b"?",
    "deleted": lambda data: None,
}
RESUMED = {("program.pickle", "garbage"), ("commits/1", "empty"), (".2.changelog.crc", "deleted")}
"""Of what goes on all the same, this much is run; with PENSTOCK_CHECKPOINTS all of it."""


def test_whatever_file_of_a_checkpoint_is_damaged_it_is_named_or_nothing_is_lost(begun, wanted, tmp_path):
    refused = resumed = 0
    names = sorted(path.relative_to(begun) for path in (begun / "job").rglob("*") if path.is_file())
    for name in names:
        for how, change in DAMAGES.items():
            folder = tmp_path / "job"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(begun, folder)
            _damage(folder / name, change)
            said = _inspect(folder / "job")
            if said is not None:
                refused += 1
                assert f"{folder / 'job'}" in said, (name, how)
                assert "put the file back from a copy" in said, (name, how)
            elif ALL or any(str(name).endswith(n) and how == h for n, h in RESUMED):
                resumed += 1
                _run(folder)
                assert files(folder / "out") == wanted, (name, how)
    assert refused > 65
    assert resumed >= len(RESUMED)


def _damage(path: Path, change) -> None:
    changed = change(path.read_bytes())
    if changed is None:
        path.unlink()
    else:
        path.write_bytes(changed)


def _inspect(checkpoint: Path) -> str | None:
    """What is said of a checkpoint; None if it is resumed."""
    try:
        if read_record(checkpoint) is None:
            return f"{checkpoint}: put the file back from a copy"
        inspect_checkpoint(checkpoint, has_log=True)
    except UserError as error:
        return str(error)
    return None


def test_a_checkpoint_without_its_plan_is_refused(begun, tmp_path):
    shutil.copytree(begun, tmp_path / "job")
    (tmp_path / "job" / "job" / "plan.json").unlink()
    with pytest.raises(UserError, match=r"is damaged: there is no `.*plan.json`, but `sinks`"):
        _run(tmp_path / "job")


def test_what_spark_says_of_a_file_of_the_checkpoint_names_it(begun, tmp_path, monkeypatch):
    """As if a file that nobody looks at were needed."""
    shutil.copytree(begun, tmp_path / "job")
    monkeypatch.setattr("penstock.spark.job.run.inspect_checkpoint", lambda checkpoint, **options: None)
    offsets = tmp_path / "job" / "job" / "spark" / "offsets"
    last = max((path for path in offsets.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    last.write_bytes(b"\x99")
    said = rf"Spark cannot use the file `.*/spark/offsets/{last.name}` of the checkpoint: .*copy"
    with pytest.raises(UserError, match=said):
        _run(tmp_path / "job")


def test_after_a_power_loss_the_last_batch_that_was_written_is_not_lost(wanted, tmp_path):
    """What the driver has not synced is gone; of Spark's own files what is synced with each batch is enough."""
    moments: list[Path] = []

    def lose_power() -> None:
        # The log of the sources is written in another process; what it syncs is another test's business.
        for names in ("synced", "all"):
            moments.append(tmp_path / str(len(moments)))
            disk.restore(moments[-1], names)
            shutil.rmtree(moments[-1] / "job" / "sources", ignore_errors=True)
            if (tmp_path / "live" / "job" / "sources").exists():
                shutil.copytree(tmp_path / "live" / "job" / "sources", moments[-1] / "job" / "sources")

    (tmp_path / "live" / "out").mkdir(parents=True)
    with Disk(tmp_path / "live", lose_power) as disk, pytest.raises(Stopped):
        _run(tmp_path / "live", until=1)
    assert len(moments) > 40
    for moment in moments if ALL else moments[len(moments) // 3 :: len(moments) // 3]:
        _run(moment)
        assert files(moment / "out") == wanted, moment.name


def test_a_batch_that_is_larger_than_the_driver_takes_comes_by_files(wanted, tmp_path):
    conf = session().sparkContext._jsc.sc().conf()
    before = conf.get("spark.driver.maxResultSize")
    conf.set("spark.driver.maxResultSize", "1k")
    try:
        _run(tmp_path)
    finally:
        conf.set("spark.driver.maxResultSize", before)
    assert files(tmp_path / "out") == wanted
    assert not (tmp_path / "job" / "sinks" / "large").exists()


def test_a_bare_path_is_local_whatever_the_default_file_system_of_spark_is(wanted, tmp_path):
    conf = session().sparkContext._jsc.hadoopConfiguration()
    before = conf.get("fs.defaultFS")
    conf.set("fs.defaultFS", "hdfs://nowhere.invalid:9000")
    try:
        _run(tmp_path, turns=100)
    finally:
        conf.set("fs.defaultFS", before)
    assert files(tmp_path / "out") == wanted


def test_what_is_synced_once_is_not_synced_again(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("penstock.spark.checkpoint.spark_files.sync_file", lambda path: synced.append(path.name))
    monkeypatch.setattr(
        "penstock.spark.checkpoint.spark_files.sync_folder", lambda path: synced.append(f"{path.name}/")
    )
    (tmp_path / "offsets").mkdir()
    spark = SparkFiles(tmp_path)
    for number in range(2):
        part = tmp_path / "offsets" / ".part"
        part.write_text(str(number))
        part.rename(tmp_path / "offsets" / str(number))
    spark.sync()
    assert sorted(synced) == sorted(["0", "1", "offsets/", f"{tmp_path.name}/", f"{tmp_path.parent.name}/"])
    synced.clear()
    spark.sync()
    assert synced == []
    part = tmp_path / "offsets" / ".part"
    part.write_text("again")
    part.rename(tmp_path / "offsets" / "1")
    spark.sync()
    assert synced == ["1", "offsets/"]


def test_half_an_entry_of_a_batch_that_has_not_come_to_the_sinks_is_planned_again(begun, wanted, tmp_path):
    """As a power loss may leave it: Spark writes it, and nobody has synced it yet."""
    shutil.copytree(begun, tmp_path / "job")
    offsets = tmp_path / "job" / "job" / "spark" / "offsets"
    following = max(int(path.name) for path in offsets.iterdir() if path.name.isdecimal())
    written = max(int(path.stem) for path in (tmp_path / "job" / "job" / "sinks").glob("0*.state"))
    (offsets / str(max(following, written + 1))).write_bytes(b"")
    _run(tmp_path / "job")
    assert files(tmp_path / "job" / "out") == wanted


def test_half_of_what_spark_notes_when_a_job_is_resumed_is_noted_again(begun, wanted, tmp_path):
    shutil.copytree(begun, tmp_path / "job")
    folder = tmp_path / "job" / "job"
    written = max(int(path.stem) for path in (folder / "sinks").glob("0*.state"))
    (folder / "spark" / "state" / "0" / "_metadata" / "v2" / str(written + 1)).write_bytes(b"")
    (folder / "spark" / "commits" / str(written)).write_bytes(b"")
    _run(tmp_path / "job")
    assert files(tmp_path / "job" / "out") == wanted


def test_halves_of_the_very_first_files_are_written_anew(wanted, tmp_path):
    """As a power loss in the first batch leaves them, where names are written before content."""
    with pytest.raises(Stopped):
        _run(tmp_path, until=0, turns=100)
    folder = tmp_path / "job"
    for path in (*(folder / "spark").rglob("*"), *(folder / "sinks").glob("0*.state")):
        if path.is_file() and (path.suffix == ".state" or "commits" in path.parts):
            path.unlink()
        elif path.is_file():
            path.write_bytes(b"")
    _run(tmp_path, turns=100)
    assert files(tmp_path / "out") == wanted
