"""The model of an operator instance, once its code has been read.

Introduction:
    An operator definition vouches for the operator itself: a Functor keeps nothing between tuples. An invocation can
    add code, in a logic clause and in its expressions, that does. `operator_model` takes the definition's model and
    withdraws what the code of the instance contradicts. It is applied to every operator in one place (`invoke`), so a
    definition's model function speaks of its own parameters only.

Example:
    Functor with `output O: n = seen[server]++` and `mutable map<rstring, int32> seen`: stateless by definition,
    partitioned by `server` after the analysis; with `n = total++` unknown.

Algorithm:
    1. State. A stateful call, or an `onPunct` clause: unknown. A state variable that is changed: partitioned if
       `keyed_state` finds the key, else unknown. An operator that already is partitioned stays so, by what its keys
       have in common.
    2. Selectivity of a Custom: `submit_counts`, over all `onTuple` clauses.
    3. Forwarding: the attributes that every submitted tuple, or every output clause, copies unchanged.
    Each is one walk over the code.

When it does not apply:
    Sources have no tuple that comes in; what they are modelled as is their definition's business.

Reference:
    Auto-parallelization paper, section 3.2, "operator invocations can also contain imperative code". Mutability of
    parameters and statefulness come from the function prototypes, as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.ir.expressions import Attribute, Expression, Field, InputTuple, Literal, TupleLiteral, Variable
from penstock.ir.graph import Operator, OutputPort
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Selectivity, State, Why
from penstock.ir.statements import Function, Logic, Submit, SubmitPunctuation
from penstock.ir.types import TupleType
from penstock.toolkit.analysis.effects import (
    changed_attributes,
    changed_variables,
    immutable_locals,
    stateful_calls,
)
from penstock.toolkit.analysis.keyed_state import state_keys
from penstock.toolkit.analysis.submit_counts import NOTHING, SubmitCount, count_submits
from penstock.toolkit.core.definition import OperatorDefinition


def operator_model(
    definition: OperatorDefinition, operator: Operator, functions: Sequence[Function] = ()
) -> OperatorModel:
    """The model of an instance: its definition's, less what its code contradicts, with the definition's facts.

    Args:
        definition: Of the operator's kind.
        operator: The instance.
        functions: The application's functions; one that is called and not among them is taken for stateful.
    """
    return replace(restrict(definition.model(operator), operator, functions), facts=definition.facts)


def restrict(model: OperatorModel, operator: Operator, functions: Sequence[Function]) -> OperatorModel:
    """The model without what the operator's code contradicts."""
    calls = stateful_calls(operator, functions)
    forwards = model.forwards if operator.logic is None else _unchanged(model.forwards, operator.logic, functions)
    model = replace(model, side_effects=model.side_effects or bool(calls), forwards=forwards)
    if operator.logic is not None:
        model = _with_markers(model, operator.logic)
    if model.state is State.UNKNOWN:
        return model
    if calls:
        return unknown_state(model, f"it calls {_listing(calls)}, which may give another value on another channel")
    if operator.logic is not None and operator.logic.on_punctuation:
        return unknown_state(model, "its `onPunct` code runs once for all tuples before it")
    changed = changed_variables(operator, functions)
    return _with_state(model, operator, changed, functions) if changed else model


def _with_markers(model: OperatorModel, logic: Logic) -> OperatorModel:
    """The model with the window markers that the logic submits, or waits for, added to the operator's own."""
    gives = model.markers is Markers.NONE and any(isinstance(s, SubmitPunctuation) for s in logic.statements())
    return replace(
        model,
        markers=Markers.OWN if gives else model.markers,
        waits_for_markers=model.waits_for_markers or bool(logic.on_punctuation),
    )


def _unchanged(names: frozenset[str], logic: Logic, functions: Sequence[Function]) -> frozenset[str]:
    changed = changed_attributes(logic, functions, 0)
    return frozenset() if changed is None else names - changed


def unknown_state(model: OperatorModel, why: str) -> OperatorModel:
    """The model with unknown state, and the reason."""
    return replace(model, state=State.UNKNOWN, partition_by=(), why=(Why(Flag.STATE, why), *model.why))


def _with_state(
    model: OperatorModel, operator: Operator, changed: frozenset[str], functions: Sequence[Function]
) -> OperatorModel:
    keys = state_keys(operator, changed, functions)
    if not keys:
        reason = f"it changes the state {_listing(sorted(changed))}, which is not a map keyed by attributes"
        return unknown_state(model, reason)
    if model.state is State.PARTITIONED and model.partition_by != keys:
        shared = model.partition_by[0] & keys[0] if len(keys) == 1 else frozenset()
        if not shared:
            return unknown_state(model, "its state variables are keyed by other attributes than its windows")
        keys = (shared,)
    return replace(model, state=State.PARTITIONED, partition_by=keys)


def _listing(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def selectivity_of(count: SubmitCount) -> Selectivity:
    """The flag for a number of tuples out for one tuple in.

    Example:
        >>> selectivity_of(SubmitCount(0, 1)).value
        'at most one'
    """
    if count.greatest is None or count.greatest > 1:
        return Selectivity.UNKNOWN
    return Selectivity.EXACTLY_ONE if count == SubmitCount(1, 1) else Selectivity.AT_MOST_ONE


def submits_per_tuple(operator: Operator) -> SubmitCount:
    """The range of the number of tuples that a Custom submits for one it receives, on any port."""
    bodies = {h.port: h.body for h in operator.logic.on_tuple} if operator.logic is not None else {}
    found: SubmitCount | None = None
    for port in range(len(operator.inputs)):
        count = count_submits(bodies[port]) if port in bodies else NOTHING
        found = count if found is None else found.either(count)
    return NOTHING if found is None else found


def ends_a_stream(logic: Logic) -> bool:
    """Whether the logic may submit a final marker."""
    markers = (s.value for s in logic.statements() if isinstance(s, SubmitPunctuation))
    return any(not (isinstance(m, Literal) and m.value == "WindowMarker") for m in markers)


def forwarded_by_output_clause(operator: Operator) -> frozenset[str]:
    """The attributes of the first input port that every output port copies unchanged under the same name.

    A port without an output clause passes its tuples on as they are.
    """
    if not operator.inputs or not operator.outputs:
        return frozenset()
    per_port = [_copied(port, operator.inputs[0].schema) for port in operator.outputs]
    return frozenset.intersection(*per_port)


def _copied(port: OutputPort, schema: TupleType) -> frozenset[str]:
    if not port.assignments:
        return frozenset(a.name for a in port.schema.attributes if a in schema.attributes)
    return frozenset(a.attribute for a in port.assignments if _is_copy(a.value, a.attribute))


def _is_copy(value: Expression, name: str) -> bool:
    match value:
        case Attribute(name=attribute, port=0) | Field(base=InputTuple(port=0), name=attribute):
            return attribute == name
    return False


def forwarded_by_submits(operator: Operator) -> frozenset[str]:
    """The attributes of the first input port that every tuple that a Custom submits carries.

    Follows `submit(In, Out)`, tuple literals and immutable locals; what is built in other ways counts as changed. What
    the logic assigns to the received tuple before is not looked at here; `restrict` withdraws it.
    """
    if operator.logic is None or not operator.inputs:
        return frozenset()
    local = immutable_locals(operator.logic)
    submitted = [_carried(s.value, local) for s in operator.logic.statements() if isinstance(s, Submit)]
    return frozenset.intersection(*submitted) if submitted else frozenset()


def _carried(value: Expression, local: Mapping[str, Expression]) -> frozenset[str]:
    match value:
        case InputTuple(port=0, type=TupleType(names=names)):
            return frozenset(names)
        case TupleLiteral(values=values, type=TupleType(names=names)):
            return frozenset(n for n, v in zip(names, values, strict=True) if _is_copy(v, n))
        case Variable(name=name) if name in local:
            return _carried(local[name], {n: e for n, e in local.items() if n != name})
    return frozenset()


def stateless(
    operator: Operator, selectivity: Selectivity, why: str = "", forwards: frozenset[str] | None = None
) -> OperatorModel:
    """The model of an operator that keeps nothing between tuples and copies what its output clause copies.

    Args:
        operator: The instance.
        selectivity: How many tuples it makes of one.
        why: Why that is unknown.
        forwards: What it copies, if not what its output clause does.
    """
    return OperatorModel(
        state=State.STATELESS,
        selectivity=selectivity,
        forwarding=Forwarding.ALWAYS,
        forwards=forwarded_by_output_clause(operator) if forwards is None else forwards,
        why=(Why(Flag.SELECTIVITY, why),) if why else (),
    )


def not_parallel(operator: Operator, why: str, *, side_effects: bool = False) -> OperatorModel:
    """The model of an operator that must see all tuples in order: unknown state, for the reason given."""
    return OperatorModel(
        forwarding=Forwarding.ALWAYS,
        forwards=forwarded_by_output_clause(operator),
        side_effects=side_effects,
        why=(Why(Flag.STATE, why),),
    )
