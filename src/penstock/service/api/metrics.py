"""The metrics of the service, in the form of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock.service.service import Service
from penstock.service.states.job_state import JobState

_GAUGES = (
    ("penstock_service_job_mips_allotted", "The mips that a job is allotted."),
    ("penstock_service_job_mips_used", "The mips that a job used lately."),
    ("penstock_service_job_importance", "What the streams of a job earned lately."),
    ("penstock_service_job_ingest_tps", "The tuples a second that a job took in lately."),
)


def metrics_text(service: Service) -> str:
    """All metrics, as Prometheus reads them."""
    registry = CollectorRegistry()
    registry.register(_Now(service))
    return generate_latest(registry).decode()


class _Now(Collector):
    """The figures of now."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Every family of metrics."""
        jobs = self._service.store.jobs()
        states = GaugeMetricFamily("penstock_service_jobs", "Jobs in each state.", labels=["state"])
        for state in JobState:
            states.add_metric([state.value], sum(job.state == state for job in jobs))
        attempts = CounterMetricFamily("penstock_service_job_attempts", "Processes of a job.", labels=["job"])
        gauges = [GaugeMetricFamily(name, text, labels=["job"]) for name, text in _GAUGES]
        for job in jobs:
            attempts.add_metric([job.id], job.attempt)
            samples = self._service.store.samples(job.id, most=1) if job.mips else []
            used = [(s.mips, s.importance, s.ingest_tps) for s in samples] or [(0.0, 0.0, 0.0)]
            for gauge, value in zip(gauges, (job.mips, *used[0]), strict=True):
                gauge.add_metric([job.id], value)
        plan = self._service.plan
        capacity = GaugeMetricFamily("penstock_service_mips", "The capacity of the cluster.")
        capacity.add_metric([], sum(node.mips for node in self._service.nodes()))
        importance = GaugeMetricFamily("penstock_service_importance_planned", "What the last plan is expected to earn.")
        importance.add_metric([], plan.importance if plan is not None else 0.0)
        waterline = GaugeMetricFamily("penstock_service_waterline", "The worst rank that runs; 0 where none does.")
        waterline.add_metric([], plan.waterline if plan is not None else 0)
        yield from (states, attempts, *gauges, capacity, importance, waterline)
