"""Gives an operator and its streams other names, wherever the graph speaks of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.ir.graph import InputPort, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIds:
    """The new ids of renamed streams and operators, by their old ids."""

    streams: Mapping[str, str]
    operators: Mapping[str, str]

    def stream(self, id_: str) -> str:
        """The id of a stream from now on."""
        return self.streams.get(id_, id_)


def renamed_ids(made_by: Operator | None, stream: str, name: str) -> NewIds:
    """The ids that change when a stream gets a name.

    Args:
        made_by: The operator that makes it; none makes a feedback stream.
        stream: Its id.
        name: Its new id, and that of the operator if it is its first output and the operator is named after it. Further
            outputs that are numbered after the operator stay so.
    """
    if made_by is None:
        return NewIds(streams={stream: name}, operators={stream: name})
    outputs = [port.stream for port in made_by.outputs]
    is_whole = outputs[0] == stream and (len(outputs) == 1 or made_by.id == stream)
    if not is_whole:
        return NewIds(streams={stream: name}, operators={})
    numbered = {id_: f"{name}_{i}" for i, id_ in enumerate(outputs) if i and id_ == f"{made_by.id}_{i}"}
    return NewIds(streams={stream: name, **numbered}, operators={made_by.id: name})


def rename_in(operator: Operator, ids: NewIds) -> Operator:
    """The operator with the new names for itself, its streams and what it subscribes to."""
    return replace(
        operator,
        id=ids.operators.get(operator.id, operator.id),
        inputs=tuple(_rename_port(port, ids) for port in operator.inputs),
        outputs=tuple(replace(port, stream=ids.stream(port.stream)) for port in operator.outputs),
    )


def _rename_port(port: InputPort, ids: NewIds) -> InputPort:
    feedback = frozenset(map(ids.stream, port.feedback))
    return replace(port, streams=tuple(map(ids.stream, port.streams)), feedback=feedback)
