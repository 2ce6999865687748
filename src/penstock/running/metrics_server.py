"""Serves the metrics of a run, `/metrics`, and its health, `/health`, to whoever watches it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from penstock.base.diagnostics import UserError
from penstock.running.job_metrics import Metrics

LOOPBACK = "127.0.0.1"
PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8"


def parse_address(text: str) -> tuple[str, int]:
    """The host and port of `HOST:PORT`, or of `PORT` on this machine.

    Raises:
        UserError: It is neither.

    Example:
        >>> parse_address("9464"), parse_address("0.0.0.0:9464"), parse_address("[::1]:80")
        (('127.0.0.1', 9464), ('0.0.0.0', 9464), ('::1', 80))
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535 or (":" in text and not host):
        raise UserError(f"`{text}` is not PORT or HOST:PORT", hint="for example 9464, or 0.0.0.0:9464")
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)


@contextmanager
def serve_metrics(address: str, metrics: Metrics) -> Iterator[tuple[str, int]]:
    """Serve metrics while the block runs; gives the host and the port, which the system chooses for port 0.

    Raises:
        UserError: The address is none, or is in use.
    """
    host, port = parse_address(address)
    handler = type("Handler", (_Handler,), {"metrics": metrics})
    kind = type("Server", (ThreadingHTTPServer,), {"address_family": _family(host), "daemon_threads": True})
    try:
        server = kind((host, port), handler)
    except OSError as error:
        hint = "give another port; 0 takes one that is free"
        raise UserError(f"metrics cannot be served at `{address}`: {error.strerror}", hint=hint) from None
    threading.Thread(target=server.serve_forever, name="penstock metrics", daemon=True).start()
    try:
        yield host, server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _family(host: str) -> int:
    import socket

    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Handler(BaseHTTPRequestHandler):
    """Answers for the two pages."""

    metrics: ClassVar[Metrics]
    timeout = 10

    def do_GET(self) -> None:
        """Answer a request."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(200, PROMETHEUS, self.metrics.text())
        elif path == "/health":
            self._answer(200, "application/json", json.dumps(self.metrics.health()) + "\n")
        else:
            self._answer(404, "text/plain", "there are /metrics and /health\n")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a scrape every few seconds is no news."""

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
