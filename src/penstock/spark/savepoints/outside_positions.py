"""Where the sources stand that Spark reads by itself: Kafka and imported streams.

Spark logs a line for each of its sources with every batch (`spark/offsets`), in the order in which the query names
them. A savepoint keeps those lines by operator (`positions` in `savepoint.json`), and so does the record of a plan, of
what it began with. A new query of Spark's begins there.

    Kafka              {"topic": {"0": 17, "1": 4}}: by partition the offset of the next message
    imported streams   {"tables": {"Exporter/Out/…": 3}, "ended": 0}: how many lines of each table's log have been read
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import LOST
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.ir.graph import Application

Positions = dict[str, Any]
"""By operator where it stands; one that has none has not begun."""


def refuse_bound(application: Application) -> None:
    """Refuse a savepoint of a job that reads what can only begin at its start, such as a DataFrame of the user's.

    Raises:
        UserError: It does.
    """
    bound = [o for o in application.operators if o.facts.is_read_by_engine and not o.facts.position_travels]
    if bound:
        raise UserError(
            f"the plan of this job cannot change: where `{bound[0].id}` ({bound[0].kind}) stands is known to Spark "
            "alone, for the plan that it had",
            hint="resume it with the fusion and the channels that it had, or start with a new checkpoint folder",
        )


def read_positions(folder: Path, plan: PhysicalPlan, done: int, began: Mapping[str, Any]) -> Positions:
    """Where the sources that Spark reads stand behind the last batch that is done.

    Args:
        folder: Of Spark's own checkpoint.
        plan: That the job has run.
        done: How many batches of this plan are done.
        began: Where they stood before the first of them, as far as that is known.

    Raises:
        UserError: A file of Spark's is not there, or is not one.
    """
    outside = outside_operators(plan)
    path = folder / "offsets" / str(done - 1)
    lines = _read_lines(path)[1:] if done and outside else []
    if lines and len(lines) < len(outside):
        raise UserError(f"the checkpoint is damaged: `{path}` does not have all sources", hint=LOST)
    found = dict(began)
    for number, id_ in enumerate(outside):
        # Before its first batch a source has logged where it is to begin.
        first = folder / "sources" / str(number) / "0"
        value = lines[number] if lines else _read_lines(first)[-1] if id_ not in began and first.exists() else None
        if value is not None:
            found[id_] = value
    return found


def outside_operators(plan: PhysicalPlan) -> list[str]:
    """The sources that Spark reads itself, in the order of its log."""
    operator = plan.application.operator
    own = [pe.operators[0] for pe in plan.pes if pe.role == "source"]
    return [id_ for id_ in own if operator[id_].facts.is_read_by_engine]


def _read_lines(path: Path) -> list[Any]:
    """The lines of a file of Spark's behind its version; None for a source that has not begun."""
    try:
        _, *lines = path.read_text(encoding="utf-8").splitlines()
        return [None if line == "-" else json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise UserError(f"the checkpoint is damaged: `{path}` cannot be read: {error}", hint=LOST) from None
