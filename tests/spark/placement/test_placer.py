"""A Spark that cannot be told where tasks run; one that can is seen in `tests/e2e/test_placement_on_cluster.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiling import compile_fused
from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from penstock.placement.live.live_schedule import Executor
from penstock.spark.job.run import SparkRun, run_on_spark
from penstock.spark.placement.executors import Executors
from penstock.spark.placement.job_status import STATUS, read_status
from penstock.spark.placement.placement_settings import PlacementSettings
from spark_session import environment, files, nothing_fused, run_reference, session

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """composite Main { graph
    stream<int32 k, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<int32 k, int32 total> B = Aggregate(A) { window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k; output B: k = Any(k), total = Sum(x); }
    stream<int32 k, int32 total> C = Filter(B) { param filter: total % 3 != 0; }
    stream<int32 k, int32 most> D = Aggregate(C) { window C: sliding, count(3), count(1), partitioned;
      param partitionBy: k; output D: k = Any(k), most = Max(total); }
    () as Sink = FileSink(D) { param file: "out.csv"; }
}"""
FOUR = [Executor(id=str(n), host=f"h{n}") for n in range(4)]


class Placed:
    """The program, and what it was told."""

    def __init__(self, folder: Path) -> None:
        self.program = compile_text(PROGRAM)
        self.folder, self.told = folder, list[str]()
        (folder / "data").mkdir()
        lines = (f"{n * 7 % 11},{n}\n" for n in range(150))
        (folder / "data" / "in.csv").write_text("".join(lines))
        self.wanted = run_reference(self.program, folder / "data")

    def run(self, placement: PlacementSettings) -> SparkRun:
        out = self.folder / "out"
        out.mkdir()
        job = compile_fused(
            self.program,
            nothing_fused(self.program.application),
            channels=2,
            environment=environment(self.folder / "data", out),
            batch=25,
        )
        done = run_on_spark(job, session(), checkpoint=self.folder / "c", notice=self.told.append, placement=placement)
        assert files(out) == self.wanted
        return done


@pytest.fixture
def placed(tmp_path: Path) -> Placed:
    return Placed(tmp_path)


def test_a_spark_that_cannot_be_told_is_said_once_and_the_job_goes_on(
    placed: Placed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Executors, "find", lambda self: FOUR)
    monkeypatch.setattr("penstock.spark.placement.state_homes._STATEFUL", "AnotherName")
    placed.run(PlacementSettings(algorithm="even"))
    (told,) = placed.told
    assert told.startswith(
        "warning: tasks run where Spark puts them: this Spark cannot be told (the plan of a batch has 0"
    )
    assert not read_status(placed.folder / "c")["is_placed"]


def test_a_folder_without_a_job_has_no_status(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no status of a job in"):
        read_status(tmp_path)
    (tmp_path / STATUS).write_text("{")
    with pytest.raises(UserError, match="is damaged"):
        read_status(tmp_path)
