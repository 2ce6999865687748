"""The metrics of running jobs, in the form of Prometheus, and whether the jobs are well.

All counts are those that a run ends with, so what a dashboard shows is what the summary says.

Example:
    >>> from penstock.runtime.sinks.writer import Totals
    >>> metrics = Metrics()
    >>> look = metrics.watch("Main")
    >>> look({"batchId": 4, "batchDuration": 250, "totals": Totals(received={"Sink": [3]})})
    >>> print(metrics.text())
    # HELP penstock_batches_total Batches that were processed.
    # TYPE penstock_batches_total counter
    penstock_batches_total{application="Main"} 1.0
    ...
    >>> metrics.health(now=metrics.jobs["Main"].seen + 5)
    {'status': 'running', 'applications': {'Main': {'batch': 4, 'seconds_since_batch': 5.0}}}
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.runtime.progress import Progress
from penstock.runtime.sinks.writer import Totals

BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The bounds of the histogram of batches, in seconds."""

_PHASES = {
    "addBatch": "process",
    "latestOffset": "plan_sources",
    "queryPlanning": "plan_query",
    "walCommit": "write_offsets",
    "commitOffsets": "commit",
}
"""What a batch spends its time on: Spark's names, and ours."""

_COUNTED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("penstock_tuples_received", "Tuples that came in by an input port.", ("operator", "port")),
    ("penstock_tuples_submitted", "Tuples that went out by an output port.", ("operator", "port")),
    ("penstock_dead_letters", "Records that an operator set aside.", ("operator",)),
    ("penstock_late_tuples", "Tuples that came too late: behind the clock, or behind the watermark.", ("operator",)),
    ("penstock_expired_keys", "Keys that were dropped because their time to live was over.", ("operator",)),
)


@dataclass(slots=True)
class Job:
    """A job, as far as its batches have told.

    Attributes:
        batches: How many there were.
        seconds: How long they took, summed.
        counts: How many batches took at most as long as each of `BUCKETS` says.
        latest: What was told of the last one.
        seen: When that was, in seconds since 1970.
    """

    batches: int = 0
    seconds: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))
    latest: Mapping[str, Any] = field(default_factory=dict)
    seen: float = field(default_factory=time.time)

    def look(self, progress: dict[str, Any]) -> None:
        """Take note of a batch."""
        seconds = progress["batchDuration"] / 1000
        self.batches += 1
        self.seconds += seconds
        self.counts = [n + (seconds <= bound) for n, bound in zip(self.counts, BUCKETS, strict=True)]
        self.latest, self.seen = progress, time.time()


class Metrics(Collector):
    """The metrics of all jobs of a process.

    Attributes:
        jobs: The jobs by the names of their applications.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def watch(self, application: str) -> Progress:
        """What is to be told of every batch of a job."""
        return self.jobs.setdefault(application, Job()).look

    def text(self) -> str:
        """All metrics, as Prometheus reads them."""
        return generate_latest(self._registry).decode()

    def health(self, now: float | None = None) -> dict[str, Any]:
        """Whether every job has come to a batch, and how long ago its last one was, or its start."""
        now = time.time() if now is None else now
        applications = {
            name: {"batch": job.latest.get("batchId"), "seconds_since_batch": round(now - job.seen, 3)}
            for name, job in self.jobs.items()
        }
        has_begun = self.jobs and all(job.batches for job in self.jobs.values())
        return {"status": "running" if has_begun else "starting", "applications": applications}

    def collect(self) -> Iterable[Metric]:
        """Every family of metrics that some job has values for."""
        for family in (
            *_families_of_batches(self.jobs),
            *_families_of_tuples(self.jobs),
            *_families_of_state(self.jobs),
            *_families_of_spark(self.jobs),
            *_families_of_placement(self.jobs),
        ):
            if family.samples:
                yield family


def _families_of_batches(jobs: Mapping[str, Job]) -> Iterator[Metric]:
    batches = CounterMetricFamily("penstock_batches", "Batches that were processed.", labels=["application"])
    seen = GaugeMetricFamily(
        "penstock_last_batch_timestamp_seconds", "When the last batch was done.", labels=["application"]
    )
    took = HistogramMetricFamily("penstock_batch_seconds", "How long batches took.", labels=["application"])
    for name, job in jobs.items():
        batches.add_metric([name], job.batches)
        if job.batches:
            seen.add_metric([name], job.seen)
        buckets = [(str(bound), n) for bound, n in zip(BUCKETS, job.counts, strict=True)]
        took.add_metric([name], [*buckets, ("+Inf", job.batches)], job.seconds)
    yield from (batches, seen, took)


def _families_of_tuples(jobs: Mapping[str, Job]) -> Iterator[Metric]:
    families = {
        name: CounterMetricFamily(name, text, labels=["application", *labels]) for name, text, labels in _COUNTED
    }
    for application, job in jobs.items():
        totals: Totals = job.latest.get("totals") or Totals()
        for family, by_port in (("received", totals.received), ("submitted", totals.submitted)):
            for id_, ports in by_port.items():
                for port, n in enumerate(ports):
                    families[f"penstock_tuples_{family}"].add_metric([application, id_, str(port)], n)
        counted = {"dead_letters": totals.rejected, "late_tuples": totals.late, "expired_keys": totals.expired}
        for family, by_operator in counted.items():
            for id_, n in by_operator.items():
                families[f"penstock_{family}"].add_metric([application, id_], n)
    yield from families.values()


def _families_of_state(jobs: Mapping[str, Job]) -> Iterator[Metric]:
    labels = ["application", "operator"]
    keys = GaugeMetricFamily("penstock_state_keys", "Keys that an operator holds.", labels=labels)
    held = GaugeMetricFamily("penstock_state_bytes", "Bytes that an operator holds, about.", labels=labels)
    for application, job in jobs.items():
        totals: Totals = job.latest.get("totals") or Totals()
        for id_, (number, bytes_) in totals.held.items():
            keys.add_metric([application, id_], number)
            held.add_metric([application, id_], bytes_)
    yield from (keys, held)


def _families_of_spark(jobs: Mapping[str, Job]) -> Iterator[Metric]:
    """What Spark tells of the last batch: its phases, how far sources are behind, how large the state is."""
    phases = GaugeMetricFamily(
        "penstock_batch_phase_seconds", "What the last batch spent its time on.", labels=["application", "phase"]
    )
    behind = GaugeMetricFamily(
        "penstock_source_records_behind",
        "How many records a source is behind the newest.",
        labels=["application", "source"],
    )
    state = GaugeMetricFamily("penstock_state_memory_bytes", "The memory of Spark's stores.", labels=["application"])
    for name, job in jobs.items():
        for phase, ms in (job.latest.get("durationMs") or {}).items():
            if phase in _PHASES:
                phases.add_metric([name, _PHASES[phase]], ms / 1000)
        for number, source in enumerate(job.latest.get("sources") or ()):
            lag = (source.get("metrics") or {}).get("maxOffsetsBehindLatest")
            if lag is not None:
                behind.add_metric([name, str(number)], float(lag))
        stores = job.latest.get("stateOperators") or ()
        if stores:
            state.add_metric([name], sum(store["memoryUsedBytes"] for store in stores))
    yield from (phases, behind, state)


def _families_of_placement(jobs: Mapping[str, Job]) -> Iterator[Metric]:
    """What channels cost, where they run, and what crosses between hosts, in the mean of the last batches."""
    labels = ["application", "pe", "channel", "executor"]
    cpu = GaugeMetricFamily("penstock_channel_cpu_seconds", "Processor time of a channel in a batch.", labels=labels)
    state = GaugeMetricFamily("penstock_channel_state_bytes", "The state that a channel holds.", labels=labels)
    crossing = GaugeMetricFamily(
        "penstock_between_hosts_bytes", "What channels send to other hosts in a batch.", labels=["application"]
    )
    moves = CounterMetricFamily("penstock_channel_moves", "Channels that were moved.", labels=["application"])
    for name, job in jobs.items():
        traffic = job.latest.get("traffic")
        if not traffic:
            continue
        for task in traffic["tasks"]:
            who = [name, str(task["pe"]), str(task["channel"]), task["executor"]]
            cpu.add_metric(who, task["cpu_seconds"])
            state.add_metric(who, task["state_bytes"])
        crossing.add_metric([name], traffic["between_hosts"])
        moves.add_metric([name], traffic["tasks_moved"])
    yield from (cpu, state, crossing, moves)
