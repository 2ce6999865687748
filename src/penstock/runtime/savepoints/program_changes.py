"""What has changed in a program since a savepoint was taken, as far as its state is concerned.

State goes to the operator of the same name. One that is new begins empty. State is in the way if its operator is gone,
or is another one now: of another kind, with another key, other attributes coming in or going out, or other parameters,
windows or code. Such state is dropped only if the user says so. Where the operator takes its tuples from may change. A
class with an `upgrade` takes over what a class of another name has left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.api.state.upgrades import is_of_class
from penstock.base.diagnostics import UserError
from penstock.ir.codec import fingerprint
from penstock.ir.graph import Application, Operator
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.savepoint_files import Savepoint, routing_keys
from penstock.runtime.savepoints.split_state import attribute_types
from penstock.toolkit.core.program import Program

_COMPARED = {
    "kind": "kind",
    "key": "key",
    "inputs": "input schema",
    "outputs": "output schema",
    "definition": "definition",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramChanges:
    """The operators that differ.

    Attributes:
        added: Those that begin empty.
        removed: Those with state that are gone.
        changed: Those with state that are others now, and what about them is.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: dict[str, str]

    @property
    def are_lossy(self) -> bool:
        """Whether state would be dropped."""
        return bool(self.removed or self.changed)

    def __str__(self) -> str:
        parts = [f"`{id_}` is gone" for id_ in self.removed]
        parts += [f"`{id_}` has another {what}" for id_, what in self.changed.items()]
        parts += [f"`{id_}` is new" for id_ in self.added]
        return "; ".join(parts)


def fit_savepoint(
    savepoint: Savepoint, program: Program, what: str, *, allowed: bool, notice: Callable[[str], None]
) -> Savepoint:
    """The savepoint for a program that may have changed.

    Args:
        savepoint: What to go on from.
        program: What is to go on.
        what: What is resumed, for messages, such as "the checkpoint `c`".
        allowed: Whether state may be dropped.
        notice: Is told what has changed.

    Raises:
        UserError: State would be dropped, and the user has not said so; or the sources are others.
    """
    then, now = savepoint.program["operators"], describe_program(program.application)
    if savepoint.state.batch and _sources(then) != _sources(now):
        raise UserError(
            f"{what} cannot be resumed: its sources were {', '.join(_sources(then))}, now they are "
            f"{', '.join(_sources(now))}",
            hint="keep the sources, or start with a new checkpoint folder",
        )
    changes = compare_programs(then, program, savepoint.state)
    if changes.are_lossy and not allowed:
        raise UserError(f"{what} cannot be resumed without dropping state: {changes}", hint=_how_to_go_on(changes))
    if str(changes):
        notice(f"the program has changed since {what.partition(' `')[0]} was written: {changes}")
    return replace(savepoint, state=carry_over(savepoint.state, changes, program.application))


def _sources(described: Mapping[str, Any]) -> list[str]:
    return [f"`{id_}` ({known['kind']})" for id_, known in described.items() if not known["inputs"]]


def _how_to_go_on(changes: ProgramChanges) -> str:
    hint = (
        "--allow-dropped-state goes on without the state of those that are gone or are others; the rest keeps its own"
    )
    renamed = [id_ for id_, what in changes.changed.items() if what == "kind"]
    if renamed:
        hint += f"; a class that has only another name, such as that of `{renamed[0]}`, keeps it with a class method "
        hint += "`upgrade(old)`"
    return hint


def describe_program(application: Application) -> dict[str, Any]:
    """For each operator what its state depends on: its kind, its key, and the types of its streams."""
    keys = routing_keys(application)
    return {
        o.id: {
            "kind": o.kind,
            "key": [sorted(key) for key in o.model.partition_by],
            "inputs": [str(port.schema) for port in o.inputs],
            "outputs": [str(port.schema) for port in o.outputs],
            "definition": _fingerprint(o),
            "types": {name: str(type_) for name, type_ in attribute_types(o).items()},
            "routing": list(keys.get(o.id, ())),
        }
        for o in application.operators
    }


def _fingerprint(operator: Operator) -> str:
    """Tells definitions of an operator apart, wherever it stands in the graph."""
    inputs = tuple(
        replace(port, streams=tuple(map(str, range(len(port.streams)))), feedback=frozenset(), alias=None)
        for port in operator.inputs
    )
    alone = Operator(
        id=operator.id,
        kind=operator.kind,
        inputs=inputs,
        outputs=operator.outputs,
        params=operator.params,
        logic=operator.logic,
    )
    return fingerprint(Application(name="", operators=(alone,)))


def compare_programs(then: Mapping[str, Any], program: Program, state: JobState) -> ProgramChanges:
    """What has changed in a program.

    Args:
        then: The description of the program that the savepoint was taken of.
        program: The one that is to go on.
        state: What there is to be carried over.
    """
    now = describe_program(program.application)
    with_state = [id_ for id_ in then if _has_state(state, id_)]
    found = {id_: _words(then[id_], now[id_]) for id_ in with_state if id_ in now}
    changed = {
        id_: " and another ".join(words)
        for id_, words in found.items()
        if words and not (words == ["kind"] and _takes_over(program, state, id_))
    }
    return ProgramChanges(
        added=tuple(id_ for id_ in now if id_ not in then),
        removed=tuple(id_ for id_ in with_state if id_ not in now),
        changed=changed,
    )


def _words(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What about an operator is another; its definition only where nothing else says so."""
    words = [word for name, word in _COMPARED.items() if then.get(name) != now.get(name)]
    return words[:-1] if len(words) > 1 else words


def _takes_over(program: Program, state: JobState, id_: str) -> bool:
    """Whether an operator is a class that goes on with what a class of another name has left."""
    definition = program.registry.get(program.application.operator[id_].kind)
    return definition.upgrades and is_of_class(state.operators[id_].memory)


def carry_over(state: JobState, changes: ProgramChanges, application: Application) -> JobState:
    """The state for a changed program: without that of operators that are gone or are others now."""
    dropped = {*changes.removed, *changes.changed}
    known = {o.id for o in application.operators}
    kept = {id_: own for id_, own in state.operators.items() if id_ in known and id_ not in dropped}
    return replace(state, operators=kept, ended=state.ended & frozenset(application.streams))


def _has_state(state: JobState, id_: str) -> bool:
    own = state.operators.get(id_)
    return own is not None and (own.memory is not None or own.columns is not None)
