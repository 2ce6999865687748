"""Sets up the gate behind the sources of a job (`source_gate`), where it has one (`waiting.has_gate`)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.durable_files import read_sealed, write_sealed
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.expr.environment import Clock, Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Operator
from penstock.runtime.sources.outside_rows import source_pe
from penstock.spark.gate.clock_reader import FORMAT, ClockReader, furthest_behind
from penstock.spark.gate.gate_door import gated
from penstock.spark.gate.source_gate import GatedSource
from penstock.spark.kafka.connector import ends_of
from penstock.spark.sources.door import register_door
from penstock.spark.workers.initial_state import INITIAL
from penstock.toolkit.adapters.kafka_consumer import idle_seconds, topics_of
from penstock.toolkit.adapters.kafka_params import kafka_properties

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STARTED = "started.json"

GATE = "gate.state"
"""What the gate begins with, beside the state that PEs begin with."""


def with_gate(
    frame: DataFrame,
    spark: SparkSession,
    plan: PhysicalPlan,
    environment: Environment,
    checkpoint: Path,
    continuous: bool,
    began: Mapping[str, Any],
) -> DataFrame:
    """The rows of a job's sources as they pass its gate.

    Args:
        frame: The rows of all sources.
        spark: The session.
        plan: Of the job.
        environment: Of the program as it runs.
        checkpoint: The job's folder.
        continuous: Whether the run waits for more.
        began: Where the sources stood that Spark reads, before the first batch of the query.
    """
    evaluator = Evaluator(functions=plan.application.functions, environment=environment)
    sources = list(gated_sources(plan, evaluator))
    options = {"continuous": "true"}
    if not continuous:
        readers = {s.order: plan.application.operator[s.operator] for s in sources if s.idle_ns is not None}
        options = {
            "offsets": str(checkpoint / "spark" / "offsets"),
            "sources": json.dumps([(order, topics_of(o, evaluator)) for order, o in readers.items()]),
            "began": json.dumps(furthest_behind(began.get(o.id, {}) for o in readers.values())),
            "ends": json.dumps(_ends(spark, readers.values(), evaluator, environment)),
        }
    register_door(spark, FORMAT, ClockReader)
    clock = spark.readStream.format(FORMAT).options(**options).load()
    initial = checkpoint / INITIAL / GATE
    rows = frame.unionAll(clock)
    return gated(rows, sources, continuous=continuous, initial=initial if initial.exists() else None)


def start_clock(environment: Environment, checkpoint: Path, *, resumed: bool, by_wall: bool) -> Environment:
    """The environment of a job with the time at which it was first started.

    Args:
        environment: Of the job; its clock may say when to start.
        checkpoint: Remembers when the job was first started.
        resumed: Whether it was started before. One that has no such memory started at 0.
        by_wall: Whether its time is that of the wall.
    """
    if by_wall or (environment.clock.now_ns and (not resumed or (checkpoint / STARTED).exists())):
        return on_the_wall(environment, checkpoint)
    return replace(environment, clock=Clock())


def on_the_wall(environment: Environment, checkpoint: Path) -> Environment:
    """The environment of a job whose time is that of the wall from the beginning, as the messages of Kafka have it.

    Args:
        environment: Of the job.
        checkpoint: Remembers when the job was first started; that is now, or when the environment's clock starts.

    Raises:
        UserError: What the checkpoint remembers was changed.
    """
    path = checkpoint / STARTED
    if not path.exists():
        write_sealed(path, json.dumps({"started_ns": environment.clock.now_ns or time.time_ns()}).encode())
    started_ns: int = json.loads(read_sealed(path, "the start of the job"))["started_ns"]
    return replace(environment, clock=Clock(started_ns))


def gated_sources(plan: PhysicalPlan, evaluator: Evaluator) -> Iterator[GatedSource]:
    """All sources but imported streams, whose time is that of another job."""
    for pe in plan.pes:
        if pe.role != "source":
            continue
        operator = plan.application.operator[pe.operators[0]]
        source = source_pe(plan, pe.index)
        parts = {name: getattr(source, name) for name in ("pe", "operator", "order", "sources", "routing")}
        if operator.facts.has_record_times:
            yield GatedSource(**parts, idle_ns=round(idle_seconds(operator, evaluator) * 1e9))
        elif not operator.facts.imports:
            yield GatedSource(**parts)


def _ends(
    spark: SparkSession, readers: Iterable[Operator], evaluator: Evaluator, environment: Environment
) -> dict[str, dict[str, int]]:
    """Where the topics end now, by topic and partition."""
    found: dict[str, dict[str, int]] = {}
    for operator in readers:
        properties = kafka_properties(operator, evaluator, environment)
        for topic in topics_of(operator, evaluator):
            found[topic] = {str(partition): end for partition, end in ends_of(spark, topic, properties).items()}
    return found
