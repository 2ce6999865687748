"""Serves the API and the page until the service is told to stop."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from penstock.base.diagnostics import UserError
from penstock.service.api.app import make_app
from penstock.service.api.connections import PatientProtocol
from penstock.service.api.guard import Guard, is_loopback
from penstock.service.page.pages import page_routes
from penstock.service.service import Service

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_REQUESTS = 200
"""At a time; others are answered with 503."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the service is asked, and by whom.

    Attributes:
        host: The address that it listens on.
        port: The port; 0 for one that is free.
        token: What requests must show; None for nothing.
        certificate: The file of the certificate, for TLS.
        key: The file of its key.
        names: Other names that it is asked by.
    """

    host: str = "127.0.0.1"
    port: int = 8600
    token: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse an address that everybody could use, and TLS that does not work.

        Raises:
            UserError: It is open to others without a token or TLS, or a file is no certificate or key.
        """
        if self.key is not None and self.certificate is None:
            raise UserError("there is a --key without its --certificate", hint="give both for TLS")
        if not is_loopback(self.host):
            self._check_open()
        if self.certificate is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
            except (OSError, ValueError) as error:
                files = f"`{self.certificate}`" + (f" and `{self.key}`" if self.key is not None else "")
                hint = "give a certificate and its key as PEM; the key may be in the file of the certificate"
                raise UserError(f"no TLS with {files}: {getattr(error, 'reason', None) or error}", hint=hint) from None

    def _check_open(self) -> None:
        missing = [
            what for what, given in (("a token", self.token), ("TLS", self.certificate and self.key)) if not given
        ]
        if missing:
            hint = "set PENSTOCK_TOKEN, and give --certificate and --key; or listen on 127.0.0.1"
            raise UserError(f"on `{self.host}` others could run code here: {' and '.join(missing)} missing", hint=hint)

    @property
    def guard(self) -> Guard:
        """Who may ask."""
        hosts = frozenset({*LOOPBACK_NAMES, self.host, *self.names}) if is_loopback(self.host) else frozenset()
        return Guard(token=self.token, hosts=hosts)


def serve(
    service: Service,
    address: Address,
    ready: Callable[[str], None],
    stops: Callable[[Callable[[], None]], None] = lambda stop: None,
) -> None:
    """Serve until SIGTERM or Ctrl-C; jobs go on.

    Args:
        service: What is served.
        address: Where.
        ready: Is told the URL when requests are answered.
        stops: Is given a function that ends the serving.

    Raises:
        UserError: The address is in use.
    """
    address.check()
    config = uvicorn.Config(
        make_app(service, address.guard, page_routes(service, address.token)),
        ssl_certfile=None if address.certificate is None else str(address.certificate),
        ssl_keyfile=None if address.key is None else str(address.key),
        http=PatientProtocol,
        proxy_headers=False,
        log_config=None,
        access_log=False,
        limit_concurrency=MOST_REQUESTS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
        server_header=False,
        h11_max_incomplete_event_size=65_536,
        lifespan="off",
    )
    listening = _listen(address)
    scheme = "https" if address.certificate is not None else "http"
    host = f"[{address.host}]" if ":" in address.host else address.host
    server = _Server(config, lambda: ready(f"{scheme}://{host}:{listening.getsockname()[1]}"))
    stops(server.end)
    ticking = threading.Thread(target=service.run, name="penstock service")
    ticking.start()
    try:
        with listening:
            server.run(sockets=[listening])
    finally:
        service.stop()
        ticking.join()
        service.close()


class _Server(uvicorn.Server):
    """Says when it is ready, and takes SIGTERM as an orderly end."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def end(self) -> None:
        """End the serving."""
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not raised again behind the end, as uvicorn would: the process has more to do.
        self.should_exit = True


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        message = f"cannot listen on {address.host}:{address.port}: {getattr(error, 'strerror', None) or error}"
        raise UserError(message, hint="give another --port; 0 takes one that is free") from None
    return listening


class JsonLines(logging.Formatter):
    """Logs as JSON, one line each."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        found = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        found |= {key: value for key in ("kind", "job") if (value := getattr(record, key, None)) is not None}
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False)


def log_to_stderr() -> None:
    """Write structured logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("penstock.service")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
