"""Finds out whether the state of a logic clause is partitioned: kept in maps that only ever are asked for one key.

Introduction:
    `map<rstring, int32> seen` with `seen[server]++` in `onTuple` is a counter for each server. Tuples of different
    servers never meet in it, so the operator may run on many channels if each server stays on one of them.

Formulation:
    State is partitioned by a set of attributes if every state variable that is ever changed is a map; every use of it,
    anywhere in the operator, asks for one key (`m[k]`, `k in m`, `has(m, k)`, `insertM(m, k, v)`, `removeM(m, k)`); and
    every such `k`, on one input port, is made of the same attributes in a way that keeps different values apart: an
    attribute, or a tuple or list of attributes.

When it does not apply:
    A use of the map as a whole (`size(m)`, `for (k in m)`); a key that is computed (`id / 10` is equal for different
    ids, so they would share an entry across channels); a key attribute that the logic itself changes; several input
    ports that do not all use the state, or with composite keys of different names (their order is not known).

Algorithm:
    One walk over all expressions; linear. Names of immutable locals are replaced by what they were declared as.

Reference:
    Auto-parallelization paper, section 3.1 (partitioned state); the paper takes the key from a parameter, this module
    derives it from the code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.expr.analysis import expressions_of
from penstock.ir.expressions import (
    Attribute,
    Binary,
    Call,
    Expression,
    Field,
    Index,
    InputTuple,
    ListLiteral,
    TupleLiteral,
    Variable,
)
from penstock.ir.graph import Operator
from penstock.ir.statements import Function, Logic
from penstock.ir.types import MapType
from penstock.toolkit.effects import changed_attributes, immutable_locals, operator_parts

_KEYED_FUNCTIONS = frozenset({"has", "insertM", "removeM"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The attributes of an input port that a key is made of."""

    port: int
    attributes: frozenset[str]


def state_keys(
    operator: Operator, changed: frozenset[str], functions: Sequence[Function]
) -> tuple[frozenset[str], ...]:
    """The key attributes of each input port if the changed state variables are partitioned, else nothing.

    Args:
        operator: With a logic clause.
        changed: The state variables that are changed.
        functions: The application's.
    """
    logic = operator.logic
    if logic is None or not all(isinstance(d.type, MapType) for d in logic.state if d.name in changed):
        return ()
    local = immutable_locals(logic)
    expressions = (e for part in operator_parts(operator) for e in expressions_of(part))
    keys = [k for e in expressions for k in _keys(e, changed, local)]
    by_port: dict[int, frozenset[str]] = {}
    for key in keys:
        if key is None or by_port.setdefault(key.port, key.attributes) != key.attributes:
            return ()
    found = tuple(by_port.get(port, frozenset()) for port in range(len(operator.inputs)))
    return found if found and _is_usable(found, logic, functions) else ()


def _is_usable(found: tuple[frozenset[str], ...], logic: Logic, functions: Sequence[Function]) -> bool:
    if not all(found) or (max(map(len, found)) > 1 and len(set(found)) > 1):
        return False
    for port, attributes in enumerate(found):
        touched = changed_attributes(logic, functions, port)
        if touched is None or touched & attributes:
            return False
    return True


def _keys(expression: Expression, changed: frozenset[str], local: Mapping[str, Expression]) -> Iterator[Key | None]:
    """The key of each use of a changed variable; None for a use without one."""
    rest: tuple[Expression, ...]
    match expression:
        case Index(base=Variable(name=name), index=index) if name in changed:
            key, rest = index, (index,)
        case Binary(operator="in", left=left, right=Variable(name=name)) if name in changed:
            key, rest = left, (left,)
        case Call(function=function, arguments=(Variable(name=name), argument, *others)) if (
            name in changed and function in _KEYED_FUNCTIONS
        ):
            key, rest = argument, (argument, *others)
        case Variable(name=name):
            if name in changed:
                yield None
            return
        case _:
            for child in expression.children():
                yield from _keys(child, changed, local)
            return
    yield _key(key, local)
    for child in rest:
        yield from _keys(child, changed, local)


def _key(expression: Expression, local: Mapping[str, Expression]) -> Key | None:
    match expression:
        case Attribute(name=name, port=port) | Field(base=InputTuple(port=port), name=name):
            return Key(port=port, attributes=frozenset({name}))
        case Variable(name=name) if name in local:
            return _key(local[name], {n: e for n, e in local.items() if n != name})
        case TupleLiteral(values=parts) | ListLiteral(elements=parts):
            keys = [_key(part, local) for part in parts]
            ports = {key.port for key in keys if key is not None}
            if None in keys or len(ports) != 1:
                return None
            return Key(port=ports.pop(), attributes=frozenset(a for key in keys if key for a in key.attributes))
    return None
