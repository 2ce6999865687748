"""A service in this process, whose jobs are real processes without Spark."""

from __future__ import annotations

import base64
import http.client
import json
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.scheduler.problem.nodes import Node
from penstock.service.api.server import Address, serve
from penstock.service.carry_out.settings import Settings
from penstock.service.decide.plan import Grant
from penstock.service.jobs.process import Attempt
from penstock.service.jobs.submission import Submission
from penstock.service.service import Service
from service.pretend_job import SCRIPT

SOURCE = """composite Main { graph
  stream<int64 n> A = Beacon() { param iterations: 10u; output A: n = (int64) IterationCount(); }
  () as S = FileSink(A) { param file: "out.csv"; } }"""


def pretend(submission: Submission, grant: Grant, settings: Settings, attempt: Attempt) -> list[str]:
    how = submission.template(grant.template).settings.get("how", "long")
    checkpoint = settings.job_folder(submission.name) / "checkpoint"
    return [sys.executable, "-I", str(SCRIPT), str(attempt.report), str(checkpoint), how]


class Api:
    """Asks a service."""

    def __init__(self, url: str, token: str | None) -> None:
        self.url, self.token = url, token
        self.port = urlsplit(url).port or 0

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if data is not None else {}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, data, {**sent, **headers}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, content = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, content = error.code, error.read().decode()
        try:
            return status, json.loads(content)
        except ValueError:
            return status, content

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def state(self, job: str) -> str:
        return str(self.ask("GET", f"/api/jobs/{job}")[1]["state"])


def submission(name: str, how: str = "long", **more: object) -> dict[str, Any]:
    """A job that behaves as the settings say."""
    files = {"app.spl": base64.b64encode(SOURCE.encode()).decode()}
    return {"name": name, "templates": [{"app": "app.spl", "set": {"how": how}}], "files": files, **more}


@contextmanager
def running_service(home: Path, token: str | None = None, mips: float = 1000.0) -> Iterator[tuple[Api, Service]]:
    """A service that answers on a free port, until the block ends; its jobs are ended with it."""
    nodes = (Node(id="local", mips=mips),)
    settings = Settings(home=home, nodes=nodes, macro_seconds=2.0, micro_seconds=0.5, look_seconds=0.1, first_wait=0.1)
    service = Service(settings, command=pretend)
    urls: list[str] = []
    ends: list[Any] = []
    is_ready = threading.Event()

    def ready(url: str) -> None:
        urls.append(url)
        is_ready.set()

    thread = threading.Thread(target=serve, args=(service, Address(port=0, token=token), ready, ends.append))
    thread.start()
    try:
        assert is_ready.wait(60)
        yield Api(urls[0], token), service
    finally:
        attempts = [service.carrier.attempt(record) for record in service.store.jobs()]
        ends[0]()
        thread.join(60)
        for attempt in attempts:
            attempt.kill()
