"""Checks that need the whole admission problem: ids that clash, streams that nobody produces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from penstock.base.diagnostics import did_you_mean
from penstock.base.json_reader import JsonReader
from penstock.scheduler.problem.admission_problem import Job, Problem, Template


def verify(problem: Problem, reader: JsonReader) -> None:
    """Report every mistake that spans more than one node of the problem."""
    for job in problem.jobs:
        _verify_job(job, reader)
    producers = _owners(problem, reader)
    _owned_once(problem, reader)
    for job in problem.jobs:
        for template in job.templates:
            _verify_inputs(job, template, producers, reader)


def _verify_job(job: Job, reader: JsonReader) -> None:
    templates = [template.id for template in job.templates]
    if job.running is not None and job.running not in templates:
        reader.complain(
            f"job `{job.id}` is running with template `{job.running}`, which it does not have",
            did_you_mean(job.running, templates) or "its templates are " + ", ".join(templates),
        )
    for template in job.templates:
        for stream in (stream for stream, times in Counter(template.streams).items() if times > 1):
            reader.complain(
                f"template `{template.id}` of job `{job.id}` produces stream `{stream}` twice", "rename one"
            )


def _owners(problem: Problem, reader: JsonReader) -> Mapping[str, Job]:
    """The job that produces each stream."""
    owners: dict[str, Job] = {}
    for job in problem.jobs:
        for stream in dict.fromkeys(stream for template in job.templates for stream in template.streams):
            owner = owners.setdefault(stream, job)
            if owner is not job and owner.id != job.id:
                reader.complain(
                    f"stream `{stream}` is produced by job `{owner.id}` and by job `{job.id}`", "rename one"
                )
    return owners


def _owned_once(problem: Problem, reader: JsonReader) -> None:
    owners: dict[str, str] = {}
    for job in problem.jobs:
        for pe_id in dict.fromkeys(pe.id for template in job.templates for pe in template.pes):
            owner = owners.setdefault(pe_id, job.id)
            if owner != job.id:
                reader.complain(f"PE `{pe_id}` is in job `{owner}` and in job `{job.id}`", "rename one")


def _verify_inputs(job: Job, template: Template, producers: Mapping[str, Job], reader: JsonReader) -> None:
    own = set(template.streams)
    for pe in template.pes:
        for stream in (stream for stream in pe.inputs if stream not in own):
            owner = producers.get(stream)
            if owner is None:
                reader.complain(
                    f"PE `{pe.id}` reads stream `{stream}`, which no PE produces", reader.suggest(stream, producers)
                )
            elif owner.id == job.id:
                reader.complain(
                    f"PE `{pe.id}` reads stream `{stream}`, which template `{template.id}` of job `{job.id}` does not "
                    "produce",
                    "only another template does",
                )
            else:
                _verify_export(owner, stream, job, reader)


def _verify_export(owner: Job, stream: str, importer: Job, reader: JsonReader) -> None:
    """Streams between jobs must match in all templates, so that any choice connects (section 1 of the paper)."""
    for template in owner.templates:
        if stream not in template.streams:
            reader.complain(
                f"stream `{stream}` is read by job `{importer.id}`, but template `{template.id}` of job `{owner.id}` "
                "does not produce it",
                "a stream between jobs must be in all templates",
            )
