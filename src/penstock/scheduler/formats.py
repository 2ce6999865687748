"""Read an admission problem from JSON, and report everything that is wrong with it at once.

The format is laid down in `docs/formats/admission.md`. This module knows the shape of the document; what only the
whole problem can tell (ids that clash, streams that nobody produces) is checked in
`penstock.scheduler.formats_verify`. The keys that belong to `penstock admit --place` are left to
`penstock.scheduler.nodes_reader`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from penstock.diagnostics import Diagnostics, UserError
from penstock.json_source import kind_of, read_json
from penstock.scheduler.formats_fields import Item, shown
from penstock.scheduler.formats_rates import RateReader
from penstock.scheduler.formats_verify import verify
from penstock.scheduler.problem import (
    Flow,
    Job,
    Linear,
    Output,
    Pe,
    Problem,
    Template,
    ValueFunction,
)

_PROBLEM_KEYS = ("mips", "jobs", "nodes", "links", "constraints", "placement")
_PE_KEYS = (
    *("id", "min_mips", "max_mips", "inputs", "offered_tps", "outputs"),
    *("memory_mb", "max_nodes", "tags", "licences"),
)


def read_problem(path: Path) -> Problem:
    """Read and check the admission problem in a file."""
    return problem_from_json(read_json(path))


def problem_from_json(document: object) -> Problem:
    """The problem that a parsed JSON document describes.

    Example:
        >>> problem_from_json({"mips": -1, "jobs": [{"id": "A", "rank": 0, "templates": []}]})
        Traceback (most recent call last):
        penstock.diagnostics.UserError: error: `mips` is -1; give a number of at least 0
        error: job `A`: `rank` is 0; ranks are whole numbers from 1, the best
        error: job `A` has no templates; give at least one
    """
    found = Diagnostics()
    problem = _Reader(found).problem(document)
    verify(problem, found)
    found.raise_if_any()
    return problem


class _Reader(RateReader):
    """Turns JSON values into nodes."""

    def problem(self, document: object) -> Problem:
        if not isinstance(document, dict):
            raise UserError(f"an admission problem is a JSON object; found {kind_of(document)}")
        self.spelling("the problem", document, _PROBLEM_KEYS)
        mips = self.number("", document, "mips", required=True)
        if "jobs" not in document:
            self._found.error("there is no `jobs`; give a list of jobs")
        items = self.objects("the problem", document, "jobs")
        return Problem(mips=mips, jobs=tuple(self.job(item, f"job {i}") for i, item in items))

    def job(self, item: Item, place: str) -> Job:
        job_id = self.text(place, item, "id")
        where = f"job `{job_id}`"
        self.spelling(where, item, ("id", "rank", "required", "templates", "running"))
        rank = self._rank(where, item)
        templates = tuple(self.template(t, where, i) for i, t in self.objects(where, item, "templates"))
        if not templates and isinstance(item.get("templates", []), list):
            self._found.error(f"{where} has no templates", hint="give at least one")
        return Job(
            id=job_id,
            rank=rank,
            required=self.boolean(where, item, "required"),
            templates=templates,
            running=self.text(where, item, "running") if item.get("running") is not None else None,
        )

    def template(self, item: Item, where: str, index: int) -> Template:
        template_id = self.text(f"{where}, template {index}", item, "id")
        place = f"{where}, template `{template_id}`"
        self.spelling(place, item, ("id", "pes"))
        pes = tuple(self.pe(pe, place, i) for i, pe in self.objects(place, item, "pes"))
        if not pes and isinstance(item.get("pes", []), list):
            self._found.error(f"{place} has no PEs", hint="give at least one in `pes`")
        return Template(id=template_id, pes=pes)

    def pe(self, item: Item, where: str, index: int) -> Pe:
        pe_id = self.text(f"{where}, PE {index}", item, "id")
        place = f"PE `{pe_id}`"
        self.spelling(place, item, _PE_KEYS)
        low = self.number(place, item, "min_mips")
        high = self.number(place, item, "max_mips", required=True)
        if "max_mips" in item and low > high:
            self._found.error(
                f"{place}: `min_mips` is {low:g}, above its `max_mips`, {high:g}",
                hint="lower the one or raise the other",
            )
        inputs = self._inputs(place, item)
        pe = Pe(
            id=pe_id,
            min_mips=low,
            max_mips=high,
            inputs=inputs,
            offered_tps=self.number(place, item, "offered_tps"),
            outputs=tuple(self.output(out, place, i, inputs) for i, out in self.objects(place, item, "outputs")),
        )
        self._has_load(place, pe, item)
        return pe

    def output(self, item: Item, where: str, index: int, inputs: tuple[str, ...]) -> Output:
        stream = self.text(f"{where}, output {index}", item, "stream")
        place = f"stream `{stream}` of {where}"
        self.spelling(place, item, ("stream", "rate", "value", "weight", "tuple_bytes"))
        return Output(
            stream=stream,
            rate=self.rate(place, item, inputs),
            value=self._value(place, item),
            weight=self.number(place, item, "weight", default=1.0),
        )

    def _inputs(self, place: str, item: Item) -> tuple[str, ...]:
        streams = Counter(self.texts(place, item, "inputs"))
        for twice in (stream for stream, times in streams.items() if times > 1):
            self._found.error(f"{place} reads stream `{twice}` twice", hint="name it once")
        return tuple(streams)

    def _has_load(self, place: str, pe: Pe, item: Item) -> None:
        if pe.inputs or "offered_tps" in item or not any(isinstance(out.rate, Flow) for out in pe.outputs):
            return
        self._found.error(f"{place} has neither `inputs` nor `offered_tps`, so nothing flows", hint="give one of them")

    def _value(self, place: str, item: Item) -> ValueFunction | None:
        if item.get("value") is None:
            return None
        kind, body = self.variant(place, item, "value", ("linear", "table"))
        if kind == "table":
            return self.table(f"{place}: its value", body)
        if kind == "linear":
            return Linear(slope=self.checked(f"{place}: `linear`", body))
        return None

    def _rank(self, where: str, item: Item) -> int:
        rank = item.get("rank", 1)
        if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 1:
            return rank
        self._found.error(f"{where}: `rank` is {shown(rank)}; ranks are whole numbers from 1, the best")
        return 1
