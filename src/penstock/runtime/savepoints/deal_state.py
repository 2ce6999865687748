"""Deals the state of a job out to the PEs and channels of a plan: what their instances go on from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import PE, PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.codegen.run import piece_instance
from penstock.codegen.write.generate import Module
from penstock.ir.graph import Application, Operator
from penstock.runtime.pes import pe_instance
from penstock.runtime.savepoints.job_state import JobState, OperatorState
from penstock.runtime.savepoints.split_state import split_state
from penstock.toolkit.core.logic_runtime import variables_of_memory

Snapshot = dict[str, Any]

States = dict[str, OperatorState]


def deal_pes(state: JobState, plan: PhysicalPlan, pieces: Mapping[int, Pieces]) -> dict[int, list[Snapshot]]:
    """The state of each instance of PEs that have state, by PE and channel.

    Raises:
        UserError: The state of an operator cannot be split, or is not in the form that the plan needs.
    """
    return {
        pe.index: [_deal_pe(state, own, pieces[pe.index]) for own in _by_channel(state, plan, pe)]
        for pe in plan.pes
        if pe.role == "stateful"
    }


def deal_sinks(state: JobState, plan: PhysicalPlan) -> Snapshot:
    """The state of the sinks that one process writes, and what has been counted."""
    sinks = next((pe for pe in plan.pes if pe.role == "sink"), None)
    own = None if sinks is None else _container(state, state.operators, plan.application, sinks.operators)
    return {"totals": state.totals, "sinks": own}


def _by_channel(state: JobState, plan: PhysicalPlan, pe: PE) -> list[States]:
    """The states of the operators of a PE on each of its channels."""
    key, table = plan.keys.get(pe.region or "", ()), plan.tables.get(pe.region or "", ())
    channels: list[States] = [{} for _ in range(pe.channels)]
    for id_ in pe.operators:
        if id_ in state.operators:
            operator = plan.application.operator[id_]
            dealt = split_state(operator, state.operators[id_], key, table, pe.channels)
            for channel, own in zip(channels, dealt, strict=True):
                channel[id_] = own
    return channels


def _deal_pe(state: JobState, own: States, pieces: Pieces) -> Snapshot:
    dealt = [
        _module(state, own, code)
        if isinstance(code, Module)
        else _container(state, own, pieces.plan.application, pieces.plan.pes[piece].operators)
        for piece, code in pieces.made.items()
    ]
    return {"version": pe_instance.STATE_VERSION, "pieces": dealt}


def _module(state: JobState, own: States, module: Module) -> Snapshot:
    """The state of a generated piece."""
    operators = module.part.operators
    mine = [own[o.id] for o in operators if o.id in own]
    return {
        "version": piece_instance.STATE_VERSION,
        "time_ns": _time(state, mine),
        "ended": sorted({edge.stream for edge in module.part.entering} & state.ended),
        "environment": {"random": _random(mine), "metrics": _metrics(mine)},
        "operators": {
            o.id: kept for o in operators if o.id in own and (kept := _kept(o, own[o.id], module)) is not None
        },
    }


def _kept(operator: Operator, state: OperatorState, module: Module) -> Any:
    """The state of an operator as a generated piece holds it."""
    if state.columns is not None or state.memory is None:
        return state.columns
    if operator.id in module.variables:
        return variables_of_memory(operator, module.part.plan.application.functions, state.memory)
    if operator.id in module.classes:
        return state.memory
    raise _unfit(operator, "tuple by tuple", "by columns")


def _container(state: JobState, own: States, application: Application, ids: Iterable[str]) -> Snapshot:
    """The state of a container that holds some operators."""
    operators = [application.operator[id_] for id_ in ids]
    mine = [own[o.id] for o in operators if o.id in own]
    streams = {s for o in operators for port in o.inputs for s in port.streams}
    streams |= {port.stream for o in operators for port in o.outputs}
    return {
        "engine": {
            "time_ns": _time(state, mine),
            "metrics": _metrics(mine),
            "random": _random(mine),
            "source_tuples": 0,
        },
        "nodes": {o.id: _node(state, application, o, own.get(o.id)) for o in operators},
        "ended": sorted(streams & state.ended),
    }


def _node(state: JobState, application: Application, operator: Operator, own: OperatorState | None) -> Snapshot:
    """The state of an operator as a container holds it; counts begin anew, for they have been reported."""
    if own is not None and own.columns is not None:
        raise _unfit(operator, "by columns", "tuple by tuple")
    open_streams = [sum(s not in state.ended for s in streams) for streams in application.waits_for(operator)]
    ended = [port.stream in state.ended for port in operator.outputs]
    has_ended = bool(operator.inputs) and not any(open_streams)
    if own is not None and own.is_held:
        has_ended = False
    return {
        "has_ended": has_ended or (own is not None and own.has_ended),
        "is_held": own is not None and own.is_held,
        "open_streams": open_streams,
        "streams": [(has_ended, 0, 0) for has_ended in ended],
        "received": [[0] * len(port.streams) for port in operator.inputs],
        "late": 0 if own is None else own.late,
        "runtime": None if own is None else own.memory,
    }


def _unfit(operator: Operator, then: str, now: str) -> UserError:
    return UserError(
        f"operator `{operator.id}` ({operator.kind}) worked {then} and left state of that form; in this plan it works "
        f"{now}",
        hint="choose a fusion that keeps it apart from its neighbours, such as --fusion none",
    )


def _time(state: JobState, mine: Sequence[OperatorState]) -> int:
    return max((own.time_ns for own in mine), default=state.time_ns)


def _random(mine: Sequence[OperatorState]) -> Any:
    return next((own.random for own in mine if own.random is not None), None)


def _metrics(mine: Sequence[OperatorState]) -> dict[str, Any]:
    return {name: value for own in mine for name, value in own.metrics.items()}
