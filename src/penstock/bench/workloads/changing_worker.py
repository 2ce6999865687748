"""The process in which the jobs of `penstock bench changes` run, leg by leg, until it is killed.

`python -m penstock.bench.workloads.changing_worker MASTER` reads a leg from each line of standard input, as `to_line`
writes it, runs it, and tells on standard output what happens: `changing batch N`, `changing stopped 0`, `changing done
0`; and `changing failed 0` with the reason on standard error.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.bench.workloads.changing_jobs import PARTITIONS, Ends, make_job, messages
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import is_sink, is_source
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.optimizer.prediction import cut_candidate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKPOINT, OUT = "job", "out"
WORD = "changing"
_PATIENCE_SECONDS = 6 * 3600.0
"""Those who have started the process may have been killed themselves."""

_TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """A part of a job's life, with one plan, unless it is rescaled.

    Attributes:
        folder: Of the job.
        seed: Of its program.
        fusion: What the operators are thrown together by.
        channels: How many.
        batch: How many turns make a batch.
        batches: How many batches it takes until it is stopped; all there are without it.
        ends: Where it reads and writes that needs servers.
    """

    folder: str
    seed: int
    fusion: int
    channels: int
    batch: int
    batches: int | None = None
    ends: Ends | None = None

    def to_line(self) -> str:
        """As the process reads it."""
        return json.dumps(asdict(self)) + "\n"


def _from_line(line: str) -> Leg:
    read: Mapping[str, Any] = json.loads(line)
    return Leg(**{**read, "ends": None if read["ends"] is None else Ends(**read["ends"])})


def draw_fusion(application: Application, number: int) -> list[list[str]]:
    """Operators thrown together at random until no path leaves a PE and comes back, and no loop is cut."""
    rng = Random(number)
    inner = [o.id for o in application.operators if not is_source(o) and not is_sink(o)]
    most = rng.choice([1, 2, 3, len(inner)])
    regions = choose_channels(application, 1)
    for _ in range(_TRIES):
        groups: dict[int, list[str]] = {}
        for id_ in inner:
            groups.setdefault(rng.randrange(most), []).append(id_)
        try:
            cut_candidate(application, list(groups.values()), regions)
        except UserError:
            continue
        return list(groups.values())
    return [inner]


def main() -> None:
    """Run what is asked for."""
    from penstock.spark.job.session import open_session

    faulthandler.dump_traceback_later(_PATIENCE_SECONDS, exit=True)
    spark = open_session(sys.argv[1], **{"spark.driver.memory": "1g"})
    for line in sys.stdin:
        try:
            _tell(_run(spark, _from_line(line)))
        except Exception:
            traceback.print_exc()
            sys.stderr.flush()
            _tell("failed")


def _run(spark: SparkSession, leg: Leg) -> str:
    """Run a leg; tells whether the job is `done` or was `stopped`."""
    from penstock.spark.job.rescaling import run_program

    folder = Path(leg.folder)
    program = make_job(leg.seed, leg.ends)
    if leg.ends is not None and not (folder / CHECKPOINT).exists():
        _send_messages(spark, leg.seed, leg.ends)
    seen: list[int] = []

    def look(progress: dict[str, Any]) -> None:
        seen.append(progress["batchId"])
        _tell("batch", progress["batchId"])

    options = Options(
        environment=Environment(data_directory=folder, output_directory=folder / OUT),
        pes=draw_fusion(program.application, leg.fusion),
        channels=leg.channels,
        batch=leg.batch,
        checkpoint=folder / CHECKPOINT,
    )
    _, outcome = run_program(
        program,
        options,
        spark,
        checkpoint=folder / CHECKPOINT,
        on_progress=look,
        notice=lambda text: print(text, file=sys.stderr),
        stops=lambda: int(leg.batches is not None and len(seen) >= leg.batches),
    )
    return "done" if outcome.stopped == "done" else "stopped"


def _send_messages(spark: SparkSession, seed: int, ends: Ends) -> None:
    """Fill the topic of a job, with the clients that Spark's connector brings."""
    jvm: Any = spark._jvm
    settings = jvm.java.util.Properties()
    settings.put("bootstrap.servers", ends.kafka)
    for name in ("key.serializer", "value.serializer"):
        settings.put(name, "org.apache.kafka.common.serialization.StringSerializer")
    admin = jvm.org.apache.kafka.clients.admin.Admin.create(settings)
    topic = jvm.org.apache.kafka.clients.admin.NewTopic(ends.topic, PARTITIONS, 1)
    admin.createTopics([topic]).all().get()
    admin.close()
    producer = jvm.org.apache.kafka.clients.producer.KafkaProducer(settings)
    record = jvm.org.apache.kafka.clients.producer.ProducerRecord
    for partition, value in messages(seed):
        producer.send(record(ends.topic, partition, None, value))
    producer.close()


def _tell(event: str, number: int = 0) -> None:
    print(WORD, event, number, flush=True)


if __name__ == "__main__":
    main()
