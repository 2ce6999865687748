"""Partitions: one window, or one matcher, for each value of a key.

Partitions are made on first use and kept in that order, which is the order in which a punctuation reaches them. All
NaN values of a float key are one partition, as are 0.0 and -0.0.

A part is remembered with its key and its place among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, Expression, InputTuple
from penstock.ir.graph import Operator
from penstock.ir.types import TupleType, Type, TypedName, has_collection
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.core.memory import Keyed, same_nan


class Part(Protocol):
    """The state of one partition."""

    def snapshot(self) -> Any:
        """Its memory as plain data."""

    def restore(self, state: Any) -> None:
        """Take over what another part remembered."""

    def is_blank(self) -> bool:
        """Whether forgetting it changes nothing."""


W = TypeVar("W", bound=Part)
T = TypeVar("T")

Key = Callable[[Tuple], Hashable]


class Apart(Protocol):
    """Holds the parts of keys for which nothing has come; what is needed of them is fetched."""

    def fetch(self, key: Hashable) -> None:
        """Make the part of a key again, if there is one."""

    def fetch_all(self) -> None:
        """Make all of them again."""

    def is_whole(self) -> bool:
        """Make all of them again for a snapshot, unless that is to leave out what is held."""

    def in_order(self) -> list[Hashable]:
        """The keys of all parts that there are, in the order in which these were made."""


class Partitions(Keyed, Generic[W]):
    """The parts of an operator's state, by key.

    Args:
        key: Gives the key of a tuple; none for one part alone, under None.
        make: Makes the part of a key.
        names: The attributes that are the key.

    Attributes:
        parts: Those that are loaded, by key.
        apart: Holds the others, if there are any.

    Example:
        >>> counts = Partitions(lambda tuple_: tuple_[0], lambda key: [key])
        >>> counts.of(("a", 1)) is counts.of(("a", 2))
        True
        >>> list(counts)
        [['a']]
    """

    def __init__(self, key: Key | None, make: Callable[[Hashable], W], names: tuple[str, ...] | None = None) -> None:
        self.key = key
        self.make = make
        self.names = names
        self.parts: dict[Hashable, W] = {}
        self.apart: Apart | None = None

    def of(self, tuple_: Tuple) -> W:
        """The part that a tuple belongs to."""
        key = None if self.key is None else self.key(tuple_)
        part = self.parts.get(key)
        return self.at(key) if part is None else part

    def reach(self, key: Hashable) -> W:
        """The part of a key, into which something is about to come."""
        return self.at(key)

    def drop(self, key: Hashable) -> None:
        """Let go of the part of a key, which holds nothing any more."""
        del self.parts[key]

    def at(self, key: Hashable) -> W:
        """The part of a key."""
        part = self.find(key)
        if part is None:
            part = self.parts[key] = self.make(key)
        return part

    def find(self, key: Hashable) -> W | None:
        """The part of a key, if there is one."""
        part = self.parts.get(key)
        if part is None and self.apart is not None:
            self.apart.fetch(key)
            part = self.parts.get(key)
        return part

    def snapshot_parts(self) -> dict[Hashable, Any]:
        """The place and the memory of each part that is not blank, by key."""
        if self.apart is not None and not self.apart.is_whole():
            return {}
        parts = ((key, self.parts[key]) for key in self._keys())
        return {key: (i, part.snapshot()) for i, (key, part) in enumerate(parts) if not part.is_blank()}

    def _keys(self) -> list[Hashable]:
        """The keys of all parts, in the order in which these were made."""
        if self.apart is None:
            return list(self.parts)
        self.apart.fetch_all()
        return self.apart.in_order()

    def restore_parts(self, parts: Mapping[Hashable, Any]) -> None:
        """Make the parts again, in their old order."""
        for key, (_, state) in sorted(parts.items(), key=lambda entry: entry[1][0]):
            self.at(same_nan(key)).restore(state)

    def __iter__(self) -> Iterator[W]:
        return iter([self.parts[key] for key in self._keys()])


Row = Callable[[Sequence[Expression]], Callable[[Tuple], Tuple]]
"""Compiles expressions over a port's tuple into one function that makes a row of their values."""


def key_function(expressions: Sequence[Expression], row: Row) -> Key | None:
    """The function that gives the key of a tuple; none if there are no key expressions."""
    if not expressions:
        return None
    make = row(expressions)
    identity = identity_of(TupleType(tuple(TypedName(f"_{i}", e.type) for i, e in enumerate(expressions))))
    return make if identity is None else lambda tuple_: identity(make(tuple_))


def group_function(columns: Sequence[int], types: Sequence[Type]) -> Callable[[Iterable[Tuple]], list[list[Tuple]]]:
    """The function that splits rows by the values of some columns, in order of the groups' first rows.

    Example:
        >>> from penstock.ir.types import INT32
        >>> group_function([0], [INT32])([(1, "a"), (2, "b"), (1, "c")])
        [[(1, 'a'), (1, 'c')], [(2, 'b')]]
    """
    identities = [identity_of(t) or (lambda value: value) for t in types]
    parts = list(zip(columns, identities, strict=True))

    def group(rows: Iterable[Tuple]) -> list[list[Tuple]]:
        groups: dict[Hashable, list[Tuple]] = {}
        for row in rows:
            groups.setdefault(tuple(identity(row[i]) for i, identity in parts), []).append(row)
        return list(groups.values())

    return group


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


def key_names(expressions: Sequence[Expression]) -> tuple[str, ...] | None:
    """The attributes that are the key, in order, or none if some part of it is computed."""
    names = tuple(e.name for e in expressions if isinstance(e, Attribute))
    return names if names and len(names) == len(expressions) else None


def keys_by_port(operator: Operator, *params: str) -> list[list[Expression]]:
    """The key expressions of each input port of an operator that takes one list, or a few, for all its ports.

    An expression belongs to the port that it speaks of. Where all of them are attributes of the first port, the other
    ports use their attributes of the same names.
    """
    ports: list[list[Expression]] = [[] for _ in operator.inputs]
    for value in (value for param in params for value in operator.param(param)):
        ports[_port_of(value)].append(value)
    if ports and ports[0] and not any(ports[1:]) and all(isinstance(e, Attribute) for e in ports[0]):
        for i, port in enumerate(operator.inputs[1:], start=1):
            ports[i] = [_same_attribute(e, i) for e in ports[0] if _has(port.schema.position, e)]
    return ports


def check_keys_by_port(operator: Operator, params: Sequence[str], found: Diagnostics) -> None:
    """Report ports whose keys do not fit those of the first port."""
    check_keys(operator, params, found)
    ports = keys_by_port(operator, *params)
    wanted = [e.type for e in ports[0]] if ports else []
    for i, keys in enumerate(ports):
        if [e.type for e in keys] != wanted:
            given = ", ".join(str(e.type) for e in keys) or "nothing"
            needed = ", ".join(map(str, wanted)) or "nothing"
            message = f"`{params[0]}` gives input port {i} the key ({given}), but input port 0 has ({needed})"
            found.error(message, operator.span, hint="give every port a key of the same types")


def _port_of(expression: Expression) -> int:
    return next((e.port for e in expression.walk() if isinstance(e, Attribute | InputTuple)), 0)


def _has(position: dict[str, int], expression: Expression) -> bool:
    return isinstance(expression, Attribute) and expression.name in position


def _same_attribute(expression: Expression, port: int) -> Expression:
    assert isinstance(expression, Attribute)
    return Attribute(type=expression.type, span=expression.span, name=expression.name, port=port)


def of_port(function: Callable[..., T], port: int, ports: int) -> Callable[[Tuple], T]:
    """A function of one tuple from a function of the tuples of all ports that looks at only one of them.

    Example:
        >>> of_port(lambda left, right: right, 1, 2)(("r",))
        ('r',)
    """
    if ports == 1:
        return function
    before, after = (None,) * port, (None,) * (ports - port - 1)
    return lambda tuple_: function(*before, tuple_, *after)
