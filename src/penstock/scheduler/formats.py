"""Read an admission problem from JSON, and report everything that is wrong with it at once.

The format is laid down in `docs/formats/admission.md`. This module knows the shape of the document; what only the
whole problem can tell (ids that clash, streams that nobody produces) is checked in
`penstock.scheduler.formats_verify`. The keys `nodes`, `links` and `constraints` belong to `penstock admit --place` and
are left alone here.
"""

from __future__ import annotations

import difflib
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from penstock.diagnostics import Diagnostics, UserError
from penstock.scheduler.formats_verify import verify
from penstock.scheduler.problem import (
    Flow,
    Job,
    Linear,
    Output,
    Pe,
    Problem,
    RateFunction,
    Table,
    Template,
    ValueFunction,
)

_T = TypeVar("_T")


def read_problem(path: Path) -> Problem:
    """Read and check the admission problem in a file."""
    return problem_from_json(read_document(path))


def read_document(path: Path) -> object:
    """The JSON value in a file, or an error that says where it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read `{path}`: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"`{path}` is not a UTF-8 text file") from error
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg.lower()}") from error


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


class _Reader:
    """Turns JSON values into nodes; a value that is wrong is reported and replaced with a harmless one."""

    def __init__(self, found: Diagnostics) -> None:
        self._found = found
        self._unnamed = itertools.count(1)

    def problem(self, document: object) -> Problem:
        if not isinstance(document, dict):
            raise UserError(f"an admission problem is a JSON object; found {_kind(document)}")
        self._spelling("the problem", document, ("mips", "jobs", "nodes", "links", "constraints"))
        mips = self._number("", document, "mips", required=True)
        if "jobs" not in document:
            self._found.error("there is no `jobs`; give a list of jobs")
        items = self._objects("the problem", document, "jobs")
        return Problem(mips=mips, jobs=tuple(self.job(item, f"job {i}") for i, item in items))

    def job(self, item: Mapping[str, object], place: str) -> Job:
        job_id = self._text(place, item, "id")
        where = f"job `{job_id}`"
        self._spelling(where, item, ("id", "rank", "required", "templates", "running"))
        rank = self._rank(where, item)
        templates = tuple(self.template(t, where, i) for i, t in self._objects(where, item, "templates"))
        if not templates and isinstance(item.get("templates", []), list):
            self._found.error(f"{where} has no templates", hint="give at least one")
        return Job(
            id=job_id,
            rank=rank,
            required=self._boolean(where, item, "required"),
            templates=templates,
            running=self._text(where, item, "running") if item.get("running") is not None else None,
        )

    def template(self, item: Mapping[str, object], where: str, index: int) -> Template:
        template_id = self._text(f"{where}, template {index}", item, "id")
        place = f"{where}, template `{template_id}`"
        self._spelling(place, item, ("id", "pes"))
        pes = tuple(self.pe(pe, place, i) for i, pe in self._objects(place, item, "pes"))
        if not pes and isinstance(item.get("pes", []), list):
            self._found.error(f"{place} has no PEs", hint="give at least one in `pes`")
        return Template(id=template_id, pes=pes)

    def pe(self, item: Mapping[str, object], where: str, index: int) -> Pe:
        pe_id = self._text(f"{where}, PE {index}", item, "id")
        place = f"PE `{pe_id}`"
        self._spelling(place, item, ("id", "min_mips", "max_mips", "inputs", "offered_tps", "outputs"))
        low = self._number(place, item, "min_mips")
        high = self._number(place, item, "max_mips", required=True)
        if "max_mips" in item and low > high:
            self._found.error(
                f"{place}: `min_mips` is {_show(low)}, above its `max_mips`, {_show(high)}",
                hint="lower the one or raise the other",
            )
        pe = Pe(
            id=pe_id,
            min_mips=low,
            max_mips=high,
            inputs=self._texts(place, item, "inputs"),
            offered_tps=self._number(place, item, "offered_tps"),
            outputs=tuple(self.output(out, place, i) for i, out in self._objects(place, item, "outputs")),
        )
        self._has_load(place, pe, item)
        return pe

    def output(self, item: Mapping[str, object], where: str, index: int) -> Output:
        stream = self._text(f"{where}, output {index}", item, "stream", kind="stream")
        place = f"stream `{stream}` of {where}"
        self._spelling(place, item, ("stream", "rate", "value", "weight"))
        return Output(
            stream=stream,
            rate=self._rate(place, item),
            value=self._value(place, item),
            weight=self._number(place, item, "weight", default=1.0),
        )

    def _has_load(self, place: str, pe: Pe, item: Mapping[str, object]) -> None:
        if pe.inputs or "offered_tps" in item or not any(isinstance(out.rate, Flow) for out in pe.outputs):
            return
        self._found.error(f"{place} has neither `inputs` nor `offered_tps`, so nothing flows", hint="give one of them")

    def _rate(self, place: str, item: Mapping[str, object]) -> RateFunction:
        kind, body = self._variant(place, item, "rate", ("flow", "table"))
        if kind == "table":
            return self._table(f"{place}: its rate", body)
        if kind != "flow" or not isinstance(body, dict):
            if kind == "flow":
                self._found.error(f"{place}: `flow` is {_kind(body)}; give an object")
            return Flow(mips_per_tps=1.0, selectivity=1.0)
        self._spelling(place, body, ("mips_per_tps", "selectivity"))
        cost = self._number(place, body, "mips_per_tps", required=True)
        if cost == 0 and isinstance(body.get("mips_per_tps"), int | float):
            self._found.error(f"{place}: `mips_per_tps` is 0; give a number above 0")
        return Flow(mips_per_tps=cost or 1.0, selectivity=self._number(place, body, "selectivity", required=True))

    def _value(self, place: str, item: Mapping[str, object]) -> ValueFunction | None:
        if item.get("value") is None:
            return None
        kind, body = self._variant(place, item, "value", ("linear", "table"))
        if kind == "table":
            return self._table(f"{place}: its value", body)
        if kind == "linear":
            return Linear(slope=self._checked(f"{place}: `linear`", body))
        return None

    def _variant(
        self, place: str, item: Mapping[str, object], key: str, kinds: tuple[str, str]
    ) -> tuple[str, object] | tuple[None, None]:
        body = item.get(key)
        if isinstance(body, dict) and len(body) == 1 and (kind := next(iter(body))) in kinds:
            return kind, body[kind]
        wanted = " or ".join(f'`{{"{kind}": ...}}`' for kind in kinds)
        given = "missing" if body is None else f"`{json.dumps(body)}`"
        self._found.error(f"{place}: its `{key}` is {given}; give {wanted}")
        return None, None

    def _table(self, what: str, body: object) -> Table:
        points = tuple(self._points(what, body))
        if not points:
            if isinstance(body, list) and not body:
                self._found.error(f"{what} table has no points", hint="give at least one `[x, y]`")
            return Table(points=((0.0, 0.0),))
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            if x1 <= x0:
                self._found.error(
                    f"{what} table has {_show(x1)} after {_show(x0)}", hint="put its points in rising order"
                )
            if y1 < y0:
                self._found.error(
                    f"{what} table falls from {_show(y0)} at {_show(x0)} to {_show(y1)} at {_show(x1)}",
                    hint="more must never give less",
                )
        return Table(points=points)

    def _points(self, what: str, body: object) -> Iterator[tuple[float, float]]:
        if not isinstance(body, list):
            self._found.error(f"{what} table is {_kind(body)}; give a list of `[x, y]`")
            return
        for point in body:
            if not (isinstance(point, list) and len(point) == 2):
                self._found.error(f"{what} table has the point `{json.dumps(point)}`; give `[x, y]`")
                continue
            yield (
                self._checked(f"{what} table: `{json.dumps(point)}`", point[0]),
                self._checked(f"{what} table: `{json.dumps(point)}`", point[1]),
            )

    def _rank(self, where: str, item: Mapping[str, object]) -> int:
        rank = item.get("rank", 1)
        if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 1:
            return rank
        self._found.error(f"{where}: `rank` is {json.dumps(rank)}; ranks are whole numbers from 1, the best")
        return 1

    def _boolean(self, where: str, item: Mapping[str, object], key: str) -> bool:
        value = item.get(key, False)
        if not isinstance(value, bool):
            self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give true or false")
        return bool(value)

    def _number(
        self, where: str, item: Mapping[str, object], key: str, *, required: bool = False, default: float = 0.0
    ) -> float:
        prefix = f"{where}: " if where else ""
        if key in item:
            return self._checked(f"{prefix}`{key}`", item[key])
        if required:
            self._found.error(f"{prefix}`{key}` is missing; give a number of at least 0")
        return default

    def _checked(self, what: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._found.error(f"{what} is {json.dumps(value)}; give a number of at least 0")
            return 0.0
        if value < 0 or not math.isfinite(value):
            self._found.error(f"{what} is {_show(value)}; give a number of at least 0")
            return 0.0
        return float(value)

    def _text(self, where: str, item: Mapping[str, object], key: str, kind: str = "id") -> str:
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
        given = "missing" if key not in item else json.dumps(value)
        self._found.error(f"{where}: its `{key}` is {given}; give a text that names the {kind}")
        # A name that nothing else has, so that the checks of the whole problem see no clash.
        return f"#{next(self._unnamed)}"

    def _texts(self, where: str, item: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = item.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self._found.error(f"{where}: `{key}` is {json.dumps(value)}; give a list of stream ids")
            return ()
        for twice in duplicates(value):
            self._found.error(f"{where} reads stream `{twice}` twice", hint="name it once")
        return tuple(dict.fromkeys(value))

    def _objects(self, where: str, item: Mapping[str, object], key: str) -> list[tuple[int, dict[str, object]]]:
        value = item.get(key, [])
        if not isinstance(value, list):
            self._found.error(f"{where}: `{key}` is {_kind(value)}; give a list")
            return []
        for i, entry in enumerate(value):
            if not isinstance(entry, dict):
                self._found.error(f"{where}: entry {i} of `{key}` is {_kind(entry)}; give an object")
        return [(i, entry) for i, entry in enumerate(value) if isinstance(entry, dict)]

    def _spelling(self, where: str, item: Mapping[str, object], known: tuple[str, ...]) -> None:
        """Report keys that are nearly known; others may belong to another reader of the document."""
        for key in item:
            near = [] if key in known else difflib.get_close_matches(key, known, n=1, cutoff=0.85)
            if near:
                self._found.error(f"{where} has the unknown key `{key}`", hint=f"did you mean `{near[0]}`?")


def duplicates(items: Iterable[_T]) -> list[_T]:
    """The items that come more than once, each once, in order.

    Example:
        >>> duplicates(["a", "b", "a", "a"])
        ['a']
    """
    seen: set[_T] = set()
    twice: dict[_T, None] = {}
    for item in items:
        if item in seen:
            twice[item] = None
        seen.add(item)
    return list(twice)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _show(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)
