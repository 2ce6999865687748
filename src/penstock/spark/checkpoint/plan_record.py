"""A plan is versioned with the checkpoint that it wrote.

State is stored by PE, so a checkpoint belongs to one graph and one way to cut it into PEs. Starting from it with
another goes through a savepoint first (`spark.savepoints.switch_plan`), or is refused, with a message that says what
changed: nothing is ever dropped or mixed up in silence.

A record says besides with which number the batches of this plan began (`first_batch`), and, while a savepoint is being
made the start of a plan, where that lies (`switching`).

The Python code of operators is compared, too (`code_fingerprint`). A stateless operator goes on with new code; of one
that has state the user has to say that the new code can go on with what the old code has left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import LOST, make_folder, write_durably
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.compiler.open_loops import has_open_loop
from penstock.compiler.resuming import RECORD, read_record
from penstock.ir.codec import fingerprint
from penstock.ir.graph import Application
from penstock.ir.models import OperatorModel, State
from penstock.runtime.sources.waiting import has_gate
from penstock.spark.checkpoint.code_fingerprint import PYTHON

FORMAT = 4
"""Of all that lies in a checkpoint; it changes with the form of state, because a worker that finds none begins anew."""

PLAN = ("pes", "channels", "key_groups", "tables")
"""The parts of a record that tell plans of one program apart."""

_COMPARED = ("format", "application", "graph", "open_loop", "gate", *PLAN)

SWITCHING, FOLLOWS, BEGAN = "switching", "follows", "began"
"""Notes in a record: where the savepoint of a change of plans lies, whether the job waits for more, and where the
sources stood that Spark reads by itself when this plan began."""


def claim(
    checkpoint: Path,
    plan: PhysicalPlan,
    code: Mapping[str, str] | None = None,
    *,
    accept_changed_code: bool = False,
    follows: bool = False,
    notice: Callable[[str], None] = print,
) -> bool:
    """Take a checkpoint folder for a plan; tells whether a job is to be resumed there.

    Args:
        checkpoint: The folder.
        plan: How the job is cut into PEs.
        code: The fingerprint of each operator that is written in Python.
        accept_changed_code: Whether code of operators with state may have changed.
        follows: Whether the job waits for more where sources can have more.
        notice: Is told of code that has changed.

    Raises:
        UserError: The folder belongs to another graph, another plan or another version; it is damaged; or the code of
            an operator with state has changed.
    """
    mine, theirs = {**record_of(plan, code), FOLLOWS: follows}, read_record(checkpoint)
    if theirs is None:
        refuse_remains(checkpoint)
        write_record(checkpoint, mine)
        return False
    # What a switch of plans has noted stays.
    mine = {**{name: theirs[name] for name in theirs if name not in mine}, **mine}
    mine["first_batch"] = theirs.get("first_batch", 0)
    changed = _difference(theirs, mine)
    if changed:
        raise UserError(
            f"the checkpoint `{checkpoint}` cannot be resumed: {changed}",
            hint="start with the program and options that wrote it, or with a new checkpoint folder",
        )
    compare_code(checkpoint, plan.application, theirs, mine, accept_changed_code, notice)
    if theirs != mine:
        write_record(checkpoint, mine)
    return True


def record_of(plan: PhysicalPlan, code: Mapping[str, str] | None = None, first_batch: int = 0) -> dict[str, Any]:
    """The record of a plan."""
    return {**_fingerprint(plan), "first_batch": first_batch, "python": PYTHON, "code": dict(code or {})}


def has_other_plan(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> bool:
    """Whether a record is of another plan, or of a changed graph, that a savepoint carries state over from."""
    others = {name for name in _COMPARED if theirs.get(name) != mine[name]}
    return bool(others) and others <= {*PLAN, "graph"}


def write_record(checkpoint: Path, mine: Mapping[str, object]) -> None:
    """Write the record of a checkpoint; a crash leaves the one before."""
    make_folder(checkpoint)
    write_durably(checkpoint / RECORD, json.dumps(mine, indent=2).encode() + b"\n")


def refuse_remains(checkpoint: Path) -> None:
    """Refuse a folder in which a job has run that nothing is known of.

    Raises:
        UserError: It is one.
    """
    left = [path.name for path in checkpoint.iterdir()] if checkpoint.exists() else []
    remains = sorted({"sinks", "sources", "spark"}.intersection(left))
    if remains:
        raise UserError(
            f"the checkpoint `{checkpoint}` is damaged: there is no `{checkpoint / RECORD}`, but `{remains[0]}`",
            hint=LOST,
        )


def compare_code(
    checkpoint: Path,
    application: Application,
    theirs: Mapping[str, Any],
    mine: Mapping[str, Any],
    accepts: bool,
    notice: Callable[[str], None],
) -> None:
    """Tell of code that has changed since a checkpoint was written.

    Raises:
        UserError: It is that of an operator with state, and the user does not accept it.
    """
    if theirs.get("python") != mine["python"]:
        notice(
            f"the checkpoint was written with Python {theirs.get('python')}, this is {mine['python']}: "
            "whether the code of operators has changed cannot be told"
        )
        return
    then, now = theirs.get("code", {}), mine["code"]
    # Of one that is not in the record nothing is known: it is new, or an older version of penstock did not see it.
    changed = sorted(id_ for id_ in then if now.get(id_) != then[id_])
    with_state = [id_ for id_ in changed if _has_state(application, id_)]
    if with_state and not accepts:
        raise UserError(
            f"the Python code of {_listed(with_state)} has changed since the checkpoint `{checkpoint}` was written, "
            "and it has state",
            hint="--accept-changed-code goes on with the state that the old code has left; "
            "or start with a new checkpoint folder",
        )
    if changed:
        notice(f"the Python code of {_listed(changed)} has changed since the checkpoint was written; going on with it")


def _has_state(application: Application, id_: str) -> bool:
    operator = application.operator.get(id_)
    return operator is None or not operator.inputs or operator.model.state is not State.STATELESS


def _listed(ids: list[str]) -> str:
    return ", ".join(f"`{id_}`" for id_ in ids)


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


def _fingerprint(plan: PhysicalPlan) -> dict[str, object]:
    return {
        "format": FORMAT,
        "application": plan.application.name,
        "graph": fingerprint(_as_stored(plan.application)),
        "pes": [list(pe.operators) for pe in plan.pes],
        "channels": [pe.channels for pe in plan.pes],
        "key_groups": plan.groups,
        "tables": {region: list(table) for region, table in plan.tables.items()},
        "open_loop": has_open_loop(plan.application),
        "gate": has_gate(plan.application),
    }


def _as_stored(application: Application) -> Application:
    """The graph with nothing in its models but what decides where state lies; the rest may follow from code."""
    operators = tuple(
        replace(o, model=OperatorModel(state=o.model.state, partition_by=o.model.partition_by))
        for o in application.operators
    )
    return replace(application, operators=operators)


def refuse_other_program(theirs: Mapping[str, Any], mine: Mapping[str, Any], checkpoint: Path) -> None:
    """Refuse a savepoint of another application, or of one whose loop or clock is another.

    Args:
        theirs: What the savepoint says of its program.
        mine: The record of the plan that is to go on from it.
        checkpoint: The folder.

    Raises:
        UserError: It is one.
    """
    changed = _other_application(theirs, mine)
    if changed:
        raise UserError(
            f"the checkpoint `{checkpoint}` cannot be resumed: {changed}",
            hint="start with the program that wrote it, or with a new checkpoint folder",
        )


def _difference(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> str | None:
    if theirs.get("format") != mine["format"]:
        return f"it has format {theirs.get('format')}, this version of penstock writes {mine['format']}"
    changed = _other_application(theirs, mine)
    if changed is None and theirs.get("graph") != mine["graph"]:
        return "the application has changed since it was written"
    return changed or _other_plan(theirs, mine)


def _other_application(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> str | None:
    if theirs.get("application") != mine["application"]:
        return f"it belongs to the application `{theirs.get('application')}`, this is `{mine['application']}`"
    if theirs.get("open_loop", False) != mine["open_loop"]:
        ways = ("inside one PE", "through batches")
        return f"its loop led {ways[bool(theirs.get('open_loop'))]}, now it is to lead {ways[bool(mine['open_loop'])]}"
    if theirs.get("gate", False) != mine["gate"]:
        return "it was written by another version of penstock, which read Kafka in another way"
    return None


def _other_plan(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> str | None:
    if theirs.get("pes") != mine["pes"]:
        then, now = theirs.get("pes", ()), mine["pes"]
        return f"its operators were fused into {len(then)} PEs, now they are fused into {len(now)} others"
    if theirs.get("channels") != mine["channels"]:
        return f"its PEs had {theirs.get('channels')} channels, now they have {mine['channels']}"
    if any(theirs.get(name) != mine[name] for name in PLAN):
        return "its key groups lay on other channels"
    return None
