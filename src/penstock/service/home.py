"""The home of a service: whose it is, and what lies there that the store knows nothing of."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.service.jobs.process import Attempt
from penstock.service.states.job_state import FINAL
from penstock.service.store.store import Store

_REMOVED = ".removed-"
"""In the names of folders that are to be deleted; names of jobs have no dots."""


def take_home(home: Path) -> int:
    """Make a home and take it; its descriptor, which the system lets go of when the process ends, however it ends.

    The folder itself is locked: a file in it could be deleted, and made and locked by another service.

    Raises:
        UserError: Another service has it, or it cannot be made.
    """
    try:
        # Code, settings and the store are for nobody else.
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"cannot use `{home}`: {error.strerror}", hint="give another --home") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise UserError(f"another service uses `{home}`", hint="give another --home, or stop that one") from None
    return descriptor


def stop_strangers(home: Path, known: Iterable[str]) -> Iterator[str]:
    """Ask the processes of jobs that the store does not know to stop, as when its file was deleted; the jobs' names."""
    names = set(known)
    for folder in sorted((home / "jobs").glob("*")):
        attempts = [Attempt(folder=run) for run in folder.glob("runs/*")]
        running = [attempt for attempt in attempts if attempt.process is not None and attempt.process.state is not None]
        if folder.name not in names and running:
            for attempt in running:
                attempt.ask_to_stop()
            yield folder.name


def forget_job(store: Store, folder: Path, job_id: str) -> bool:
    """Forget a job that is over, and delete its folder; whether it was over. Its name is free at once."""
    aside = folder.with_name(f".{folder.name}{_REMOVED}{time.time_ns()}")
    with store.transaction():
        if not store.remove_job(job_id, FINAL):
            return False
        if folder.exists():
            folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)
    return True


def clear_removed(home: Path) -> None:
    """Delete the folders of jobs that were forgotten, where the service was killed before it came to that."""
    for folder in (home / "jobs").glob(f".*{_REMOVED}*"):
        shutil.rmtree(folder, ignore_errors=True)


def set_aside(folder: Path) -> Path | None:
    """Rename a folder that a job has run in and that the store knows nothing of; its new name, None if nobody ran.

    Raises:
        UserError: The job still runs.
    """
    runs = [Attempt(folder=run) for run in folder.glob("runs/*")]
    if not runs:
        return None
    if any(run.is_alive for run in runs):
        message = f"a job `{folder.name}` that this service does not know still runs in `{folder}`"
        raise UserError(message, hint="wait until it has stopped, or give it another name")
    number = 1
    while (aside := folder.with_name(f".{folder.name}.lost-{number}")).exists():
        number += 1
    return folder.rename(aside)
