"""Which operators of a container have what they know of their keys in tables."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.keyed.keyed_runtime import KeyedRuntime
from penstock.codegen.functions.instance_table import can_hold
from penstock.codegen.run.piece_instance import table_name
from penstock.ir.types import TupleType
from penstock.reference.node import Node
from penstock.runtime.pes.held_instances import HeldInstances
from penstock.runtime.pes.held_keys import HeldKeys
from penstock.runtime.pes.held_partitions import HeldPartitions
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.core.runtime import Runtime
from penstock.toolkit.windows.partition import Partitions


def held_of(nodes: Iterable[Node]) -> dict[str, HeldKeys]:
    """What lies in tables, by the name of its table."""
    found: dict[str, HeldKeys] = {}
    for node in nodes:
        # What is verified has a watcher around it.
        runtime: Runtime = getattr(node.runtime, "inner", node.runtime)
        if isinstance(runtime, KeyedRuntime):
            if can_hold(runtime):
                found[table_name(node.id, 0)] = HeldInstances(runtime)
        elif runtime.asks_by_key:
            for number, (attribute, partitions) in enumerate(_partitions(runtime)):
                found[table_name(node.id, number)] = HeldPartitions(runtime, attribute, partitions)
    return found


def _partitions(runtime: Runtime) -> list[tuple[str, Partitions[object]]]:  # type: ignore[type-var] # of any parts
    """The partitions whose keys are attributes that a table holds as they are."""
    named = ((name, getattr(runtime, name)) for name in runtime.remembers)
    return [(name, own) for name, own in named if isinstance(own, Partitions) and _can_hold(runtime, own)]


def _can_hold(runtime: Runtime, partitions: Partitions[object]) -> bool:  # type: ignore[type-var] # of any parts
    if not partitions.names:
        return False
    schema = runtime.operator.inputs[0].schema
    return identity_of(TupleType(tuple(schema.attribute(name) for name in partitions.names))) is None
