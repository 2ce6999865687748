"""What guards the API: the token, the host that was asked for, the size and the time of a request.

On this machine alone (loopback) no token is needed unless one is set. A page of another site may ask a browser on this
machine to call us; so requests for another host name, and changes that come from another origin or are no JSON, are
refused.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request

from penstock.base.diagnostics import UserError
from penstock.base.json_source import parse_json

MOST_BODY_BYTES = 1 << 20
"""Of a request."""

MOST_PACKAGE_BYTES = 32 << 20
"""Of a request that brings a job: a package of 16 MiB in base64 fits."""

BODY_SECONDS = 30.0
"""How long a request may take to arrive."""

COOKIE = "penstock_token"


class Refused(Exception):
    """A request that is refused, with its status."""

    def __init__(self, status: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Who may ask.

    Attributes:
        token: What a request must show; None where none is needed.
        hosts: The names and addresses under which we are asked.
    """

    token: str | None
    hosts: frozenset[str]

    def check(self, request: Request, *, is_open: bool) -> None:
        """Let a request pass, or refuse it.

        Args:
            request: The request.
            is_open: Whether it needs no token: health, and what a login page needs.

        Raises:
            Refused: It may not.
        """
        host = _host_of(request.headers.get("host", ""))
        if self.hosts and host not in self.hosts:
            raise Refused(421, f"this is no service for the host `{host[:80]}`")
        origin = request.headers.get("origin")
        if request.method not in ("GET", "HEAD") and origin is not None and not self._is_ours(origin, request):
            raise Refused(403, f"a page of `{origin[:80]}` may change nothing here")
        if self.token is not None and not is_open and not self._has_token(request):
            raise Refused(401, "a token is needed", "send `Authorization: Bearer TOKEN`, or set PENSTOCK_TOKEN")

    def _is_ours(self, origin: str, request: Request) -> bool:
        try:
            return urlsplit(origin).netloc == request.headers.get("host")
        except ValueError:
            return False

    def _has_token(self, request: Request) -> bool:
        kind, _, shown = request.headers.get("authorization", "").partition(" ")
        given = shown.strip() if kind.lower() == "bearer" else request.cookies.get(COOKIE, "")
        return hmac.compare_digest(given.encode(), (self.token or "").encode())


def _host_of(header: str) -> str:
    """The name in a Host header, without the port.

    Example:
        >>> _host_of("127.0.0.1:8600"), _host_of("[::1]:8600"), _host_of("LOCALHOST")
        ('127.0.0.1', '::1', 'localhost')
    """
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine alone.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
        (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def read_body(request: Request, most: int = MOST_BODY_BYTES) -> object:
    """The JSON of a request.

    Args:
        request: The request.
        most: How many bytes it may have.

    Raises:
        Refused: It is none, is too large, or takes too long.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "a request is JSON", "send `Content-Type: application/json`")
    try:
        content = await asyncio.wait_for(_receive(request, most), BODY_SECONDS)
    except TimeoutError:
        raise Refused(408, f"the request took more than {BODY_SECONDS:g} s to arrive") from None
    except ClientDisconnect:
        raise Refused(400, "the request was broken off") from None
    try:
        return parse_json(content.decode("utf-8"), "the request")
    except (UnicodeDecodeError, RecursionError, json.JSONDecodeError):
        raise Refused(400, "the request is no JSON") from None
    except UserError as error:
        raise Refused(400, error.diagnostics[0].message, error.diagnostics[0].hint) from None


async def _receive(request: Request, most: int) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > most:
            raise Refused(413, f"the request is more than {most >> 20} MiB")
    return bytes(content)
