"""Finds out whether the state of a logic clause is partitioned: kept in maps that only ever are asked for one key.

Introduction:
    `map<rstring, int32> seen` with `seen[server]++` in `onTuple` is a counter for each server. Tuples of different
    servers never meet in it, so the operator may run on many channels if each server stays on one of them.

Formulation:
    State is partitioned by a set of attributes if every state variable that is ever changed is a map; every use of it,
    anywhere in the operator, asks for one key (`m[k]`, `k in m`, `has(m, k)`, `insertM(m, k, v)`, `removeM(m, k)`); and
    every such `k`, on one input port, is made of the same attributes in a way that keeps different values apart: an
    attribute, or a tuple or list of attributes, in the same places in all keys of one variable.

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
from typing import Any

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
from penstock.toolkit.analysis.effects import changed_attributes, changed_variables, immutable_locals, operator_parts

_KEYED_FUNCTIONS = frozenset({"has", "insertM", "removeM"})


Places = str | tuple["Places", ...]
"""How a key is made of attributes: one of them, or a tuple."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The attributes of an input port that a key of a variable is made of."""

    variable: str
    port: int
    places: Places

    @property
    def attributes(self) -> frozenset[str]:
        """Their names."""
        return frozenset(_names(self.places))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the keys of a variable are made of the attributes of the first input port.

    Attributes:
        names: The attributes.
        is_tuple: Whether a key is a tuple of them, or else the only one itself.
    """

    names: tuple[str, ...]
    is_tuple: bool

    def wrap(self, key: Any) -> Any:
        """A key of the map as a tuple of attribute values."""
        return key if self.is_tuple else (key,)

    def unwrap(self, key: Any) -> Any:
        """The key of the map."""
        return key if self.is_tuple else key[0]


def state_shapes(operator: Operator, functions: Sequence[Function]) -> dict[str, Shape] | None:
    """How the keys of each changed state variable are made; none if that is not known, or a tuple within a tuple."""
    changed = changed_variables(operator, functions)
    if changed and not state_keys(operator, changed, functions):
        return None
    found: dict[str, Shape] = {}
    for key in sorted(filter(None, _uses(operator, changed)), key=lambda key: key.port):
        places = (key.places,) if isinstance(key.places, str) else key.places
        names = tuple(place for place in places if isinstance(place, str))
        if len(names) < len(places):
            return None
        found.setdefault(key.variable, Shape(names=names, is_tuple=not isinstance(key.places, str)))
    return found


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
    by_port: dict[int, frozenset[str]] = {}
    composite: dict[str, Places] = {}
    for key in _uses(operator, changed):
        if key is None or by_port.setdefault(key.port, key.attributes) != key.attributes:
            return ()
        if len(key.attributes) > 1 and composite.setdefault(key.variable, key.places) != key.places:
            return ()
    found = tuple(by_port.get(port, frozenset()) for port in range(len(operator.inputs)))
    return found if found and _is_usable(found, logic, functions) else ()


def _uses(operator: Operator, changed: frozenset[str]) -> Iterator[Key | None]:
    """The key of each use of a changed variable anywhere in the operator; None for a use without one."""
    local = {} if operator.logic is None else immutable_locals(operator.logic)
    for part in operator_parts(operator):
        for expression in expressions_of(part):
            yield from _keys(expression, changed, local)


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
    found = _places(key, local)
    yield None if found is None else Key(variable=name, port=found[0], places=found[1])
    for child in rest:
        yield from _keys(child, changed, local)


def _places(expression: Expression, local: Mapping[str, Expression]) -> tuple[int, Places] | None:
    match expression:
        case Attribute(name=name, port=port) | Field(base=InputTuple(port=port), name=name):
            return port, name
        case Variable(name=name) if name in local:
            return _places(local[name], {n: e for n, e in local.items() if n != name})
        case TupleLiteral(values=parts) | ListLiteral(elements=parts):
            found = [_places(part, local) for part in parts]
            ports = {part[0] for part in found if part is not None}
            if None in found or len(ports) != 1:
                return None
            return ports.pop(), tuple(part[1] for part in found if part is not None)
    return None


def _names(places: Places) -> Iterator[str]:
    if isinstance(places, str):
        yield places
    else:
        for part in places:
            yield from _names(part)
