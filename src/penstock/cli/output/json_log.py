"""What is printed on standard error as JSON, a line for each message, for whoever collects logs.

    {"time": "2026-01-31T12:00:00.000+00:00", "level": "info", "message": "batch 3: 0.4 s; ...", "batch": 3, ...}

`level` is `error`, `warning` or `info`. The lines of one message, such as the text and the caret below it, stay
together. Lines that tell how the job goes on have `application`, `batch`, `seconds`, `tuples_in` and `tuples_out`, too.

Example:
    >>> out = io.StringIO()
    >>> log = JsonLog(out)
    >>> print(chr(10).join(["a.spl:1:2: error: no", "  1 | x"]), file=log)
    >>> {name: value for name, value in json.loads(out.getvalue()).items() if name != "time"}
    {'level': 'error', 'message': 'a.spl:1:2: error: no\\n  1 | x'}
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import click

VARIABLE = "PENSTOCK_LOG_FORMAT"
"""The environment variable that is `json` where messages are, so that runs started anew have it, too."""

_ERROR = re.compile(r"^(?:\S+: )?(?:internal )?error: |^given up|^no feasible solution")
_WARNING = re.compile(r"^(?:\S+: )?warning: |has failed")


class JsonLog(io.TextIOBase):
    """A stream that writes a line of JSON for each message.

    Args:
        out: Where the lines go.
    """

    encoding, errors = "utf-8", "strict"

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._text = ""

    def write(self, text: str) -> int:
        """Take a piece of a message; one that ends a line ends it."""
        self._text += text
        if self._text.endswith("\n"):
            message, self._text = self._text.rstrip("\n"), ""
            if message:
                self.write_message(message)
        return len(text)

    def write_message(self, message: str, **more: Any) -> None:
        """Write a message, with more about it."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "level": level_of(message), "message": message, **more}
        self._out.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        self._out.flush()

    def flush(self) -> None:
        """Write what waits for the end of its line."""
        self._out.flush()

    def fileno(self) -> int:
        """That of the stream behind it."""
        return self._out.fileno()


def level_of(message: str) -> str:
    """How much a message matters.

    Example:
        >>> [level_of(text) for text in ("error: no", "a.spl:1:1: error: no", "warning: well", "batch 3: 0.4 s")]
        ['error', 'error', 'warning', 'info']
    """
    if _ERROR.match(message):
        return "error"
    return "warning" if _WARNING.search(message) else "info"


def log_as_json() -> None:
    """Let all messages of this process be JSON from now on."""
    if not isinstance(sys.stderr, JsonLog):
        sys.stderr = JsonLog(sys.stderr)


def choose_log_format(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """A callback of an option that says how messages are written."""
    if value is not None:
        os.environ[VARIABLE] = value
    if os.environ.get(VARIABLE) == "json":
        log_as_json()
