"""The plan that a checkpoint belongs to: what was chosen by itself stays as it was when a job is resumed.

State lies by PE and channel, so a checkpoint names the plan that wrote it. An engine writes the record
(`spark.checkpoint.plan_record`) and refuses what does not fit it; here it is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import LOST
from penstock.codegen.plan.channels import choose_channels

if TYPE_CHECKING:
    from penstock.codegen.plan.channels import Channels
    from penstock.ir.graph import Application
    from penstock.optimizer import Groups

RECORD = "plan.json"


def read_record(checkpoint: Path) -> dict[str, Any] | None:
    """The record of the plan in a checkpoint folder; None if no job has used the folder.

    Raises:
        UserError: The record cannot be read.
    """
    path = checkpoint / RECORD
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UserError(f"the checkpoint `{checkpoint}` is damaged: `{path}` is not the plan of a job", hint=LOST)
    return found


def resumed_loop(checkpoint: Path | None) -> bool | None:
    """Whether the loop of the job led through batches that a checkpoint belongs to; None if there is none."""
    found = read_record(checkpoint) if checkpoint is not None else None
    return None if found is None else bool(found.get("open_loop"))


def resumed_groups(checkpoint: Path | None) -> int | None:
    """The number of key groups of the job that a checkpoint belongs to; None if there is none."""
    found = read_record(checkpoint) if checkpoint is not None else None
    return None if found is None else found.get("key_groups")


def resumed_tables(checkpoint: Path | None, regions: Channels) -> dict[str, list[int]]:
    """The tables of key groups of the job that a checkpoint belongs to, for regions with as many channels as then.

    Args:
        checkpoint: The folder.
        regions: Those that run on several channels now.
    """
    found = (read_record(checkpoint) if checkpoint is not None else None) or {}
    had = {id_: width for pe, width in zip(found.get("pes", ()), found.get("channels", ()), strict=False) for id_ in pe}
    widths = {region: had.get(id_) for id_, region in regions.region.items()}
    return {
        region: table
        for region, table in found.get("tables", {}).items()
        if region in regions.tables and widths[region] == regions.width[region] and len(table) == regions.groups
    }


def resumed_plan(
    application: Application, checkpoint: Path | None, number: int | None = None
) -> tuple[Groups, int | None] | None:
    """The PEs and channels of the job that a checkpoint belongs to; whether they still fit is checked when it resumes.

    Args:
        application: What will run.
        checkpoint: The folder.
        number: The channels that the user asks for, if any: those go before.
    """
    found = (read_record(checkpoint) if checkpoint is not None else None) or {}
    pes, widths = found.get("pes"), found.get("channels")
    if not isinstance(pes, list):
        return None
    fusion = tuple(tuple(pe) for pe in pes)
    if number is not None or not isinstance(widths, list):
        return fusion, number
    had = {id_: width for pe, width in zip(fusion, widths, strict=False) for id_ in pe}
    return fusion, _same_channels(application, had, bool(found.get("open_loop")))


def _same_channels(application: Application, had: dict[str, int], is_open: bool) -> int | None:
    """The number that gives every operator the channels that it had; annotated regions may differ from the others."""
    wanted = {o.id: had[o.id] for o in application.operators if o.id in had}
    for number in (None, *sorted(set(had.values()))):
        given = choose_channels(application, number, loops_are_open=is_open)
        if all(given.width.get(given.region.get(id_, ""), 1) == width for id_, width in wanted.items()):
            return number
    return max(had.values(), default=1)
