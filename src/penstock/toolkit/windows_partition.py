"""Partitions: one window, or one matcher, for each value of a key.

Partitions are made on first use and kept in that order, which is the order in which a punctuation reaches them. All
NaN values of a float key are one partition, as are 0.0 and -0.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from penstock.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, Expression, InputTuple
from penstock.ir.graph import Operator
from penstock.ir.types import has_collection, is_float

W = TypeVar("W")

Key = Callable[[Tuple], Hashable]


class Partitions(Generic[W]):
    """The parts of an operator's state, by key.

    Example:
        >>> counts = Partitions(lambda tuple_: tuple_[0], lambda key: [key])
        >>> counts.of(("a", 1)) is counts.of(("a", 2))
        True
        >>> list(counts)
        [['a']]
    """

    def __init__(self, key: Key | None, make: Callable[[Hashable], W]) -> None:
        self.key = key
        self.make = make
        self.parts: dict[Hashable, W] = {}

    def of(self, tuple_: Tuple) -> W:
        """The part that a tuple belongs to."""
        key = None if self.key is None else self.key(tuple_)
        part = self.parts.get(key)
        if part is None:
            part = self.parts[key] = self.make(key)
        return part

    def __iter__(self) -> Any:
        return iter(list(self.parts.values()))


Row = Callable[[Sequence[Expression]], Callable[[Tuple], Tuple]]
"""Compiles expressions over a port's tuple into one function that makes a row of their values."""


def key_function(expressions: Sequence[Expression], row: Row) -> Key | None:
    """The function that gives the key of a tuple; none if there are no key expressions."""
    if not expressions:
        return None
    make = row(expressions)
    floats = [i for i, e in enumerate(expressions) if is_float(e.type)]
    if not floats:
        return make

    def key(tuple_: Tuple) -> Hashable:
        values = make(tuple_)
        if any(values[i] != values[i] for i in floats):
            return tuple(math.nan if i in floats and v != v else v for i, v in enumerate(values))
        return values

    return key


def check_keys(operator: Operator, params: Sequence[str], found: Diagnostics) -> None:
    """Report key expressions whose values cannot be compared as keys."""
    for param in params:
        for value in operator.param(param):
            if has_collection(value.type):
                message = f"`{param}` cannot be of type {value.type}: collections are no keys"
                found.error(message, value.span or operator.span)


def key_attributes(expressions: Sequence[Expression]) -> frozenset[str] | None:
    """The names of the attributes that are the key, or none if some part of it is computed."""
    if not expressions or not all(isinstance(e, Attribute) for e in expressions):
        return None
    return frozenset(e.name for e in expressions if isinstance(e, Attribute))


def keys_by_port(operator: Operator, param: str) -> list[list[Expression]]:
    """The key expressions of each input port of an operator that takes one list for all its ports.

    An expression belongs to the port that it speaks of. Where all of them are attributes of the first port, the other
    ports use their attributes of the same names.
    """
    ports: list[list[Expression]] = [[] for _ in operator.inputs]
    for value in operator.param(param):
        ports[_port_of(value)].append(value)
    if ports and ports[0] and not any(ports[1:]) and all(isinstance(e, Attribute) for e in ports[0]):
        for i, port in enumerate(operator.inputs[1:], start=1):
            ports[i] = [_same_attribute(e, i) for e in ports[0] if _has(port.schema.position, e)]
    return ports


def check_keys_by_port(operator: Operator, param: str, found: Diagnostics) -> None:
    """Report ports whose keys do not fit those of the first port."""
    check_keys(operator, [param], found)
    ports = keys_by_port(operator, param)
    wanted = [e.type for e in ports[0]] if ports else []
    for i, keys in enumerate(ports):
        if [e.type for e in keys] != wanted:
            given = ", ".join(str(e.type) for e in keys) or "nothing"
            needed = ", ".join(map(str, wanted)) or "nothing"
            message = f"`{param}` gives input port {i} the key ({given}), but input port 0 has ({needed})"
            found.error(message, operator.span, hint="give every port a key of the same types")


def _port_of(expression: Expression) -> int:
    return next((e.port for e in expression.walk() if isinstance(e, Attribute | InputTuple)), 0)


def _has(position: dict[str, int], expression: Expression) -> bool:
    return isinstance(expression, Attribute) and expression.name in position


def _same_attribute(expression: Expression, port: int) -> Expression:
    assert isinstance(expression, Attribute)
    return Attribute(type=expression.type, span=expression.span, name=expression.name, port=port)
