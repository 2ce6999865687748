"""The client of a service's API, for the commands."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from penstock.base.diagnostics import Diagnostic, UserError

DEFAULT_URL = "http://127.0.0.1:8600"
URL_VARIABLE, TOKEN_VARIABLE = "PENSTOCK_SERVER", "PENSTOCK_TOKEN"
_PATIENCE_SECONDS = 180.0


class Client:
    """Asks a service.

    Args:
        url: Of the service.
        token: What it wants to be shown.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.url = (url or os.environ.get(URL_VARIABLE) or DEFAULT_URL).rstrip("/")
        self._token = token or os.environ.get(TOKEN_VARIABLE)
        if not _is_url(self.url):
            raise UserError(f"`{self.url}` is not the URL of a service", hint=f"for example {DEFAULT_URL}")

    def get(self, *path: str) -> Any:
        """What the service tells of something."""
        return self._ask("GET", path, None)

    def post(self, *path: str, body: object | None = None) -> Any:
        """Let the service do something."""
        return self._ask("POST", path, body)

    def put(self, *path: str, body: object) -> Any:
        """Change something."""
        return self._ask("PUT", path, body)

    def delete(self, *path: str) -> Any:
        """Remove something."""
        return self._ask("DELETE", path, None)

    def text(self, *path: str, **query: int) -> str:
        """What the service tells as text."""
        return str(self._ask("GET", path, None, query, as_text=True))

    def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        body: object | None,
        query: Mapping[str, int] | None = None,
        *,
        as_text: bool = False,
    ) -> Any:
        if "" in path:
            raise UserError("the name of the job is empty", hint="`penstock status` lists them")
        url = "/".join((self.url, "api", *(quote(part, safe="") for part in path)))
        url += f"?{urlencode(query)}" if query else ""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        context = _trust() if url[:5] == "https" else None
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS, context=context) as answer:
                content = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLError):
                hint = "set PENSTOCK_CA to the file of the authority that has signed its certificate"
                raise UserError(f"{self.url} is not to be trusted: {reason}", hint=hint) from None
            hint = "start one with `penstock serve`, or give --server URL"
            raise UserError(f"no service answers at {self.url}: {reason}", hint=hint) from None
        return content if as_text else json.loads(content)


def _trust() -> ssl.SSLContext:
    authority = os.environ.get("PENSTOCK_CA")
    try:
        return ssl.create_default_context(cafile=authority)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"PENSTOCK_CA is `{authority}`: {reason}", hint="name a file of certificates as PEM") from None


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _refusal(error: urllib.error.HTTPError) -> UserError:
    try:
        told = json.loads(error.read().decode())["error"]
    except (ValueError, KeyError, TypeError, OSError):
        return UserError(f"the service answers {error.code}: {error.reason}")
    errors = told.get("errors") or []
    texts = [e.get("message") for e in errors if isinstance(e, dict)] or [told["message"]]
    hints = [e.get("hint") for e in errors if isinstance(e, dict)] or [told.get("hint")]
    return UserError([Diagnostic(message=str(text), hint=hint) for text, hint in zip(texts, hints, strict=True)])
