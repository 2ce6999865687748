"""Asks a running job for other channels, and tells how long it paused.

The request is a file in the checkpoint, which the job looks for between two batches; the answer is another one, which
the job writes when its first batch on the new channels is done.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import write_durably
from penstock.compiler.resuming import read_record
from penstock.spark.checkpoint.lock import check_unlocked

Tables = Mapping[str, Sequence[int]]

REQUEST, ANSWER = "rescale.json", "rescaled.json"
LOOK_SECONDS = 0.2


def is_running(checkpoint: Path) -> bool:
    """Whether a job holds a checkpoint.

    Raises:
        UserError: The folder is no checkpoint.
    """
    if read_record(checkpoint) is None:
        raise UserError(f"`{checkpoint}` is not the checkpoint of a job")
    try:
        check_unlocked(checkpoint)
    except UserError:
        return True
    return False


def request_rescale(
    checkpoint: Path, channels: int | None, tables: Tables | None = None
) -> tuple[dict[str, float], list[int]]:
    """Ask the job of a checkpoint for other channels and wait until it has them; as `rescale_job` answers.

    Args:
        checkpoint: Of the job.
        channels: How many; as many as now without it.
        tables: From region, or an operator in it, to the channel that holds each key group.

    Raises:
        UserError: The job has ended, or cannot do it; then it goes on as it was.
    """
    id_ = write_request(checkpoint, channels, tables)
    while True:
        answer = answer_to(checkpoint, id_)
        if "seconds" in answer:
            return answer["seconds"], answer["channels"]
        if "refused" in answer:
            raise UserError(answer["refused"], hint="the job goes on as it was")
        # Between two plans nobody holds the checkpoint.
        if not (answer and is_process(answer["process"])) and not is_running(checkpoint):
            drop_request(checkpoint)
            raise UserError("the job has ended before it was rescaled", hint="rescale it now that it is stopped")
        time.sleep(LOOK_SECONDS)


def write_request(checkpoint: Path, channels: int | None, tables: Tables | None = None) -> str:
    """Ask the job of a checkpoint for other channels, or tables; returns the id that its answer has."""
    asked: dict[str, Any] = {"id": uuid.uuid4().hex, "channels": channels, "asked_ns": time.time_ns()}
    if tables is not None:
        asked["tables"] = {name: list(table) for name, table in tables.items()}
    write_durably(checkpoint / REQUEST, json.dumps(asked).encode())
    return str(asked["id"])


def answer_to(checkpoint: Path, id_: str) -> dict[str, Any]:
    """What a job has answered a request so far: which process is at it, then its seconds and its channels."""
    answer = _read(checkpoint / ANSWER) or {}
    return answer if answer.get("id") == id_ else {}


def drop_request(checkpoint: Path) -> None:
    """Ask for nothing any more."""
    (checkpoint / REQUEST).unlink(missing_ok=True)


def is_process(number: int) -> bool:
    """Whether there is a process of that number on this machine."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def has_request(checkpoint: Path) -> bool:
    """Whether somebody asks for other channels."""
    return (checkpoint / REQUEST).exists()


def take_request(checkpoint: Path) -> dict[str, Any] | None:
    """The request, which is taken away; who asked can see that somebody is at it."""
    asked = _read(checkpoint / REQUEST)
    if asked is not None:
        answer_request(checkpoint, asked, process=os.getpid())
    drop_request(checkpoint)
    return asked


def answer_request(checkpoint: Path, asked: dict[str, Any], **answer: Any) -> None:
    """Tell who asked."""
    write_durably(checkpoint / ANSWER, json.dumps({"id": asked["id"], **answer}).encode())


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return found
