"""Records as the API tells them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from penstock.service.service import Service
from penstock.service.store.records import DecisionRecord, EventRecord, JobRecord, SampleRecord


def job_answer(service: Service, record: JobRecord) -> dict[str, Any]:
    """A job, in short."""
    samples = service.store.samples(record.id, most=1)
    last = samples[-1] if samples else None
    return {
        "id": record.id,
        "rank": record.rank,
        "required": record.required,
        "weight": record.weight,
        "state": record.state.value,
        "state_since": record.state_since,
        "wanted": record.wanted.value,
        "template": record.template,
        "mips": record.mips,
        "mips_used": last.mips if last is not None and record.mips else 0.0,
        "importance": last.importance if last is not None and record.mips else 0.0,
        "ingest_limit_tps": record.ingest_tps if record.mips else None,
        "ingest_tps": last.ingest_tps if last is not None and record.mips else 0.0,
        "cores": record.cores,
        "attempt": record.attempt,
        "failures": record.failures,
        "error": record.error,
        "reason": record.reason,
        "submitted_at": record.submitted_at,
    }


def job_details(service: Service, record: JobRecord) -> dict[str, Any]:
    """A job with its templates, its latest samples and events."""
    return {
        **job_answer(service, record),
        "spec": dict(record.spec),
        "templates": [{"id": t.id, "spec": dict(t.spec), "description": dict(t.description)} for t in record.templates],
        "samples": [sample_answer(sample) for sample in service.store.samples(record.id, most=60)],
        "events": [event_answer(event) for event in service.store.events(record.id, most=50)],
    }


def sample_answer(sample: SampleRecord) -> dict[str, Any]:
    """A sample."""
    return asdict(sample)


def event_answer(event: EventRecord) -> dict[str, Any]:
    """An event."""
    return asdict(event)


def decision_answer(decision: DecisionRecord) -> dict[str, Any]:
    """A decision with its plan."""
    return asdict(decision)
