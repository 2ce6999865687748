"""The sinks of the local engine beside those that write files: what it has for each definition, and what it lacks."""

from __future__ import annotations

import uuid
from pathlib import Path

from penstock.base.diagnostics import Diagnostics
from penstock.compiler import CompiledJob
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Application
from penstock.runtime.sinks.kinds import BatchSink, BatchSinks, JobOutput, make_batch_sinks
from penstock.runtime.sinks.postgres import PostgresBatchSink
from penstock.runtime.sources.rounds import END, LoopSink, RoundsInMemory
from penstock.toolkit.adapters import export, kafka_producer, postgres_sink, spark_sink

ONLY_ON_SPARK = frozenset({export.DEFINITION.kind, kafka_producer.DEFINITION.kind, spark_sink.DEFINITION.kind})
"""The sinks that belong to other systems, or to other jobs."""


def check_operators(application: Application) -> None:
    """Refuse a program with sources or sinks that only Spark has.

    Raises:
        UserError: It has some; every one of them is named.
    """
    found = Diagnostics()
    for operator in application.operators:
        if operator.facts.is_read_by_engine or operator.kind in ONLY_ON_SPARK:
            message = f"`{operator.id}` ({operator.kind}) does not run on the local engine"
            found.error(message, operator.span, hint="run it with `--engine spark`")
    found.raise_if_any()


def make_sinks(job: CompiledJob, rounds: RoundsInMemory) -> dict[str, BatchSink]:
    """The sinks of a job that take whole batches, by operator."""
    application, environment = job.plan.application, job.options.environment
    output = JobOutput(
        application=application.name,
        id=uuid.uuid4().hex,
        folder=Path(),
        environment=environment,
        evaluator=Evaluator(functions=application.functions, environment=environment),
    )
    kinds: BatchSinks = {
        END: lambda operator, output: LoopSink(operator, rounds),
        postgres_sink.DEFINITION.kind: PostgresBatchSink,
    }
    sinks = [application.operator[id_] for pe in job.plan.pes if pe.role == "sink" for id_ in pe.operators]
    return make_batch_sinks(kinds, sinks, output)
