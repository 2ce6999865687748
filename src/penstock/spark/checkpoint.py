"""A plan is versioned with the checkpoint that it wrote.

State is stored by PE, so a checkpoint belongs to one graph and one way to cut it into PEs. Starting from it with
another is refused, with a message that says what changed: nothing is ever dropped or mixed up in silence.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from penstock.codegen.plan import PhysicalPlan
from penstock.diagnostics import UserError
from penstock.ir.codec import to_json

FORMAT = 1
FILE = "plan.json"


def claim(checkpoint: Path, plan: PhysicalPlan) -> bool:
    """Take a checkpoint folder for a plan; tells whether a job is to be resumed there.

    Raises:
        UserError: The folder belongs to another graph, another plan or another version.
    """
    path = checkpoint / FILE
    mine = _fingerprint(plan)
    if not path.exists():
        checkpoint.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(mine, indent=2) + "\n", encoding="utf-8")
        return False
    theirs = json.loads(path.read_text(encoding="utf-8"))
    changed = _difference(theirs, mine)
    if changed:
        raise UserError(
            f"the checkpoint `{checkpoint}` cannot be resumed: {changed}",
            hint="start with the program and options that wrote it, or with a new checkpoint folder",
        )
    return True


def _fingerprint(plan: PhysicalPlan) -> dict[str, object]:
    graph = json.dumps(to_json(plan.application), sort_keys=True)
    return {
        "format": FORMAT,
        "application": plan.application.name,
        "graph": hashlib.sha256(graph.encode()).hexdigest(),
        "pes": [list(pe.operators) for pe in plan.pes],
        "channels": [pe.channels for pe in plan.pes],
    }


def _difference(theirs: dict[str, object], mine: dict[str, object]) -> str | None:
    if theirs.get("format") != mine["format"]:
        return f"it has format {theirs.get('format')}, this version of penstock writes {mine['format']}"
    if theirs.get("application") != mine["application"]:
        return f"it belongs to the application `{theirs.get('application')}`, this is `{mine['application']}`"
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
