"""The plan file: which operators share a PE, on how many channels, and what that will sustain.

`docs/formats/plan.md` describes it. `penstock optimize` writes it and `penstock run --plan` reads it. A plan belongs to
one application: its fingerprint is that of the graph, so that a plan for an older version of a program is refused.

Example:
    >>> from penstock.ir.graph import Application
    >>> empty = Application(name="Empty")
    >>> plan = PlanFile(application="Empty", fingerprint=fingerprint(empty), fusion=(("a", "b"),), channels=2)
    >>> plan_from_json(plan_to_json(plan)) == plan
    True
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.base.json_source import read_json
from penstock.ir.codec import fingerprint
from penstock.ir.graph import Application
from penstock.model.reading import AMOUNT, COUNT, LIST, NAME, NAMES, OBJECT, TEXT, Field, Reader, Record
from penstock.optimizer.spark_problem import Groups, inner_operators
from penstock.parallel.pe_demands import broken_demands

VERSION = 1

_PLAN = (
    Field("version", lambda _: True, "the version"),
    Field("application", *TEXT),
    Field("fingerprint", *NAME),
    Field("fusion", *LIST),
    Field("channels", *COUNT, default=None),
    Field("hosts", *NAMES, default=[]),
    Field("predicted", *OBJECT, default={}),
    Field("measured", *OBJECT, default={}),
)
_PREDICTED = (Field("throughput_tps", *AMOUNT), Field("bottleneck", *TEXT, default=""))
_MEASURED = (Field("throughput_tps", *AMOUNT), Field("unfused_tps", *AMOUNT, default=0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """A plan that can be kept.

    Attributes:
        application: The name of the program.
        fingerprint: Of its graph.
        fusion: The operators of each PE; sources and sinks are left out.
        channels: How many channels parallel regions get; None leaves it to `@parallel` annotations.
        hosts: For which hosts it was made; none where that was the machine itself.
        predicted_tps: What the sources will give in a second, by the model.
        bottleneck: What holds the plan up, by the model.
        measured_tps: What they gave.
        unfused_tps: What they gave without fusion.
    """

    application: str
    fingerprint: str
    fusion: Groups
    channels: int | None = None
    hosts: tuple[str, ...] = ()
    predicted_tps: float | None = None
    bottleneck: str = ""
    measured_tps: float | None = None
    unfused_tps: float | None = None

    def check(self, application: Application, path: str = "plan") -> None:
        """Refuse a plan of another application.

        Raises:
            UserError: With what is different.
        """
        if self.application != application.name:
            message = f"{path}: the plan is for the application `{self.application}`, this is `{application.name}`"
            raise UserError(message, hint="make one for it: penstock optimize APP -o FILE")
        found = Diagnostics()
        known = inner_operators(application)
        held = [id_ for group in self.fusion for id_ in group]
        for id_ in held:
            if id_ not in known:
                hint = did_you_mean(id_, known)
                found.error(f"{path}: the plan fuses `{id_}`, which the application does not have", hint=hint)
        for id_ in known:
            if held.count(id_) != 1:
                times = "no PE" if id_ not in held else f"{held.count(id_)} PEs"
                found.error(f"{path}: operator `{id_}` is in {times} of the plan", hint="put it in one")
        found.raise_if_any()
        for broken in broken_demands(application, self.fusion):
            found.error(f"{path}: the plan breaks a constraint: {broken}", hint="penstock optimize keeps them")
        found.raise_if_any()
        if self.fingerprint != fingerprint(application):
            message = f"{path}: `{application.name}` has changed since the plan was made"
            raise UserError(message, hint="make a new one: penstock optimize APP -o FILE")


def read_plan(path: Path) -> PlanFile:
    """Read a plan.

    Raises:
        UserError: The file cannot be read or is no plan; every mistake is named.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise UserError(f"{path}: the plan is not an object", hint="penstock optimize APP -o FILE writes one")
    return plan_from_json(value, str(path))


def plan_for(application: Application, path: Path) -> PlanFile:
    """Read the plan of an application.

    Raises:
        UserError: The file cannot be read or is no plan, or the plan does not fit the application.
    """
    plan = read_plan(path)
    plan.check(application, str(path))
    return plan


def write_plan(plan: PlanFile, path: Path) -> None:
    """Write a plan, for `read_plan` and for people."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plan_to_json(plan), indent=2) + "\n", encoding="utf-8")


def plan_from_json(value: Record, path: str = "plan") -> PlanFile:
    """A plan from its JSON value; `path` is for messages.

    Raises:
        UserError: It is no plan; every mistake is named.
    """
    reader = Reader(path)
    reader.version(value, VERSION, "plan")
    head = reader.record({"version": VERSION, **value}, _PLAN, "the plan")
    predicted, measured = (
        _optional(reader, value, "predicted", _PREDICTED),
        _optional(reader, value, "measured", _MEASURED),
    )
    fusion = value.get("fusion")
    for number, group in enumerate(fusion if isinstance(fusion, list) else []):
        if not group or not NAMES[0](group):
            reader.complain(f"PE {number} of `fusion` is {json.dumps(group)[:40]}", "write a list of names")
    reader.raise_if_any()
    assert head is not None
    return PlanFile(
        application=head["application"],
        fingerprint=head["fingerprint"],
        fusion=tuple(tuple(group) for group in head["fusion"]),
        channels=head["channels"],
        hosts=tuple(head["hosts"]),
        predicted_tps=predicted.get("throughput_tps"),
        bottleneck=predicted.get("bottleneck", ""),
        measured_tps=measured.get("throughput_tps"),
        unfused_tps=measured.get("unfused_tps"),
    )


def plan_to_json(plan: PlanFile) -> Record:
    """A plan as `write_plan` writes it."""
    found: Record = {
        "version": VERSION,
        "application": plan.application,
        "fingerprint": plan.fingerprint,
        "fusion": [list(group) for group in plan.fusion],
    }
    if plan.channels is not None:
        found["channels"] = plan.channels
    if plan.hosts:
        found["hosts"] = list(plan.hosts)
    if plan.predicted_tps is not None:
        found["predicted"] = {"throughput_tps": plan.predicted_tps, "bottleneck": plan.bottleneck}
    if plan.measured_tps is not None:
        found["measured"] = {"throughput_tps": plan.measured_tps, "unfused_tps": plan.unfused_tps or 0.0}
    return found


def _optional(reader: Reader, value: Record, key: str, fields: tuple[Field, ...]) -> Record:
    given = value.get(key)
    return reader.record(given, fields, f"`{key}`") or {} if isinstance(given, dict) and given else {}
