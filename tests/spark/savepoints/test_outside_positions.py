"""Jobs that read Kafka or other jobs' streams go on with other plans: what they have read, and what waits, travels."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from kafka.test_kafka import messages_in, send_at
from savepoints.test_switch_plan import fail_once_at

from compiling import compile_fused
from penstock import App, agg, col, count, tumbling
from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from penstock.runtime.savepoints.savepoint_files import read_savepoint
from penstock.spark.job.run import SparkRun, run_on_spark
from penstock.spark.kafka.connector import starting_offsets
from penstock.spark.savepoints.outside_positions import refuse_bound
from penstock.spark.savepoints.stopped_jobs import save_job
from penstock.testing import feed
from penstock.toolkit.core.program import Program
from servers.kafka_broker import broker
from spark_session import environment, everything_fused, files, nothing_fused, session

FOR_EVER = 10**9
numbers = itertools.count()


class Running:
    """A program with its folders, run for some batches at a time."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program, self.folder, self.checkpoint = program, folder, folder / "c"
        (folder / "out").mkdir(parents=True)

    def run(
        self,
        batches: int = FOR_EVER,
        *,
        channels: int = 1,
        fusion: Callable = everything_fused,
        size: int = 20,
        checkpoint: Path | None = None,
        **options,
    ) -> SparkRun:
        seen: list[object] = []
        job = compile_fused(
            self.program,
            fusion(self.program.application),
            channels=channels,
            environment=environment(self.folder, self.folder / "out"),
            batch=size,
        )
        return run_on_spark(
            job,
            session(),
            checkpoint=checkpoint or self.checkpoint,
            on_progress=seen.append,
            notice=lambda text: None,
            stops=lambda: int(len(seen) >= batches),
            **options,
        )


KAFKA = """composite Main {{ graph
    stream<int32 k, int32 v> A = KafkaConsumer() {{
      param topic: "{source}"; bootstrapServers: "{servers}"; format: csv; }}
    stream<rstring key, int32 k, int32 n> Sums = Aggregate(A) {{ window A: tumbling, count(3), partitioned;
      param partitionBy: k; output Sums: key = Any((rstring) k), k = Any(k), n = Sum(v); }}
    stream<int32 k, int32 n, int32 last> Times = Aggregate(A) {{ window A: tumbling, time(2.0), partitioned;
      param partitionBy: k; output Times: k = Any(k), n = Count(), last = Last(v); }}
    () as SumsFile = FileSink(Sums) {{ param file: "sums.csv"; }}
    () as TimesFile = FileSink(Times) {{ param file: "times.csv"; }}
    () as Out = KafkaProducer(Sums) {{
      param topic: "{target}"; bootstrapServers: "{servers}"; format: csv; keyAttribute: key; }}
}}"""


def new_topic() -> str:
    return f"moving-{next(numbers)}"


def send(topic: str) -> None:
    """Messages in three partitions, of which one is far behind the others."""
    rng, start = Random(3), round(time.time() * 1000) - 60_000
    at = [start, start, start]
    sent = []
    for n in range(240):
        partition = rng.randrange(3)
        at[partition] += rng.randrange((100, 400, 200)[partition])
        sent.append((partition, at[partition], f"{rng.randrange(7)},{n}"))
    send_at(topic, sent)


def held(topic: str) -> dict[str, list[str]]:
    """What a topic holds, by key in the order of its partition."""
    found: dict[str, list[str]] = {}
    for _, value in sorted(messages_in(topic)):
        found.setdefault(value.split(",")[0], []).append(value)
    return found


@pytest.mark.xdist_group("spark")
def test_kafka_to_kafka_with_other_fusions_channels_and_batches_and_a_kill(tmp_path, monkeypatch):
    source, targets = new_topic(), [new_topic(), new_topic()]
    send(source)
    steady, changing = (
        Running(compile_text(KAFKA.format(source=source, target=target, servers=broker())), tmp_path / target)
        for target in targets
    )
    assert steady.run(size=1000).stopped == "done"
    changing.run(2)
    assert changing.run(1, channels=3, fusion=nothing_fused, size=40).switched
    record = json.loads((changing.checkpoint / "plan.json").read_text())
    assert sum(record["began"]["A"][source].values()) > 20
    fail_once_at(monkeypatch, record["first_batch"] + 2)
    with pytest.raises(Exception, match="the power has gone"):
        changing.run(channels=3, fusion=nothing_fused, size=30)
    # What was begun is finished by the old plan, and no more than that.
    assert changing.run(1, channels=2, size=25).switched
    began = json.loads((changing.checkpoint / "plan.json").read_text())["began"]["A"][source]
    assert sum(began.values()) < 240
    saved = tmp_path / "saved"
    save_job(session(), changing.checkpoint, saved)
    head = json.loads((saved / "savepoint.json").read_text())
    assert head["format"] == 2
    assert sorted(head["positions"]["A"][source]) == ["0", "1", "2"]
    assert read_savepoint(saved).engine["gate"]["lanes"]
    # A change before anything was read by the plan before, and another checkpoint.
    changing.run(0, channels=3, start_from=saved, checkpoint=changing.folder / "c2")
    changing.run(fusion=nothing_fused, start_from=saved, checkpoint=changing.folder / "c2")
    assert files(changing.folder / "out") == files(steady.folder / "out")
    assert files(steady.folder / "out")["times.csv"]
    assert held(targets[1]) == held(targets[0])
    assert held(targets[0])


def test_a_partition_that_is_gone_is_named():
    with pytest.raises(UserError, match="partition 1 of the Kafka topic `a`, which the job has read, is not there"):
        starting_offsets({"a": [0]}, {"a": {"0": 3, "1": 4}}, latest=False)


def test_a_job_that_reads_a_dataframe_of_the_users_keeps_its_plan():
    app = App("Given")
    app.from_spark("clicks", "rstring user", name="Clicks").write_file("out")
    with pytest.raises(UserError, match=r"the plan of this job cannot change: where `Clicks` \(FromSpark\) stands is"):
        refuse_bound(app.program().application)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("place", ["a folder", "Kafka"])
def test_a_job_that_reads_other_jobs_streams_changes_its_plan(place, tmp_path, monkeypatch):
    streams = str(tmp_path / "streams") if place == "a folder" else f"kafka://{broker()}/{new_topic()}"
    monkeypatch.setenv("PENSTOCK_STREAMS", streams)
    rng = Random(4)
    rows = [(f"k{rng.randrange(5)}", n) for n in range(200)]
    first, second = App("First"), App("Second")
    first.source(feed(rows), "rstring key, int32 n", name="A").export(streamId="numbers", name="Out")
    got = second.import_("rstring key, int32 n", streamId="numbers", name="B")
    sums = got.aggregate(tumbling(count(3)), by="key", s=agg.sum(col.n), name="Sums")
    sums.write_file("sums.csv", name="SumsFile")
    sums.export(streamId="sums", name="SumsOut")
    exporting = Running(first.program(), tmp_path / "first")
    # The exporter changes its plan, too: lines of its log are numbered by batch.
    exporting.run(2)
    changing, steady = Running(second.program(), tmp_path / "second"), Running(second.program(), tmp_path / "steady")
    changing.run(1, channels=2)
    exporting.run(channels=1, size=35, fusion=nothing_fused)
    changing.run(2, channels=3, fusion=nothing_fused, size=50)
    assert changing.run(size=1000).stopped == "done"
    assert steady.run(size=1000).stopped == "done"
    assert files(changing.folder / "out") == files(steady.folder / "out")
    assert len(files(steady.folder / "out")["sums.csv"].splitlines()) == sum(
        len([key for key, _ in rows if key == wanted]) // 3 for wanted in {key for key, _ in rows}
    )
