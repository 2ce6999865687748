"""What has changed in a program since a savepoint was taken, as far as its state is concerned.

State goes to the operator of the same name. One that is new begins empty. State is in the way if its operator is gone,
or is another one now: of another kind, with another key, other attributes coming in or going out, or other parameters,
windows or code. Such state is dropped only if the user says so. Where the operator takes its tuples from may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.ir.codec import fingerprint
from penstock.ir.graph import Application, Operator
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.savepoint_files import routing_keys
from penstock.runtime.savepoints.split_state import attribute_types

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


def compare_programs(then: Mapping[str, Any], now: Mapping[str, Any], state: JobState) -> ProgramChanges:
    """What has changed between two descriptions of a program.

    Args:
        then: Of the program that the savepoint was taken of.
        now: Of the one that is to go on.
        state: What there is to be carried over.
    """
    with_state = [id_ for id_ in then if _has_state(state, id_)]
    changed = {
        id_: " and another ".join(words) for id_ in with_state if id_ in now and (words := _words(then[id_], now[id_]))
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


def carry_over(state: JobState, changes: ProgramChanges, application: Application) -> JobState:
    """The state for a changed program: without that of operators that are gone or are others now."""
    dropped = {*changes.removed, *changes.changed}
    known = {o.id for o in application.operators}
    kept = {id_: own for id_, own in state.operators.items() if id_ in known and id_ not in dropped}
    return replace(state, operators=kept, ended=state.ended & frozenset(application.streams))


def _has_state(state: JobState, id_: str) -> bool:
    own = state.operators.get(id_)
    return own is not None and (own.memory is not None or own.columns is not None)
