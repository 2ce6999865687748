"""The routes of the service: the REST API, metrics and health."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.base.diagnostics import UserError
from penstock.base.redaction import redact, redact_json
from penstock.service.api.guard import MOST_PACKAGE_BYTES, Guard, Refused, read_body
from penstock.service.api.metrics import metrics_text
from penstock.service.api.openapi import OPENAPI
from penstock.service.api.requests import read_changes, read_mips, read_rank, read_weight
from penstock.service.service import Conflict, Missing, Service
from penstock.service.states.job_state import Wanted
from penstock.service.store.records import DecisionRecord, EventRecord, JobRecord, SampleRecord

Endpoint = Callable[[Request], Awaitable[Response]]

_log = logging.getLogger("penstock.service")

OPEN = frozenset({"/api/health", "/login", "/static/page.css", "/static/page.js"})
"""Paths that need no token."""

MOST_LISTED, MOST_LOG_BYTES = 1_000, 1 << 20

MOST_SUBMITTED = 16
"""Jobs that may be on their way in at a time: each is held in memory."""

_HEAVY = 2
"""Requests that compute for long, such as reading a program, at a time; others do not wait for them."""


def make_app(service: Service, guard: Guard, pages: list[BaseRoute]) -> ASGIApp:
    """The application that answers all requests.

    Args:
        service: Whom it is about.
        guard: Who may ask.
        pages: More routes, for people.
    """
    routes = [*_Api(service).routes(), *pages]
    handlers: dict[Any, Any] = {
        Refused: _refused,
        UserError: _mistaken,
        HTTPException: _other,
        sqlite3.OperationalError: _unable,
        OSError: _unable,
        Exception: _broken,
    }
    return _Guarded(Starlette(routes=routes, exception_handlers=handlers), guard)


class _Guarded:
    """Asks the guard before anything else happens."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope, receive)
            try:
                self._guard.check(request, is_open=scope["path"] in OPEN)
            except Refused as error:
                answer: Response = _answer(error.status, error.message, error.hint)
                if error.status == 401 and "text/html" in request.headers.get("accept", ""):
                    answer = RedirectResponse("/login", 303)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _answer(status: int, message: str, hint: str | None = None, errors: list[Any] | None = None) -> JSONResponse:
    error = {"message": redact(message), "hint": None if hint is None else redact(hint), "errors": errors or []}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error": error}, status, headers)


async def _refused(request: Request, error: Refused) -> Response:
    return _answer(error.status, error.message, error.hint)


async def _mistaken(request: Request, error: UserError) -> Response:
    status = 404 if isinstance(error, Missing) else 409 if isinstance(error, Conflict) else 400
    first = error.diagnostics[0]
    return _answer(status, first.message, first.hint, [redact_json(d.to_json()) for d in error.diagnostics])


async def _other(request: Request, error: HTTPException) -> Response:
    answer = _answer(error.status_code, error.detail.lower() if error.detail else "refused")
    answer.headers.update(error.headers or {})
    if error.status_code == 405:
        # A path has a route for each method; the one that was found knows its own alone.
        path = request.scope["path"]
        routes = [route for route in request.app.routes if isinstance(route, Route) and route.path_regex.match(path)]
        answer.headers["Allow"] = ", ".join(sorted({method for route in routes for method in route.methods or ()}))
    return answer


async def _unable(request: Request, error: Exception) -> Response:
    _log.error("a request cannot be served: %s", error)
    reason = getattr(error, "strerror", None) or str(error)
    return _answer(
        503, f"the service cannot do that now: {reason}", "nothing was changed; see to its disk, and try again"
    )


async def _broken(request: Request, error: Exception) -> Response:
    _log.exception("a request has failed", extra={"path": request.url.path})
    return _answer(500, "internal error; the service's log says more")


class _Api:
    """The endpoints."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._reading, self._planning = CapacityLimiter(_HEAVY), CapacityLimiter(_HEAVY)
        self._submitted = 0

    def routes(self) -> list[BaseRoute]:
        """All of them."""
        get, post, put = ["GET"], ["POST"], ["PUT"]
        found: list[tuple[str, Endpoint, list[str]]] = [
            ("/api/health", self.health, get),
            ("/api/openapi.json", self.openapi, get),
            ("/metrics", self.metrics, get),
            ("/api/jobs", self.jobs, get),
            ("/api/jobs", self.submit, post),
            ("/api/jobs/{job}", self.job, get),
            ("/api/jobs/{job}", self.remove, ["DELETE"]),
            ("/api/jobs/{job}/cancel", self.wanting(Wanted.CANCEL), post),
            ("/api/jobs/{job}/suspend", self.wanting(Wanted.SUSPEND), post),
            ("/api/jobs/{job}/resume", self.wanting(Wanted.RUN), post),
            ("/api/jobs/{job}/weight", self.set_weight, put),
            ("/api/jobs/{job}/rank", self.set_rank, put),
            ("/api/jobs/{job}/log", self.log, get),
            ("/api/decisions", self.decisions, get),
            ("/api/decisions/{number}", self.decision, get),
            ("/api/events", self.events, get),
            ("/api/capacity", self.capacity, get),
            ("/api/capacity", self.set_capacity, put),
            ("/api/what-if", self.what_if, post),
        ]
        return [Route(path, endpoint, methods=methods) for path, endpoint, methods in found]

    async def health(self, request: Request) -> Response:
        """Whether the service works: its store answers, and its last tick did what it should."""
        jobs = await run_in_threadpool(self._service.store.jobs)
        if self._service.trouble:
            raise Refused(503, "the service cannot do its work now", "its log says more")
        return JSONResponse({"status": "running", "jobs": len(jobs)})

    async def openapi(self, request: Request) -> Response:
        """The description of this API."""
        return JSONResponse(OPENAPI)

    async def metrics(self, request: Request) -> Response:
        """Metrics for Prometheus."""
        text = await run_in_threadpool(metrics_text, self._service)
        return PlainTextResponse(text, media_type="text/plain; version=1.0.0")

    async def jobs(self, request: Request) -> Response:
        """All jobs."""
        service = self._service
        return JSONResponse(await run_in_threadpool(lambda: [job_answer(service, r) for r in service.store.jobs()]))

    async def submit(self, request: Request) -> Response:
        """Take a job."""
        if self._submitted >= MOST_SUBMITTED:
            raise Refused(503, "too many jobs are being submitted", "try again in a moment")
        self._submitted += 1
        try:
            document = await read_body(request, MOST_PACKAGE_BYTES)
            record = await to_thread.run_sync(self._service.submit, document, limiter=self._reading)
        finally:
            self._submitted -= 1
        return JSONResponse(job_answer(self._service, record), 201)

    async def job(self, request: Request) -> Response:
        """One job in full."""
        service, job = self._service, request.path_params["job"]
        return JSONResponse(redact_json(await run_in_threadpool(lambda: job_details(service, service.job(job)))))

    async def remove(self, request: Request) -> Response:
        """Forget a job that is over."""
        service, job = self._service, request.path_params["job"]
        await run_in_threadpool(service.remove, job)
        return JSONResponse({"id": job, "state": "removed"})

    def wanting(self, wanted: Wanted) -> Endpoint:
        """The endpoint by which a user says what a job shall do."""

        async def want(request: Request) -> Response:
            record = await run_in_threadpool(self._service.want, request.path_params["job"], wanted)
            return JSONResponse(job_answer(self._service, record), 202)

        return want

    async def set_weight(self, request: Request) -> Response:
        """Change the weight of a job."""
        weight = read_weight(await read_body(request))
        job = request.path_params["job"]
        record = await run_in_threadpool(lambda: self._service.set_importance(job, weight=weight))
        return JSONResponse(job_answer(self._service, record))

    async def set_rank(self, request: Request) -> Response:
        """Change the rank of a job, or whether it is required."""
        values = read_rank(await read_body(request))
        job = request.path_params["job"]
        record = await run_in_threadpool(lambda: self._service.set_importance(job, **values))
        return JSONResponse(job_answer(self._service, record))

    async def log(self, request: Request) -> Response:
        """The end of what a job's last process has printed."""
        most = _number(request, "bytes", 10_000, MOST_LOG_BYTES)
        return PlainTextResponse(await run_in_threadpool(self._service.log, request.path_params["job"], most))

    async def decisions(self, request: Request) -> Response:
        """The latest decisions, the newest first."""
        most = _number(request, "most", 20, MOST_LISTED)
        found = await run_in_threadpool(lambda: self._service.store.decisions(most=most))
        return JSONResponse([decision_answer(decision) for decision in found])

    async def decision(self, request: Request) -> Response:
        """One decision."""
        number = request.path_params["number"]
        known = number.isascii() and number.isdigit() and len(number) < 18
        found = await run_in_threadpool(self._service.store.decision, int(number)) if known else None
        if found is None:
            raise Refused(404, f"there is no decision `{number[:80]}`")
        return JSONResponse(decision_answer(found))

    async def events(self, request: Request) -> Response:
        """What has happened after an event, the oldest first."""
        after, most = _number(request, "after", 0, 2**53), _number(request, "most", 100, MOST_LISTED)
        found = await run_in_threadpool(lambda: self._service.store.events(after=after, most=most))
        return JSONResponse([event_answer(event) for event in found])

    async def capacity(self, request: Request) -> Response:
        """What the nodes give."""
        return JSONResponse({"mips": {n.id: n.mips for n in await run_in_threadpool(self._service.nodes)}})

    async def set_capacity(self, request: Request) -> Response:
        """Change what nodes give."""
        mips = read_mips(await read_body(request))
        await run_in_threadpool(self._service.set_capacity, mips)
        return await self.capacity(request)

    async def what_if(self, request: Request) -> Response:
        """The plan if weights, ranks or the capacity were others."""
        changes = read_changes(await read_body(request))
        plan = await to_thread.run_sync(self._service.what_if, changes, limiter=self._planning)
        return JSONResponse(json.loads(json.dumps(plan.to_json())))


def _number(request: Request, name: str, default: int, most: int) -> int:
    """A whole number among the parameters of a request.

    Raises:
        Refused: It is none.
    """
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 18 and int(text) <= most):
        raise Refused(400, f"the parameter {name} is `{text[:80]}`", f"write a whole number from 0 to {most:,}")
    return int(text)


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
