"""A parallel plan for people and for tools: what `penstock explain --stage parallel` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.base.diagnostics import Diagnostic
from penstock.ir.graph import Application, Operator
from penstock.ir.models import State
from penstock.ir.pretty import expression_text
from penstock.parallel.analysis import Analysis
from penstock.parallel.loops import loops
from penstock.parallel.reasons import Reason, key_text, listing
from penstock.parallel.region_plan import Boundary, Entry, Exit, Joint, Ordering, ParallelRegions, Region


def pretty_regions(application: Application, plan: ParallelRegions) -> str:
    """The plan as text: regions from left to right, then what is not parallel, with the reasons.

    Example:
        >>> from penstock.parallel.regions import parallel_regions
        >>> app = Application(name="Main", operators=(Operator(id="A", kind="Beacon"),))
        >>> print(pretty_regions(app, parallel_regions(app)))
        no parallel regions
        <BLANKLINE>
        not parallel:
          A  Beacon
            state: nothing is known of its parts; a source that reads several says so with `partitionBy`
    """
    parts = ["\n".join(_region(application, plan, region)) for region in plan.regions] or ["no parallel regions"]
    if plan.refused:
        lines = [line for id_, why in plan.refused.items() for line in _refused(application.operator[id_], why)]
        parts.append("\n".join(["not parallel:", *lines]))
    parts.extend(warning_text(warning) for warning in plan.warnings)
    return "\n\n".join(parts)


def warning_text(warning: Diagnostic) -> str:
    """A warning with its place, as compilers print it.

    Example:
        >>> warning_text(Diagnostic(message="`@parallel` on `A` is not followed"))
        'warning: `@parallel` on `A` is not followed'
    """
    return str(warning).replace("error: ", "warning: ", 1)


def regions_json(application: Application, plan: ParallelRegions) -> dict[str, Any]:
    """The plan as a JSON object."""
    return {
        "application": application.name,
        "regions": [_region_json(region) for region in plan.regions],
        "operators": [_operator_json(plan, o) for o in application.operators],
        "boundaries": [_boundary_json(plan, boundary) for boundary in plan.boundaries],
        "warnings": [warning.to_json() for warning in plan.warnings],
    }


def summary_of(region: Region) -> str:
    """A region in one line.

    Example:
        >>> from penstock.ir.models import Selectivity
        >>> summary_of(Region(id="R1", operators=("A",), selectivity=Selectivity.AT_MOST_ONE))
        'R1: no key, at most one, routing only'
    """
    key = f"key {key_text(region.key)}" if region.key else "no key"
    return f"{region.id}: {key}, {_selectivity(region)}, {region.ordering.value}"


def _selectivity(region: Region) -> str:
    return "any number" if region.selectivity.value == "unknown" else region.selectivity.value


def _region(application: Application, plan: ParallelRegions, region: Region) -> Iterator[str]:
    yield summary_of(region) + _width(region)
    for entry in region.entries or (None,):
        yield f"  first joint: {_entry(plan, region, entry)}"
    for id_ in region.operators:
        yield f"    {id_}  {application.operator[id_].kind}: {allowance(plan.analyses[id_])}"
    for exit_ in region.exits:
        yield f"  last joint: {_exit(plan, exit_)}"
    yield f"  order: {_order(region)}"
    if any(not loop.isdisjoint(region.operators) for loop in loops(application)):
        yield "  on a loop: on channels where the loop leads through batches (`run --loops`), else on one"


def _width(region: Region) -> str:
    widths = " x ".join(expression_text(w) for w in region.widths)
    return f", width {widths} (@parallel)" if widths else ""


def _entry(plan: ParallelRegions, region: Region, entry: Entry | None) -> str:
    if entry is None:
        return f"{region.first_joint.value}, {_route(region)}"
    boundary = plan.crossing[entry.stream, entry.receiver]
    where = f", behind `{boundary.producer}`" + (f", to `{entry.receiver}`" if len(region.entries) > 1 else "")
    why = "" if boundary.about == entry.receiver else f"; {_why(boundary)}"
    return f"{entry.joint.value}, {_route(region)}{where}{why}"


def _route(region: Region) -> str:
    return f"{region.routing.value} {key_text(region.key)}" if region.key else region.routing.value


def _exit(plan: ParallelRegions, exit_: Exit) -> str:
    if exit_.stream is None or exit_.receiver is None:
        return f"{exit_.joint.value} behind `{exit_.operator}`"
    boundary = plan.crossing[exit_.stream, exit_.receiver]
    return f"{exit_.joint.value}, before `{exit_.receiver}`; {_why(boundary)}"


def _why(boundary: Boundary) -> str:
    return f"`{boundary.about}` stays outside. {boundary.reason}"


_ORDERS = {
    Ordering.ROUND_ROBIN: "the merge takes turns, as the split does; no number travels",
    Ordering.SEQNO: "every tuple carries a sequence number, and none is missing at the merge",
    Ordering.SEQNO_AND_PULSES: "every tuple carries a sequence number; pulses tell that a number will not come",
    Ordering.SEQNO_AND_SECOND_LEVEL: "the tuples that come of one are numbered behind its sequence number",
    Ordering.PLACES: "every tuple carries its place in the order of the whole job, which orders all that meets",
    Ordering.ROUTING_ONLY: "there is none to keep beyond that of each channel",
}


def _order(region: Region) -> str:
    fires = f"; {listing(region.spontaneous)} fires by time" if region.spontaneous else ""
    return f"{region.ordering.value}: {_ORDERS[region.ordering]}{fires}"


def allowance(analysis: Analysis) -> str:
    """The state, selectivity and forwarding of an operator that may be parallel, in a few words."""
    state = f"partitioned by {key_text(analysis.key)}" if analysis.state is State.PARTITIONED else analysis.state.value
    many = "any number" if analysis.selectivity.value == "unknown" else analysis.selectivity.value
    return f"{state}, {many}, forwards {key_text(analysis.forwards)}"


def _refused(operator: Operator, reasons: tuple[Reason, ...]) -> Iterator[str]:
    yield f"  {operator.id}  {operator.kind}"
    yield from (f"    {reason}" for reason in reasons)


def _region_json(region: Region) -> dict[str, Any]:
    return {
        "id": region.id,
        "operators": list(region.operators),
        "key": sorted(region.key),
        "selectivity": _selectivity(region),
        "width": [expression_text(w) for w in region.widths],
        "spontaneous": list(region.spontaneous),
        "first_joint": region.first_joint.value,
        "entries": [{"stream": e.stream, "receiver": e.receiver, "joint": e.joint.value} for e in region.entries],
        "routing": region.routing.value,
        "ordering": region.ordering.value,
        "levels": region.levels,
        "exits": [
            {"operator": e.operator, "stream": e.stream, "receiver": e.receiver, "joint": e.joint.value}
            for e in region.exits
        ],
    }


def _operator_json(plan: ParallelRegions, operator: Operator) -> dict[str, Any]:
    analysis = plan.analyses[operator.id]
    region = plan.region_of.get(operator.id)
    return {
        "id": operator.id,
        "kind": operator.kind,
        "region": None if region is None else region.id,
        "state": analysis.state.value,
        "key": sorted(analysis.key),
        "selectivity": analysis.selectivity.value,
        "forwards": sorted(analysis.forwards),
        "reasons": [_reason_json(reason) for reason in plan.refused.get(operator.id, ())],
    }


def _boundary_json(plan: ParallelRegions, boundary: Boundary) -> dict[str, Any]:
    return {
        "stream": boundary.stream,
        "from": boundary.producer,
        "to": boundary.consumer,
        "joint": _joint(plan, boundary).value,
        "about": boundary.about,
        "reason": _reason_json(boundary.reason),
    }


def _joint(plan: ParallelRegions, boundary: Boundary) -> Joint:
    """The joint at a boundary, as the region that it leaves sees it, else as the one that it enters does."""
    left = plan.region_of.get(boundary.producer)
    crossing = (boundary.stream, boundary.consumer)
    if left is None:
        entries = plan.region_of[boundary.consumer].entries
        return next(e.joint for e in entries if (e.stream, e.receiver) == crossing)
    return next(e.joint for e in left.exits if (e.stream, e.receiver) == crossing)


def _reason_json(reason: Reason) -> dict[str, str]:
    return {"condition": reason.condition.value, "text": reason.text}
