"""Takes the state of a job from its PEs and channels, and gives it to its operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock.codegen.functions.instance_table import memory_of
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.codegen.write.generate import Module
from penstock.ir.graph import Application, Operator
from penstock.runtime.pes.held_keys import completed
from penstock.runtime.savepoints.job_state import JobState, OperatorState
from penstock.runtime.savepoints.split_state import join_states
from penstock.runtime.verify.watcher import WATCHED_STATE
from penstock.toolkit.core.logic_runtime import memory_of_variables
from penstock.toolkit.core.memory import Memory

Snapshot = dict[str, Any]

Found = Iterator[tuple[str, OperatorState]]


def collect_state(
    plan: PhysicalPlan,
    pieces: Mapping[int, Pieces],
    *,
    sources: Snapshot | None,
    pes: Mapping[int, Sequence[Snapshot]],
    sinks: Snapshot,
    batch: int,
    has_ended: bool = False,
) -> JobState:
    """The state of a job by operator.

    Args:
        plan: How it was cut into PEs.
        pieces: The code of the PEs.
        sources: What the planner of the sources remembered; None before the first batch.
        pes: What the instances of each PE remembered, by channel.
        sinks: What the writer of the sinks remembered.
        batch: How many batches have been written.
        has_ended: Whether all sources have ended.

    Raises:
        UserError: Channels of an operator hold what cannot be put together.
    """
    found: dict[str, list[OperatorState]] = {}
    ended: set[str] = set(_ended_sources(plan, sources))
    contained: set[str] = set()
    for pe, channels in pes.items():
        for state in channels:
            for (piece, code), own in zip(pieces[pe].made.items(), state["pieces"], strict=True):
                ended |= {*own["ended"]}
                if isinstance(code, Module):
                    _add(found, _from_module(code, own))
                else:
                    contained.update(pieces[pe].plan.pes[piece].operators)
                    _add(found, _from_container(own))
    if sinks["sinks"] is not None:
        ended |= {*sinks["sinks"]["ended"]}
        _add(found, _from_container(sinks["sinks"]))
    application = plan.application
    return JobState(
        application=application.name,
        batch=batch,
        groups=plan.groups,
        operators={id_: join_states(application.operator[id_], states) for id_, states in found.items()},
        ended=frozenset(_all_ended(application, ended, contained)),
        sources=sources,
        has_ended=has_ended,
        totals=sinks["totals"],
    )


def _add(found: dict[str, list[OperatorState]], states: Iterable[tuple[str, OperatorState]]) -> None:
    for id_, state in states:
        found.setdefault(id_, []).append(state)


def _from_module(module: Module, own: Snapshot) -> Found:
    """The operators of a generated piece."""
    application, environment = module.part.plan.application, own["environment"]
    for operator in module.part.operators:
        kept = own["operators"].get(operator.id)
        memory: Memory | None = None
        if kept is not None and operator.id in module.variables:
            memory, kept = memory_of_variables(operator, application.functions, kept), None
        elif kept is not None and operator.id in module.classes:
            memory, kept = _unwatched(memory_of(kept)), None
        yield (
            operator.id,
            OperatorState(
                memory=memory,
                columns=kept,
                time_ns=own["time_ns"],
                random=environment["random"],
                metrics=environment["metrics"],
            ),
        )


def _from_container(own: Snapshot) -> Found:
    """The operators of a container."""
    engine = own["engine"]
    for id_, node in completed(own)["nodes"].items():
        yield (
            id_,
            OperatorState(
                memory=_unwatched(node["runtime"]),
                time_ns=engine["time_ns"],
                has_ended=node["has_ended"],
                is_held=node["is_held"],
                late=node["late"],
                random=engine["random"],
                metrics=engine["metrics"],
            ),
        )


def _unwatched(memory: Memory | None) -> Memory | None:
    """A memory without that of the replicas that a watcher compares with: their channels are not these."""
    if memory is None or WATCHED_STATE not in memory[0]:
        return memory
    whole = {name: value for name, value in memory[0].items() if name != WATCHED_STATE}
    return (whole, memory[1]) if whole or memory[1] else None


def _ended_sources(plan: PhysicalPlan, sources: Snapshot | None) -> Iterator[str]:
    """The streams of sources that have ended, as far as their planner knows."""
    if sources is None:
        return
    own = [pe.operators[0] for pe in plan.pes if pe.role == "source"]
    operators = [o for id_ in own if not (o := plan.application.operator[id_]).facts.is_read_by_engine]
    runs = sources.get("runs")
    if runs is None:
        runs = [sources] if "has_ended" in sources else []
    for operator, run in zip(operators, runs, strict=False):
        if run.get("has_ended"):
            yield from (port.stream for port in operator.outputs)
        elif run.get("container"):
            yield from run["container"]["ended"]


def _all_ended(application: Application, known: set[str], contained: set[str]) -> set[str]:
    """The streams that have ended: those that are known to, and what follows from them outside of containers."""
    ended, grows = set(known), True
    while grows:
        grows = False
        for operator in application.operators:
            outputs = {port.stream for port in operator.outputs} - ended
            is_known = not operator.inputs or operator.id in contained
            if outputs and not is_known and _inputs_ended(application, operator, ended):
                ended |= outputs
                grows = True
    return ended


def _inputs_ended(application: Application, operator: Operator, ended: set[str]) -> bool:
    return all(stream in ended for streams in application.waits_for(operator) for stream in streams)
