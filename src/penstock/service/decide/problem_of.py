"""A snapshot as the admission problem of `penstock.scheduler`.

A job's PE is its application: one process tree, which has one ingest limit and of which processor time is measured. All
its streams flow in proportion to what it takes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.scheduler.problem.admission_problem import Flow, Job, Output, Pe, Problem, Template
from penstock.scheduler.problem.nodes import Cluster, Needs
from penstock.service.decide.snapshot import JobView, Snapshot, TemplateView


def stream_id(job: str, stream: str) -> str:
    """The name of a stream among those of all jobs.

    Example:
        >>> stream_id("alerts", "Alarms")
        'alerts/Alarms'
    """
    return f"{job}/{stream}"


def problem_of(jobs: Iterable[JobView], mips: float, fixed: Mapping[str, str] | None = None) -> Problem:
    """The problem of some jobs.

    Args:
        jobs: The jobs.
        mips: The capacity.
        fixed: The templates of those that must be admitted with the one that they have.

    Example:
        >>> view = TemplateView(id="t", mips_per_tps=2.0, offered_tps=10.0, max_mips=100.0)
        >>> problem_of([JobView(id="a", templates=(view,))], 100.0).job("a").choices[0].pes[0].offered_tps
        10.0
    """
    held = fixed or {}
    return Problem(
        mips=mips,
        jobs=tuple(
            Job(
                id=job.id,
                rank=job.rank,
                required=job.required or job.id in held,
                templates=tuple(_template(job.id, template) for template in job.templates),
                running=held.get(job.id),
            )
            for job in jobs
        ),
    )


def _template(job: str, view: TemplateView) -> Template:
    outputs = tuple(
        Output(
            stream=stream_id(job, stream.name),
            rate=Flow(mips_per_tps=view.mips_per_tps, selectivity=stream.selectivity),
            value=stream.value,
            weight=stream.weight,
        )
        for stream in view.streams
    )
    pe = Pe(
        id=job,
        min_mips=view.min_mips,
        max_mips=view.max_mips,
        inputs=view.imports,
        offered_tps=view.offered_tps,
        outputs=outputs,
    )
    return Template(id=view.id, pes=(pe,))


def cluster_of(snapshot: Snapshot) -> Cluster:
    """The nodes, with what the jobs ask of them; a job may use several."""
    most = max(1, len(snapshot.cluster.nodes))
    needs = {job.id: Needs(tags=job.tags, max_nodes=most) for job in snapshot.jobs}
    return replace(snapshot.cluster, needs=needs)
