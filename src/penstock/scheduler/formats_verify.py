"""What only a whole admission problem can tell: ids that clash, streams that nobody produces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from penstock.diagnostics import Diagnostics, did_you_mean
from penstock.json_source import nearest
from penstock.scheduler.problem import Job, Problem, Template


def verify(problem: Problem, found: Diagnostics) -> None:
    """Report every mistake that spans more than one node of the problem."""
    report_twins((job.id for job in problem.jobs), "job", "", found)
    for job in problem.jobs:
        _verify_job(job, found)
    producers = _owners(problem, found)
    _owned_once(problem, found)
    for job in problem.jobs:
        for template in job.templates:
            _verify_inputs(job, template, producers, found)


def _verify_job(job: Job, found: Diagnostics) -> None:
    report_twins((template.id for template in job.templates), "template", f"job `{job.id}`: ", found)
    templates = [template.id for template in job.templates]
    if job.running is not None and job.running not in templates:
        found.error(
            f"job `{job.id}` is running with template `{job.running}`, which it does not have",
            hint=did_you_mean(job.running, templates) or "its templates are " + ", ".join(templates),
        )
    for template in job.templates:
        where = f"job `{job.id}`, template `{template.id}`: "
        report_twins((pe.id for pe in template.pes), "PE", where, found)
        report_twins(template.streams, "stream", where, found)


def report_twins(ids: Iterable[str], kind: str, where: str, found: Diagnostics) -> None:
    """Report ids that two things share.

    Example:
        >>> found = Diagnostics()
        >>> report_twins(["n1", "n2", "n1"], "node", "", found)
        >>> [str(diagnostic) for diagnostic in found]
        ['error: there are two nodes with the id `n1`; give each its own']
    """
    for twice in (name for name, count in Counter(ids).items() if count > 1):
        found.error(f"{where}there are two {kind}s with the id `{twice}`", hint="give each its own")


def _owners(problem: Problem, found: Diagnostics) -> Mapping[str, Job]:
    """The job that produces each stream."""
    owners: dict[str, Job] = {}
    for job in problem.jobs:
        for stream in dict.fromkeys(stream for template in job.templates for stream in template.streams):
            owner = owners.setdefault(stream, job)
            if owner is not job and owner.id != job.id:
                found.error(
                    f"stream `{stream}` is produced by job `{owner.id}` and by job `{job.id}`", hint="rename one"
                )
    return owners


def _owned_once(problem: Problem, found: Diagnostics) -> None:
    owners: dict[str, str] = {}
    for job in problem.jobs:
        for pe_id in dict.fromkeys(pe.id for template in job.templates for pe in template.pes):
            owner = owners.setdefault(pe_id, job.id)
            if owner != job.id:
                found.error(f"PE `{pe_id}` is in job `{owner}` and in job `{job.id}`", hint="rename one")


def _verify_inputs(job: Job, template: Template, producers: Mapping[str, Job], found: Diagnostics) -> None:
    own = set(template.streams)
    for pe in template.pes:
        for stream in (stream for stream in pe.inputs if stream not in own):
            owner = producers.get(stream)
            if owner is None:
                found.error(
                    f"PE `{pe.id}` reads stream `{stream}`, which no PE produces", hint=nearest(stream, producers)
                )
            elif owner.id == job.id:
                found.error(
                    f"PE `{pe.id}` reads stream `{stream}`, which template `{template.id}` of job `{job.id}` does not "
                    "produce",
                    hint="only another template does",
                )
            else:
                _verify_export(owner, stream, job, found)


def _verify_export(owner: Job, stream: str, reader: Job, found: Diagnostics) -> None:
    """Streams between jobs must match in all templates, so that any choice connects (section 1 of the paper)."""
    for template in owner.templates:
        if stream not in template.streams:
            found.error(
                f"stream `{stream}` is read by job `{reader.id}`, but template `{template.id}` of job `{owner.id}` "
                "does not produce it",
                hint="a stream between jobs must be in all templates",
            )
