"""A power loss at any moment: what was synced is enough to go on, and every sink is as if nothing had happened."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.codegen.build import build
from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.transport.routes import rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.local.pes import PEs
from penstock.runtime.sources.outside_rows import own_sources
from penstock.spark.checkpoint.plan_record import claim
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.spark.sources.data_source import Planning
from penstock.spark.sources.log import SourceLog, read_rows
from power_loss import Disk

TURNS, MOST_BATCHES = 8, 50
PROGRAM = """
composite Main { graph
  stream<int32 k, int32 x> A = Beacon() {
    param iterations: 24u; output A: k = (int32) IterationCount() % 3, x = (int32) IterationCount();
  }
  stream<int32 k, int32 x> B = Beacon() { param iterations: 12u; output B: k = 1, x = 100; }
  stream<int32 k, int32 t> C = Aggregate(A, B as I) {
    window I: tumbling, count(2), partitioned; param partitionBy: k; output C: k = Any(k), t = Sum(x);
  }
  @catch(exception=all)
  stream<int32 k, int32 t> D = Functor(C) { output D: t = 1000 / (t % 3); }
  () as One = FileSink(C) { param file: "one.csv"; }
  () as Packed = FileSink(C) { param file: "packed.csv.gz"; compression: gzip; }
  () as Rolled = FileSink(C) { param file: "rolled-{id}.csv"; closeMode: count; tuplesPerFile: 4; }
  () as Parts = FileSink(C) { param file: "parts"; partitionBy: k; }
  () as Table = FileSink(C) { param file: "table"; format: parquet; }
  () as Rest = FileSink(D) { param file: "rest.csv"; }
}
"""
# A compressed file is made of a stream for each start of the job; what it holds is the same.
COMPARED = ("one.csv", "rolled", "parts/", "table/", "rest.csv", "dead_letters")


class Job:
    """A job as Spark runs it, batch by batch; Spark's own part (offsets, commits, state) is in this object."""

    def __init__(self, folder: Path) -> None:
        self.program = compile_text(PROGRAM)
        ids = [o.id for o in self.program.application.operators]
        self.plan = physical_plan(self.program.application, [[id_] for id_ in ids[:4]] + [ids[4:]])
        self.environment = Environment(output_directory=folder / "out", data_directory=folder)
        self.folder = folder
        claim(folder / "job", self.plan)
        self.planning = Planning((self.program, self.plan, self.environment.renewed()), self._options())
        self.sinks = SinkPE(self.program, self.plan, self.environment, folder / "job" / "sinks")
        self.pes = PEs(self.program, self.plan, build(self.program, self.plan).pieces, self.environment)
        self.routing = {e: r for pe in own_sources(self.plan) for e, r in routing_of(self.plan, pe).items()}

    def _options(self) -> dict[str, str]:
        return {"log": str(self.folder / "job" / "sources"), "turns_per_batch": str(TURNS)}

    def plan_batch(self, number: int) -> None:
        self.planning.plan(number)

    def run_batch(self, number: int, states: list[bytes]) -> bool:
        """Whether it is the last one."""
        log = SourceLog(self.folder / "job" / "sources")
        batch = log.planned_batch(number)
        rows = (part for found in read_rows(batch.rows) for part in rerouted(self.routing, found))
        self.pes.restore(pickle.loads(states[0]) if states else {})
        self.sinks.write_rows(self.pes.process(rows), number)
        states[:] = [pickle.dumps(self.pes.snapshot())]
        log.forget(number)
        return batch.has_ended

    def run_from(self, number: int, states: list[bytes]) -> None:
        for following in range(number, MOST_BATCHES):
            self.plan_batch(following)
            if self.run_batch(following, states):
                self.sinks.close()
                return
        raise AssertionError


def _output(folder: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(folder / "out")): p.read_bytes() for p in (folder / "out").rglob("*") if p.is_file()}
    return {name: content for name, content in found.items() if name.startswith(COMPARED)}


@pytest.fixture(scope="module")
def moments(
    tmp_path_factory,
) -> Iterator[tuple[list[tuple[Path, int, list[bytes]]], dict[str, bytes]]]:
    """What a disk holds after each sync of a job, with the batch that Spark would ask for and its state; the output."""
    root = tmp_path_factory.mktemp("power")
    (root / "live" / "out").mkdir(parents=True)
    found: list[tuple[Path, int, list[bytes]]] = []
    number, states = 0, []

    def lose_power() -> None:
        for names in ("synced", "all"):
            found.append((root / f"{len(found)}", number, list(states)))
            disk.restore(found[-1][0], names)

    with Disk(root / "live", lose_power) as disk:
        job = Job(root / "live")
        for number in range(MOST_BATCHES):
            job.plan_batch(number)
            after = list(states)
            has_ended = job.run_batch(number, after)
            # The commit of the batch may be lost, and then the batch comes again.
            lose_power()
            if has_ended:
                break
            states = after
    job.sinks.close()
    yield found, _output(root / "live")
    shutil.rmtree(root)


def test_a_power_loss_at_any_moment_changes_no_sink(moments, monkeypatch):
    found, wanted = moments
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    assert len(found) > 150
    assert {name.partition("/")[0].split("-")[0] for name in wanted} >= {"one.csv", "rolled", "parts", "table"}
    assert "dead_letters.jsonl" in wanted
    for folder, number, states in found:
        (folder / "out").mkdir(parents=True, exist_ok=True)
        Job(folder).run_from(number, list(states))
        assert _output(folder) == wanted, (folder.name, number)
        shutil.rmtree(folder)


def test_a_job_that_cannot_go_back_leaves_all_files_as_they_are(tmp_path):
    """Also when it is closed: a file that was opened, and not gone back to, is not written anew."""
    (tmp_path / "out").mkdir()
    job, states = Job(tmp_path), []
    for number in range(2):
        job.plan_batch(number)
        job.run_batch(number, states)
    job.sinks.close()
    (tmp_path / "out" / "rest.csv").write_bytes(b"")
    before = _output(tmp_path)
    again = Job(tmp_path)
    again.plan_batch(2)
    with pytest.raises(UserError, match=r"cannot go on in `rest\.csv`"):
        again.run_batch(2, states)
    again.sinks.close()
    assert _output(tmp_path) == before
