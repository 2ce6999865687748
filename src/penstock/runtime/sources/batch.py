"""A batch of a job's sources, as it is planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.base.diagnostics import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBatch:
    """A planned batch of the sources.

    Attributes:
        parts: The parts that tasks read by columns, see `read_part`.
        rows: The rows that were read when it was planned.
        has_ended: Whether nothing follows.
    """

    parts: tuple[dict[str, Any], ...] = ()
    rows: tuple[pa.RecordBatch, ...] = ()
    has_ended: bool = False


def check_form(state: dict[str, Any], wanted: str) -> None:
    """Refuse to go on where sources stood that were read in another way.

    Raises:
        UserError: They were.
    """
    if state["form"] != wanted:
        raise UserError(
            "the sources cannot go on where they stood, because they are read in another way now",
            hint="start with the files and options that wrote the checkpoint, or with a new checkpoint folder",
        )
