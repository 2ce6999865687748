"""The routes of the page: each is a view of the service's store, drawn as HTML from the wheel alone."""

from __future__ import annotations

import hmac
import time
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from penstock.base.figures import figure
from penstock.base.redaction import redact
from penstock.service.api.guard import COOKIE, Refused
from penstock.service.learn.views import learn_price
from penstock.service.page.charts import Line, draw_chart
from penstock.service.page.job_graph import draw_graph, name_bottleneck
from penstock.service.service import Service
from penstock.service.states.job_state import FINAL, JobState
from penstock.service.store.records import JobRecord, SampleRecord

_STATIC = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
_SECURITY = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MOST_LOGIN_BYTES = 4_096
_MOST_ROWS = 500
_RECENT_SECONDS = 12 * 3600.0
"""What is older is shown with its date."""


def page_routes(service: Service, token: str | None) -> list[BaseRoute]:
    """All routes of the page.

    Args:
        service: Whom it shows.
        token: What a browser must show once, if anything.
    """
    pages = _Pages(service, token)
    return [
        Route("/", pages.overview),
        Route("/live/overview", pages.live_overview),
        Route("/jobs/{job}", pages.job),
        Route("/live/jobs/{job}", pages.live_job),
        Route("/decisions", pages.decisions),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route("/static/{name}", pages.static),
    ]


class _Pages:
    """The views."""

    def __init__(self, service: Service, token: str | None) -> None:
        self._service, self._token = service, token
        loader = PackageLoader("penstock.service.page")
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
        self._templates.filters |= {"figure": _figure, "plain": _plain, "clock": _clock, "short": _short}

    def _draw(self, name: str, status: int = 200, **values: Any) -> Response:
        text = self._templates.get_template(name).render(**values)
        return HTMLResponse(redact(text), status, _SECURITY)

    async def overview(self, request: Request) -> Response:
        """All jobs."""
        values = await run_in_threadpool(self._overview_values)
        return self._draw("overview.html", title="penstock serve", **values)

    async def live_overview(self, request: Request) -> Response:
        """The part of it that changes."""
        return self._draw("overview_live.html", **await run_in_threadpool(self._overview_values))

    async def job(self, request: Request) -> Response:
        """One job."""
        values = await run_in_threadpool(self._job_values, request.path_params["job"])
        return self._draw("job.html", title=values["job"].id, **values)

    async def live_job(self, request: Request) -> Response:
        """The part of it that changes."""
        return self._draw("job_live.html", **await run_in_threadpool(self._job_values, request.path_params["job"]))

    async def decisions(self, request: Request) -> Response:
        """The latest decisions with their reasons."""
        found = await run_in_threadpool(lambda: self._service.store.decisions(most=30))
        return self._draw("decisions.html", title="decisions", decisions=found)

    async def login(self, request: Request) -> Response:
        """Ask for the token, and keep it in a cookie of the browser."""
        if request.method == "GET":
            return self._draw("login.html", title="token", is_wrong=False)
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > _MOST_LOGIN_BYTES:
                raise Refused(413, "the request is too large")
        given = parse_qs(content.decode(errors="replace")).get("token", [""])[0]
        if self._token is None or not hmac.compare_digest(given.encode(), self._token.encode()):
            return self._draw("login.html", 401, title="token", is_wrong=True)
        answer = RedirectResponse("/", 303)
        is_tls = request.url.scheme == "https"
        answer.set_cookie(COOKIE, given, httponly=True, samesite="strict", secure=is_tls)
        return answer

    async def static(self, request: Request) -> Response:
        """The style and the script."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise Refused(404, "there is no such file")
        content = files("penstock.service.page").joinpath("static", name).read_bytes()
        return Response(content, headers=_SECURITY | {"Content-Type": _STATIC[name], "Cache-Control": "no-cache"})

    def _overview_values(self) -> dict[str, Any]:
        service = self._service
        found = service.store.jobs()
        records = sorted(found, key=_order)[:_MOST_ROWS]
        samples = {record.id: service.store.samples(record.id, most=60) for record in records if record.template}
        nodes = service.nodes()
        rows = [_row(record, samples.get(record.id, [])) for record in records]
        longest = max([max(row["used"], row["job"].mips) for row in rows], default=0.0) or 1.0
        placed = [place for place, row in enumerate(rows) if row["job"].mips]
        first_below = placed[-1] + 1 if placed else 0
        for place, row in enumerate(rows):
            # The line stands behind the last that has a place, if anybody behind it waits.
            row["is_below"] = place == first_below and not _is_over(row["job"])
            row["allotted_percent"] = round(100 * row["job"].mips / longest, 1)
            row["used_percent"] = round(100 * row["used"] / longest, 1)
        return {
            "rows": rows,
            "not_shown": len(found) - len(records),
            "open_jobs": [record for record in records if not _is_over(record)],
            "nodes": nodes,
            "capacity": sum(node.mips for node in nodes),
            "used": sum(row["used"] for row in rows),
            "allotted": sum(record.mips for record in records),
            "importance": sum(row["importance"] for row in rows),
            "waterline": max((row["job"].rank for row in rows if row["job"].mips), default=0),
            "events": list(reversed(service.store.events(most=25))),
            "importance_chart": draw_chart("importance", _sums(samples, "importance", "earned")),
            "mips_chart": draw_chart("mips", [*_sums(samples, "mips", "used"), *self._allotted()]),
        }

    def _allotted(self, job: str | None = None) -> list[Line]:
        """What decisions have allotted, to one job or to all."""
        points = []
        for decision in reversed(self._service.store.decisions(most=60)):
            grants = decision.plan["grants"]
            mips = decision.mips_used if job is None else grants[job]["mips"] if job in grants else 0.0
            points.append((decision.at, mips))
        return [Line(name="allotted", points=points, color="var(--amber)", dashes="6 3")]

    def _job_values(self, job_id: str) -> dict[str, Any]:
        service = self._service
        record = service.job(job_id)
        samples = service.store.samples(job_id, most=120)
        last = samples[-1] if samples and record.mips else None
        template = record.template_record(record.template or record.templates[0].id)
        price, doubt = learn_price([s for s in samples if s.template == template.id])
        unsure = "assumed" if doubt >= 1 else f"± {100 * doubt:.0f} %"
        return {
            "job": record,
            "why": _why(record),
            "used": last.mips if last else 0.0,
            "ingest": last.ingest_tps if last else 0.0,
            "limit": record.ingest_tps if record.mips else None,
            "price": figure(price, 3),
            "doubt": f", {unsure}",
            "importance": last.importance if last else 0.0,
            "graph": draw_graph(template.description, last),
            "bottleneck": name_bottleneck(last, record.cores, service.settings.core_mips),
            "rates": list(last.streams.items())[:100] if last else [],
            "pes": _by_pe(last),
            "mips_chart": draw_chart("mips", [_used(samples), *self._allotted(job_id)]),
            "events": list(reversed(service.store.events(job_id, most=30))),
            "log": service.log(job_id, 4_000),
        }


def _by_pe(sample: SampleRecord | None) -> list[tuple[str, float, str]]:
    """For each PE its mips, and for a tuple a second of the job's; behind them what Spark uses beside."""
    if sample is None or not sample.pes:
        return []
    rest = max(0.0, sample.mips - sum(sample.pes.values()))
    found = [*sorted(sample.pes.items(), key=lambda pe: -pe[1])[:100], ("Spark, and the driver", rest)]
    taken = sample.ingest_tps
    return [(name, mips, figure(mips / taken, 3) if taken else "") for name, mips in found]


def _is_over(record: JobRecord) -> bool:
    return record.state in FINAL or record.state == JobState.FAILED


def _order(record: JobRecord) -> tuple[bool, bool, int, bool, int]:
    return _is_over(record), not record.required, record.rank, not record.mips, record.number


def _row(record: JobRecord, samples: list[SampleRecord]) -> dict[str, Any]:
    last = samples[-1] if samples and record.mips else None
    return {
        "job": record,
        "used": last.mips if last else 0.0,
        "ingest": last.ingest_tps if last else 0.0,
        "importance": last.importance if last else 0.0,
        "template": record.template if len(record.templates) > 1 else None,
        "why": _why(record),
    }


def _why(record: JobRecord) -> str:
    if record.state == JobState.FAILED:
        return record.error
    if record.state in FINAL:
        return ""
    if record.wanted != "run":
        return "as its user wants"
    return record.reason or "waits for the next decision"


def _sums(samples: dict[str, list[SampleRecord]], what: str, name: str) -> list[Line]:
    """One line: the sum over all jobs at each look, of which the samples are some milliseconds apart."""
    points: list[tuple[float, float]] = []
    seen: set[str] = set()
    for sample in sorted((sample for taken in samples.values() for sample in taken), key=lambda sample: sample.at):
        value = getattr(sample, what)
        if points and sample.job not in seen and sample.at - points[-1][0] < sample.seconds / 2:
            points[-1] = (points[-1][0], points[-1][1] + value)
        else:
            points.append((sample.at, value))
            seen.clear()
        seen.add(sample.job)
    return [Line(name=name, points=points, color="var(--blue)")]


def _used(samples: list[SampleRecord]) -> Line:
    return Line(name="used", points=[(sample.at, sample.mips) for sample in samples], color="var(--blue)")


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else figure(value, 3)


def _plain(value: float) -> str:
    return f"{value:.12g}"


def _clock(at: float) -> str:
    is_recent = abs(time.time() - at) < _RECENT_SECONDS
    return time.strftime("%H:%M:%S" if is_recent else "%Y-%m-%d %H:%M", time.localtime(at))


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:299]}…"
