"""Read an admission problem from JSON, and report everything that is wrong with it at once.

The format is laid down in `docs/formats/admission.md`. This module knows the shape of the document; what only the
whole problem can tell (ids that clash, streams that nobody produces) is checked in
`penstock.scheduler.io.verify_problem`. The keys that belong to `penstock admit --place` are left to
`penstock.scheduler.io.nodes_reader`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from penstock.base.json_reader import Object, expect_object
from penstock.base.json_source import read_json
from penstock.scheduler.io.rates import RateReader
from penstock.scheduler.io.verify_problem import verify
from penstock.scheduler.problem.admission_problem import (
    Flow,
    Job,
    Linear,
    Output,
    Pe,
    Problem,
    Template,
    ValueFunction,
)

_EXAMPLE = '{"mips": 1000, "jobs": [...]}'
_PROBLEM_KEYS = ("mips", "jobs", "nodes", "links", "constraints", "placement")
_PE_KEYS = (
    *("id", "min_mips", "max_mips", "inputs", "offered_tps", "outputs"),
    *("memory_mb", "max_nodes", "tags", "licences"),
)


def read_problem(path: Path) -> Problem:
    """Read and check the admission problem in a file.

    Raises:
        UserError: The file cannot be read or is not a problem; every mistake is named.
    """
    return problem_from_json(read_json(path), str(path))


def problem_from_json(document: object, path: str = "problem") -> Problem:
    """The problem that a parsed JSON document describes; `path` is for messages.

    Raises:
        UserError: It is not a problem; every mistake is named.

    Example:
        >>> problem_from_json({"mips": "x", "jobs": [{"id": "A", "rank": 0, "templates": []}]}, "jobs.json")
        Traceback (most recent call last):
        penstock.UserError: error: jobs.json: the mips of the problem is a string; write a number
        error: jobs.json: the rank of job `A` is 0; write a whole number from 1 up
        error: jobs.json: job `A` has no templates; write at least one
    """
    reader = _Reader(path)
    problem = reader.problem(expect_object(document, path, _EXAMPLE))
    verify(problem, reader)
    reader.raise_if_any()
    return problem


class _Reader(RateReader):
    """Turns JSON values into nodes."""

    def problem(self, document: Object) -> Problem:
        self.check_spelling(document, _PROBLEM_KEYS, "the problem")
        mips = self.number(document, "mips", "the problem")
        if "jobs" not in document:
            self.complain("the problem has no jobs", 'write "jobs": [...]')
        items = self.entries(document, "jobs")
        jobs = tuple(self.job(item, f"jobs[{i}]") for i, item in items)
        self.refuse_twins(((i, job.id) for (i, _), job in zip(items, jobs, strict=True)), "jobs")
        return Problem(mips=mips, jobs=jobs)

    def job(self, item: Object, place: str) -> Job:
        job_id = self.text(item, "id", place)
        owner = f"job `{job_id}`"
        self.check_spelling(item, ("id", "rank", "required", "templates", "running"), owner)
        return Job(
            id=job_id,
            rank=self.count(item, "rank", owner),
            required=self.flag(item, "required", owner),
            templates=self._templates(item, owner),
            running=self.text(item, "running", owner) if item.get("running") is not None else None,
        )

    def _templates(self, item: Object, job: str) -> tuple[Template, ...]:
        items = self.entries(item, "templates", job)
        if item.get("templates", []) == []:
            self.complain(f"{job} has no templates", "write at least one")
        templates = tuple(self.template(entry, job, i) for i, entry in items)
        self.refuse_twins(((i, t.id) for (i, _), t in zip(items, templates, strict=True)), "templates", job)
        return templates

    def template(self, item: Object, job: str, index: int) -> Template:
        template_id = self.text(item, "id", f"templates[{index}] of {job}")
        owner = f"template `{template_id}` of {job}"
        self.check_spelling(item, ("id", "pes"), owner)
        items = self.entries(item, "pes", owner)
        if item.get("pes", []) == []:
            self.complain(f"{owner} has no PEs", "write at least one in `pes`")
        pes = tuple(self.pe(pe, f"pes[{i}] of {owner}") for i, pe in items)
        self.refuse_twins(((i, pe.id) for (i, _), pe in zip(items, pes, strict=True)), "pes", owner)
        return Template(id=template_id, pes=pes)

    def pe(self, item: Object, place: str) -> Pe:
        pe_id = self.text(item, "id", place)
        owner = f"PE `{pe_id}`"
        self.check_spelling(item, _PE_KEYS, owner)
        inputs = self._inputs(item, owner)
        pe = Pe(
            id=pe_id,
            min_mips=self.number(item, "min_mips", owner, 0.0),
            max_mips=self.number(item, "max_mips", owner),
            inputs=inputs,
            offered_tps=self.number(item, "offered_tps", owner, 0.0),
            outputs=tuple(self.output(out, owner, i, inputs) for i, out in self.entries(item, "outputs", owner)),
        )
        self._check_range(item, pe, owner)
        self._check_load(item, pe, owner)
        return pe

    def output(self, item: Object, pe: str, index: int, inputs: tuple[str, ...]) -> Output:
        stream = self.text(item, "stream", f"outputs[{index}] of {pe}")
        owner = f"stream `{stream}` of {pe}"
        self.check_spelling(item, ("stream", "rate", "value", "weight", "tuple_bytes"), owner)
        return Output(
            stream=stream,
            rate=self.rate(item, owner, inputs),
            value=self._value(item, owner),
            weight=self.number(item, "weight", owner, 1.0),
        )

    def _inputs(self, item: Object, pe: str) -> tuple[str, ...]:
        streams = Counter(self.texts(item, "inputs", pe))
        for twice in (stream for stream, times in streams.items() if times > 1):
            self.complain(f"{pe} reads stream `{twice}` twice", "name it once")
        return tuple(streams)

    def _check_range(self, item: Object, pe: Pe, owner: str) -> None:
        # What stands in for a value that cannot be read is no reason for another complaint.
        read = all(self.is_amount(item.get(key, 0)) for key in ("min_mips", "max_mips"))
        if read and "max_mips" in item and pe.min_mips > pe.max_mips:
            self.complain(
                f"the min_mips of {owner} is {pe.min_mips:g}, above its max_mips, {pe.max_mips:g}",
                "lower the one or raise the other",
            )

    def _check_load(self, item: Object, pe: Pe, owner: str) -> None:
        if item.get("inputs") or "offered_tps" in item or not any(isinstance(out.rate, Flow) for out in pe.outputs):
            return
        self.complain(f"{owner} has neither `inputs` nor `offered_tps`, so nothing flows", "write one of them")

    def _value(self, item: Object, owner: str) -> ValueFunction | None:
        if item.get("value") is None:
            return None
        kind, body = self.variant(item, "value", owner, ("linear", "table")) or (None, None)
        if kind == "table":
            return self.table(body, f"the value table of {owner}")
        return Linear(slope=self.amount(body, f"the linear value of {owner}")) if kind == "linear" else None
