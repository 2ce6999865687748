"""Progress of long work, on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

_QUIET_SECONDS = 1.0


def slow_progress(command: str) -> Callable[[str], None]:
    """Reports a line at a time, but only where the work takes long enough to wonder about."""
    began = time.monotonic()

    def report(line: str) -> None:
        if time.monotonic() - began > _QUIET_SECONDS:
            click.echo(f"{command}: {line}", err=True)

    return report
