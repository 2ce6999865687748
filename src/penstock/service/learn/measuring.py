"""Measuring: what a running job took in, gave and used between two looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.scheduler.problem.admission_problem import Output
from penstock.scheduler.problem.resource_functions import importance_of
from penstock.service.jobs.submission import Submission
from penstock.service.learn.views import NO_RATE, valued_streams
from penstock.service.store.records import SampleRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at a running job.

    Attributes:
        attempt: Which of its processes was looked at.
        at: When, in seconds since 1970.
        cpu_seconds: The processor time of its processes so far; on a cluster, where executors belong to others, and how
            long its tasks have run there.
        batches: How many batches this process has done.
        batch_at: When the last of them was done.
        waited_seconds: How long it has waited for its ingest limit so far.
        submitted: The tuples of each operator's output ports so far, since the job's first start.
        pe_seconds: The processor time of each PE so far, by the names of its operators.
    """

    attempt: int
    at: float
    cpu_seconds: float
    batches: int
    batch_at: float
    waited_seconds: float
    submitted: Mapping[str, list[int]] = field(default_factory=dict)
    pe_seconds: Mapping[str, float] = field(default_factory=dict)

    def awaits_batch(self, before: Look, patience: float) -> bool:
        """Whether no batch has come since a look before, and one may come yet: then it is too early for a sample."""
        is_same = (before.attempt, before.batch_at) == (self.attempt, self.batch_at)
        return is_same and before.at <= self.at < before.at + patience

    @staticmethod
    def of(attempt: int, at: float, cpu_seconds: float, report: Mapping[str, Any]) -> Look:
        """The look at a job with a report."""
        return Look(
            attempt=attempt,
            at=at,
            cpu_seconds=cpu_seconds + float(report.get("task_seconds", 0.0)),
            batches=int(report.get("batches", 0)),
            batch_at=float(report.get("time", 0.0)),
            waited_seconds=float(report.get("waited_seconds", 0.0)),
            submitted=report.get("submitted") or {},
            pe_seconds={", ".join(pe["operators"]): float(pe["seconds"]) for pe in report.get("pes") or ()},
        )


def compare(
    before: Look,
    after: Look,
    submission: Submission,
    template: str,
    description: Mapping[str, Any],
    *,
    weight: float,
    core_mips: float,
) -> SampleRecord | None:
    """The sample that two looks give; None where there is none: the process is another, or has not come to a batch.

    Tuples are counted from batch to batch, processor time from look to look.

    Example:
        >>> from penstock.service.jobs.submission import TemplateSpec
        >>> job = Submission(name="j", templates=(TemplateSpec(id="t", app="a.spl"),))
        >>> graph = {"streams": {"A": ["A", 0]}, "sources": ["A"]}
        >>> def look(at, cpu, count):
        ...     return Look(attempt=1, at=at, cpu_seconds=cpu, batches=1, batch_at=at, waited_seconds=0.0,
        ...                 submitted={"A": [count]})
        >>> sample = compare(look(0, 5.0, 100), look(10, 10.0, 600), job, "t", graph, weight=2.0, core_mips=1000.0)
        >>> sample.mips, sample.ingest_tps, sample.importance
        (500.0, 50.0, 100.0)
    """
    if before.attempt != after.attempt or not before.batches or after.at <= before.at:
        return None
    seconds, counted = after.at - before.at, after.batch_at - before.batch_at
    rates = dict.fromkeys(description["streams"], NO_RATE)
    if counted > 0:
        for name, (operator, port) in description["streams"].items():
            had, has = (_at(look.submitted, operator, port) for look in (before, after))
            rates[name] = max(0, has - had) / counted
    sources = [name for name, (operator, _) in description["streams"].items() if operator in description["sources"]]
    outputs = valued_streams(submission, description)
    counts = weight * submission.template(template).weight
    return SampleRecord(
        job=submission.name,
        template=template,
        at=after.at,
        seconds=seconds,
        mips=max(0.0, after.cpu_seconds - before.cpu_seconds) / seconds * core_mips,
        ingest_tps=sum(rates[name] for name in sources),
        waited=min(1.0, max(0.0, after.waited_seconds - before.waited_seconds) / seconds),
        importance=counts * sum(_earned(output, rates[output.stream]) for output in outputs),
        streams=rates,
        pes={
            pe: max(0.0, spent - before.pe_seconds.get(pe, 0.0)) / counted * core_mips
            for pe, spent in after.pe_seconds.items()
            if counted > 0
        },
    )


def _earned(output: Output, rate: float) -> float:
    return float(importance_of(output, rate))


def _at(counts: Mapping[str, list[int]], operator: str, port: int) -> int:
    ports = counts.get(operator, [])
    return ports[port] if port < len(ports) else 0
