"""`penstock run --restart`: the run as a process of its own, started again with back-off when it fails.

A process of its own, because what fails may be Java or the machine's memory, and not only an operator. A run that was
well is started again however often it fails; one that fails several times without a batch in between is given up, with
its own exit status. An error of the user (a program that does not compile, a checkpoint of another program) is not
tried again: the first run ends with exit status 1 before it has processed anything.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 60.0
"""How long to wait before the first of several restarts in a row, each of which doubles it, and at most."""

FINAL = frozenset({0, 2, 3, 130})
"""Exit statuses of a run that did not fail: done, wrong usage, no solution, interrupted."""


def waits(first: float = FIRST_SECONDS, longest: float = LONGEST_SECONDS) -> Iterator[float]:
    """How long to wait before each restart in a row.

    Example:
        >>> from itertools import islice
        >>> list(islice(waits(1, 5), 5))
        [1, 2, 4, 5, 5]
    """
    while True:
        yield min(first, longest)
        first = min(2 * first, longest)


def supervise(
    command: Sequence[str],
    checkpoint: Path,
    most: int,
    *,
    sleep: Callable[[float], None] = time.sleep,
    first_seconds: float = FIRST_SECONDS,
) -> int:
    """Run a command until it ends, and start it again as long as it fails; its last exit status.

    Args:
        command: The run.
        checkpoint: Of the run; it tells whether a batch was processed.
        most: How often in a row to start it again without a batch in between.
        sleep: Waits.
        first_seconds: The first wait of several in a row.
    """
    failures, pauses, has_begun = 0, waits(first_seconds), False
    while True:
        before = last_commit(checkpoint)
        status, is_stopped = _run(command)
        has_worked = last_commit(checkpoint) != before
        has_begun = has_begun or has_worked
        if status in FINAL or is_stopped or (status == 1 and not has_begun):
            return status
        if has_worked:
            failures, pauses = 0, waits(first_seconds)
        failures += 1
        if failures > most:
            click.echo(f"given up: it has failed {failures} times in a row without a batch in between", err=True)
            return status
        pause = next(pauses)
        click.echo(f"the run has failed ({_describe(status)}); starting it again in {pause:g} s", err=True)
        sleep(pause)


def last_commit(checkpoint: Path) -> tuple[str, ...]:
    """The batches whose ends are in the checkpoint, of the job and of those that run together with it."""
    found = [*checkpoint.glob("spark/commits/*"), *checkpoint.glob("*/spark/commits/*")]
    return tuple(sorted(str(path) for path in found if path.name.isdigit()))


def _run(command: Sequence[str]) -> tuple[int, bool]:
    """The exit status of a run, and whether somebody has asked us to stop meanwhile."""
    process = subprocess.Popen(list(command))
    with _passing_on(process) as asked:
        status = process.wait()
    return (128 - status if status < 0 else status), bool(asked)


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Pass on what asks us to stop; Ctrl-C reaches the run by itself, where both have one terminal."""
    asked: list[int] = []

    def take(number: int, frame: object) -> None:
        asked.append(number)
        if number != signal.SIGINT or not sys.stdin.isatty():
            process.send_signal(number)

    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _describe(status: int) -> str:
    return f"signal {status - 128}" if status > 128 else f"exit status {status}"


def without_restart(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command but `--restart`.

    Example:
        >>> without_restart(["run", "a.spl", "--restart", "5", "--out", "o", "--restart=3"])
        ['run', 'a.spl', '--out', 'o']
    """
    left: list[str] = []
    skip = False
    for argument in arguments:
        if skip or argument == "--restart":
            skip = not skip
        elif not argument.startswith("--restart="):
            left.append(argument)
    return left
