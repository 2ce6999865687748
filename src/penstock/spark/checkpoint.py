"""A plan is versioned with the checkpoint that it wrote.

State is stored by PE, so a checkpoint belongs to one graph and one way to cut it into PEs. Starting from it with
another is refused, with a message that says what changed: nothing is ever dropped or mixed up in silence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.codegen.plan import PhysicalPlan
from penstock.diagnostics import UserError
from penstock.ir.codec import fingerprint
from penstock.spark.open_loops import has_open_loop
from penstock.spark.waiting import has_gate

FORMAT = 1
FILE = "plan.json"


def claim(checkpoint: Path, plan: PhysicalPlan) -> bool:
    """Take a checkpoint folder for a plan; tells whether a job is to be resumed there.

    Raises:
        UserError: The folder belongs to another graph, another plan or another version.
    """
    mine, theirs = _fingerprint(plan), claimed(checkpoint)
    if theirs is None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        (checkpoint / FILE).write_text(json.dumps(mine, indent=2) + "\n", encoding="utf-8")
        return False
    changed = _difference(theirs, mine)
    if changed:
        raise UserError(
            f"the checkpoint `{checkpoint}` cannot be resumed: {changed}",
            hint="start with the program and options that wrote it, or with a new checkpoint folder",
        )
    return True


def clear_false_start(folder: Path) -> None:
    """Remove the halves of files that a query has left which died while it logged its very first batch.

    Spark would refuse to start there (`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`), although nothing was processed.

    Args:
        folder: Spark's own, inside the checkpoint.
    """
    offsets = folder / "offsets"
    left = list(offsets.iterdir()) if offsets.exists() else []
    if not any(path.name.isdecimal() for path in left):
        for path in left:
            path.unlink(missing_ok=True)


def claimed(checkpoint: Path) -> dict[str, Any] | None:
    """What a checkpoint folder says of the plan that it was taken for; None if no job has taken it."""
    path = checkpoint / FILE
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _fingerprint(plan: PhysicalPlan) -> dict[str, object]:
    return {
        "format": FORMAT,
        "application": plan.application.name,
        "graph": fingerprint(plan.application),
        "pes": [list(pe.operators) for pe in plan.pes],
        "channels": [pe.channels for pe in plan.pes],
        "open_loop": has_open_loop(plan.application),
        "gate": has_gate(plan.application),
    }


def _difference(theirs: dict[str, object], mine: dict[str, object]) -> str | None:
    if theirs.get("format") != mine["format"]:
        return f"it has format {theirs.get('format')}, this version of penstock writes {mine['format']}"
    if theirs.get("application") != mine["application"]:
        return f"it belongs to the application `{theirs.get('application')}`, this is `{mine['application']}`"
    if theirs.get("open_loop", False) != mine["open_loop"]:
        ways = ("inside one PE", "through batches")
        return f"its loop led {ways[bool(theirs.get('open_loop'))]}, now it is to lead {ways[bool(mine['open_loop'])]}"
    if theirs.get("gate", False) != mine["gate"]:
        return "it was written by another version of penstock, which read Kafka in another way"
    if theirs.get("graph") != mine["graph"]:
        return "the application has changed since it was written"
    if theirs.get("pes") != mine["pes"]:
        then, now = theirs.get("pes"), mine["pes"]
        assert isinstance(then, list)
        assert isinstance(now, list)
        return f"its operators were fused into {len(then)} PEs, now they are fused into {len(now)} others"
    if theirs.get("channels") != mine["channels"]:
        return f"its PEs had {theirs.get('channels')} channels, now they have {mine['channels']}"
    return None
