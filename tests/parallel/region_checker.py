"""Checks by brute force whether a set of operators is a safe region; knows nothing of how regions are formed."""

from __future__ import annotations

from collections.abc import Iterable, Set

from penstock.ir.constraints import ConstraintKind
from penstock.ir.graph import Application, ErrorPolicy, Operator
from penstock.ir.models import Markers, Selectivity, State
from penstock.parallel.extensions import Extensions
from penstock.parallel.region_plan import ParallelRegions


def violations(application: Application, members: Set[str], extensions: Extensions) -> list[str]:
    """Every condition of section 3.1, and of ours, that a set of operators breaks."""
    found = [text for id_ in members for text in _alone(application, application.operator[id_], extensions)]
    entries = [id_ for id_ in members if not set(_before(application, id_)) & members]
    if len(entries) != 1 and not (extensions.fan_in and _is_connected(application, members)):
        found.append(f"entries {entries}")
    meets = any(len(_before(application, id_)) > 1 for id_ in members)
    if meets and any(not application.operator[id_].inputs for id_ in entries):
        found.append("a parallel source meets")
    found.extend(_fused_across(application, members))
    found.extend(_ways_back(application, members))
    for producer, consumer, stream, feedback in application.edges():
        if feedback and producer in members and consumer in members and consumer not in entries:
            found.append(f"loop over {stream}")
    if len({o.annotations for o in _nodes(application, members) if o.annotations}) > 1:
        found.append("widths")
    many = [o for o in _nodes(application, members) if _many(o)]
    if many and not extensions.by_time and any(o.model.spontaneous for o in _nodes(application, members)):
        found.append("prolific and spontaneous")
    if not found and possible_key(application, members, entries[0]) == frozenset():
        found.append("no key")
    return found


def possible_key(application: Application, members: Set[str], entry: str) -> frozenset[str] | None:
    """The largest key that is safe for all stateful members: None if there are none, empty if no key is safe."""
    stateful = [o for o in _nodes(application, members) if o.model.state is State.PARTITIONED]
    first = application.operator[entry]
    if not stateful:
        return None
    common = frozenset((first.inputs or first.outputs)[0].schema.names)
    for operator in stateful:
        common &= operator.model.partition_by[0] & _unchanged(application, members, operator.id)
    if not first.inputs:
        divided = first.model.partition_by[0] if first.model.state is State.PARTITIONED else frozenset()
        return divided if divided and divided <= common else frozenset()
    return common


def _unchanged(application: Application, members: Set[str], id_: str) -> frozenset[str]:
    """What reaches an operator as it entered, by every way."""
    operator = application.operator[id_]
    found = frozenset((operator.inputs or operator.outputs)[0].schema.names)
    for before in _before(application, id_):
        if before in members:
            found &= _unchanged(application, members, before)
            if application.operator[before].inputs:
                found &= application.operator[before].model.forwards
    return found


def _ways_back(application: Application, members: Set[str]) -> Iterable[str]:
    """Operators outside on a path that leaves the members and comes back."""
    for id_ in application.operator:
        if id_ not in members and _above(application, id_) & members and members & _below(application, id_):
            yield f"a way back by {id_}"


def _above(application: Application, id_: str) -> set[str]:
    return {x for before in _before(application, id_) for x in (before, *_above(application, before))}


def _below(application: Application, id_: str) -> set[str]:
    return {other for other in application.operator if id_ in _above(application, other)}


def _is_connected(application: Application, members: Set[str]) -> bool:
    reached, ready = set(), [min(members)]
    while ready:
        id_ = ready.pop()
        reached.add(id_)
        ends = [(p, c) for p, c, _, feedback in application.edges() if id_ in (p, c) and not feedback]
        ready.extend(x for pair in ends for x in pair if x in members and x not in reached)
    return reached == members


def groups(application: Application) -> list[set[str]]:
    """Operators that must share a PE, transitively."""
    found: list[set[str]] = []
    for constraint in application.constraints:
        if constraint.kind is ConstraintKind.PE_COLOCATION:
            merged = set(constraint.operators)
            merged.update(*(g for g in found if g & merged))
            found = [g for g in found if not g & merged] + [merged]
    return found


def chains(application: Application) -> Iterable[set[str]]:
    """Every chain of operators, of any length: all that can be a region if fan-out is at most one."""
    for entry in application.operator:
        chain: list[str] = []
        following = [entry]
        while len(following) == 1 and following[0] not in chain:
            chain.append(following[0])
            yield set(chain)
            following = [c for p, c, _, feedback in application.edges() if p == chain[-1] and not feedback]


def adjacent(application: Application, plan: ParallelRegions) -> Iterable[tuple[set[str], set[str]]]:
    """The operators of every two regions with a stream from one to the other."""
    for producer, consumer, _, feedback in application.edges():
        left, right = plan.region_of.get(producer), plan.region_of.get(consumer)
        if left and right and left is not right and not feedback:
            yield set(left.operators), set(right.operators)


def _nodes(application: Application, members: Set[str]) -> list[Operator]:
    return [application.operator[id_] for id_ in members]


def _before(application: Application, id_: str) -> list[str]:
    return [p for p, c, _, feedback in application.edges() if c == id_ and not feedback]


def _many(operator: Operator) -> bool:
    return bool(operator.inputs and operator.outputs) and operator.model.selectivity is Selectivity.UNKNOWN


def _alone(application: Application, operator: Operator, extensions: Extensions) -> Iterable[str]:
    model = operator.model
    if model.state is State.UNKNOWN or (model.state is State.PARTITIONED and not all(model.partition_by)):
        yield f"state of {operator.id}"
    if _many(operator) and (not extensions.prolific or (model.spontaneous and not extensions.by_time)):
        yield f"selectivity of {operator.id}"
    if sum(c == operator.id for _, c, _, _ in application.edges()) > 1 and not (
        extensions.fan_in and not operator.inputs[0].feedback and not _is_fused(application, operator)
    ):
        yield f"fan-in of {operator.id}"
    if sum(p == operator.id for p, _, _, _ in application.edges()) > 1 and not extensions.fan_out:
        yield f"fan-out of {operator.id}"
    if _reaches_waiting(application, operator, set()):
        yield f"markers of {operator.id}"


def _reaches_waiting(application: Application, operator: Operator, seen: set[str]) -> bool:
    """Whether a subscriber waits for markers, or markers of the operator reach one that does."""
    receivers = [application.operator[c] for p, c, _, _ in application.edges() if p == operator.id]
    if any(r.model.waits_for_markers for r in receivers):
        return True
    if operator.model.markers is Markers.NONE or operator.id in seen:
        return False
    passers = [r for r in receivers if r.model.markers is Markers.PASSED_ON]
    return any(_reaches_waiting(application, r, seen | {operator.id}) for r in passers)


def _is_fused(application: Application, operator: Operator) -> bool:
    return any(operator.id in group and len(group) > 1 for group in groups(application))


def _fused_across(application: Application, members: Set[str]) -> Iterable[str]:
    return (f"fused {group}" for group in groups(application) if group & members and not group <= members)


def loses(operator: Operator) -> bool:
    """Whether fewer than one tuple may leave by a port for one that comes in."""
    if not operator.inputs or not operator.outputs:
        return False
    skips = operator.on_error is ErrorPolicy.SKIP or len(operator.outputs) > 1
    return operator.model.selectivity is Selectivity.AT_MOST_ONE or skips
