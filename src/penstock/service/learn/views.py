"""The views of jobs that a decision sees: what they cost and give, as far as that was learned.

Formulation:
    A template's price is the processor time, as mips, of taking in a tuple a second. With a dozen samples the learner
    of `penstock.scheduler.learner` fits it; with fewer it is their ratio; with none it is the prior: what the
    submission says, in the proportion that holds for the job's other templates, or else an assumption. `doubt` tells
    how sure that is.

    What a job's sources could give shows only where they are not held back. Where the job waits for its ingest limit,
    they could give more than anybody has seen, and are taken to give whatever the job may use; else what they gave
    lately and a quarter more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.scheduler.learner.learner import FEWEST_SAMPLES, learn
from penstock.scheduler.learner.samples import Sample
from penstock.scheduler.problem.admission_problem import Flow, Linear, Output
from penstock.service.decide.problem_of import stream_id
from penstock.service.decide.snapshot import JobView, StreamView, TemplateView
from penstock.service.jobs.description import is_connected
from penstock.service.jobs.submission import Submission, TemplateSpec
from penstock.service.states.job_state import PLACED
from penstock.service.store.records import JobRecord, SampleRecord, TemplateRecord

NO_RATE = 0.0

ASSUMED_PRICE = 0.05
"""Mips for a tuple a second where nothing is known: 50 microseconds of a core of 1,000 mips."""

RECENT = 5
"""Samples that say how it is now."""

WINDOW = 48
"""Samples that are learned from."""

_WAITS, _MORE = 0.05, 1.25
_DOUBT_OF_FEW, _LEAST_TPS = 0.3, 1e-9


def valued_streams(submission: Submission, description: Mapping[str, Any]) -> list[Output]:
    """The streams of a template that have a value, as outputs whose rate nobody has looked at yet."""
    rate = Flow(mips_per_tps=1.0, selectivity=1.0)
    if submission.values:
        return [Output(stream=n, rate=rate, value=v.value, weight=v.weight) for n, v in submission.values.items()]
    sources = [n for n, (operator, _) in description["streams"].items() if operator in description["sources"]]
    return [Output(stream=name, rate=rate, value=Linear(slope=1.0)) for name in sources]


def learn_price(samples: Sequence[SampleRecord], prior: float | None = None) -> tuple[float, float]:
    """The mips for a tuple a second, and by how much of itself that may be off.

    Args:
        samples: Of the template, the oldest first.
        prior: What a profile says.

    Example:
        >>> learn_price([])
        (0.05, 1.0)
    """
    told = [s for s in samples[-WINDOW:] if s.ingest_tps > 0 and s.mips > 0]
    if not told:
        return (ASSUMED_PRICE, 1.0) if prior is None else (prior, _DOUBT_OF_FEW)
    ratio = median(s.mips / s.ingest_tps for s in told[-FEWEST_SAMPLES:])
    if len(told) < FEWEST_SAMPLES:
        return ratio, _DOUBT_OF_FEW
    try:
        learned = learn([Sample(input_tps=(s.ingest_tps,), mips=s.mips, output_tps=s.ingest_tps) for s in told])
        flow, doubt = learned.flow(), min(1.0, learned.uncertainty())
    except UserError:
        return ratio, _DOUBT_OF_FEW
    return (ratio if flow is None else flow[0]), doubt


def offered_tps(samples: Sequence[SampleRecord], own: Sequence[str]) -> float | None:
    """What a job's own sources could give; None where nobody has seen their limit.

    Args:
        samples: Of the job, the oldest first.
        own: The streams of its own sources.
    """
    recent = samples[-RECENT:]
    if not recent or sum(s.waited for s in recent) / len(recent) > _WAITS:
        return None
    return _MORE * max(sum(s.streams.get(name, NO_RATE) for name in own) for s in recent)


def view_jobs(
    records: Sequence[JobRecord],
    submissions: Mapping[str, Submission],
    samples: Mapping[str, Sequence[SampleRecord]],
    *,
    mips: float,
    now: float,
    least_mips: float = 0.0,
) -> tuple[JobView, ...]:
    """The views of jobs that want to run.

    Args:
        records: The jobs.
        submissions: What was submitted, by the ids of the jobs.
        samples: Of each, the oldest first.
        mips: The capacity, which bounds what a job may use.
        now: The time.
        least_mips: What any job takes at least, as a whole core of a cluster that deals them out.
    """
    exports = [(record.id, export) for record in records for export in record.templates[0].description["exports"]]
    views = []
    for record in records:
        submission, seen = submissions[record.id], samples.get(record.id, ())
        templates = tuple(
            _view_template(record, t, submission.template(t.id), submission, seen, exports, (least_mips, mips))
            for t in record.templates
        )
        is_placed = record.state in PLACED
        views.append(
            JobView(
                id=record.id,
                rank=record.rank,
                required=record.required,
                templates=templates,
                running=record.template if is_placed else None,
                placed_seconds=abs(now - record.state_since) if is_placed else 0.0,
                mips=record.mips if is_placed else 0.0,
                cores=record.cores if is_placed else 0,
                tags=submission.tags,
            )
        )
    return tuple(views)


def _view_template(
    record: JobRecord,
    template: TemplateRecord,
    spec: TemplateSpec,
    submission: Submission,
    samples: Sequence[SampleRecord],
    exports: Sequence[tuple[str, Mapping[str, Any]]],
    limits: tuple[float, float],
) -> TemplateView:
    description = template.description
    told = [s for s in samples if s.template == template.id]
    price, doubt = learn_price(told, _prior(spec, submission, samples))
    least, mips = max(limits[0], spec.min_mips), limits[1]
    most = max(least, min(mips, spec.max_mips or mips))
    streams = description["streams"]
    importing = {entry["operator"] for entry in description["imports"]}
    own = [n for n, (op, _) in streams.items() if op in description["sources"] and op not in importing]
    offered = offered_tps(samples, own) if own else 0.0
    counted = {o.stream: o for o in valued_streams(submission, description)}
    exported = [name for export in description["exports"] for name in export["streams"] if name in streams]
    return TemplateView(
        id=template.id,
        mips_per_tps=price,
        doubt=doubt,
        offered_tps=most / price if offered is None else max(_LEAST_TPS, offered) if own else 0.0,
        imports=_imports(record.id, description, exports),
        streams=tuple(
            _stream(name, counted.get(name), record.weight * spec.weight, told[-RECENT:])
            for name in dict.fromkeys([*counted, *exported])
        ),
        min_mips=least,
        max_mips=most,
    )


def _prior(spec: TemplateSpec, submission: Submission, samples: Sequence[SampleRecord]) -> float | None:
    """What a template costs as far as its submission tells, by as much more or less as the job's others turned out to.

    A profile was taken elsewhere, or without Spark: what it says of two templates beside each other holds longer.
    """
    if spec.mips_per_tps is None:
        return None
    found = []
    for other in submission.templates:
        told = [s for s in samples if s.template == other.id]
        if other.mips_per_tps is not None and any(s.ingest_tps > 0 and s.mips > 0 for s in told):
            found.append(learn_price(told)[0] / other.mips_per_tps)
    return spec.mips_per_tps * (median(found) if found else 1.0)


def _stream(name: str, valued: Output | None, weight: float, samples: Sequence[SampleRecord]) -> StreamView:
    taken, given = sum(s.ingest_tps for s in samples), sum(s.streams.get(name, NO_RATE) for s in samples)
    return StreamView(
        name=name,
        selectivity=given / taken if taken > 0 else 1.0,
        value=None if valued is None else valued.value,
        weight=0.0 if valued is None else weight * valued.weight,
    )


def _imports(
    job: str, description: Mapping[str, Any], exports: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[str, ...]:
    found = [
        stream_id(other, stream)
        for entry in description["imports"]
        for other, export in exports
        if other != job and is_connected(export, entry)
        for stream in export["streams"]
    ]
    return tuple(dict.fromkeys(found))
