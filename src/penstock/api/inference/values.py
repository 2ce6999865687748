"""Abstract values: what an expression of a Python operator may evaluate to.

A value is a set of atoms, each of which stands for some of the objects that may be there. Joining values is joining
sets, so the analysis grows until nothing changes. An empty value means that the expression never ends normally.

    str, int, ...   an immutable object of exactly this class, whose methods are known to be pure
    Field           an attribute of the tuple in hand, as it came
    Record          a tuple: the input, a named tuple, or a plain one of known parts
    Thing           a mutable object, or an iterator, named by the place that makes it
    Known           a function, class, module or other object of the program, as it is at compile time
    Bound           a method together with its receiver
    Closure         a function that is defined while the operator runs
    FOREIGN         anything at all; something has been blamed for it
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.api.inference.frames import Frame

Value = frozenset[Any]
NOTHING: Value = frozenset()
NONE: Value = frozenset({type(None)})


class Special(Enum):
    """Atoms without parts."""

    FOREIGN = "foreign"
    SUBMIT = "submit"
    ENVIRONMENT = "environment"


FOREIGN: Value = frozenset({Special.FOREIGN})


class Owner(Enum):
    """Who else holds a mutable object."""

    CALL = "made in the call"
    TUPLE = "a part of the input tuple"
    FIXED = "made before the operator runs"
    STATE = "the operator's own state"


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of the tuple in hand; `value` is what may be said of it when it is no longer in hand."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Record:
    """A tuple of known length; `names` is empty for a plain one. `cls` is its class, None for the engine's rows."""

    names: tuple[str, ...]
    parts: tuple[Value, ...]
    cls: type | None = tuple

    def part(self, name: str) -> Value | None:
        """The value of a named part."""
        return self.parts[self.names.index(name)] if name in self.names else None


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """An object of the program; two are the same if their objects are."""

    object: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and other.object is self.object

    def __hash__(self) -> int:
        return id(self.object)


@dataclass(frozen=True, slots=True)
class Bound:
    """A method `name` of a receiver; `function` where it is written in Python."""

    name: str
    receiver: Any
    function: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A lambda or a nested function with the frame that it was defined in and the values of its defaults."""

    node: ast.Lambda | ast.FunctionDef
    frame: Frame
    defaults: tuple[Value, ...] = ()
    keyword_defaults: tuple[Value | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Getter:
    """A function made by `operator.itemgetter` or, with `by_name`, by `operator.attrgetter`."""

    keys: tuple[str, ...]
    by_name: bool


@dataclass(frozen=True, slots=True)
class Parent:
    """The result of `super()`: attributes are looked up behind `after` in the order of the receiver's classes."""

    after: type
    receiver: Any


Shape = str | tuple["Shape", ...]
"""The shape of a key: an attribute's name, or a tuple of shapes."""


@dataclass(slots=True, eq=False)
class Thing:
    """An object that can change, named by where it is made.

    Attributes:
        type: Its exact class; `Iterator` for iterators of every kind.
        owner: Who else holds it.
        items: What it may hold: elements, and the values of a dict.
        keys: What the keys of a dict may be.
        fields: Attributes of an instance, or the entries that a dict display gives under constant names.
        factory: What a `defaultdict` calls for a key that is not there.
        returned: What a generator returns at its end, to a `yield from`.
        is_kept: Whether it may be found again by a later call.
        is_open: Whether its fields may have been changed by more than the display that made it.
        is_unordered: Whether the order of its elements is that of a set.
        shapes: The shapes of the keys by which the operator's state is looked up in it.
        whole: Where it is used as a whole, so that other keys show; a reason with a place.
        is_keyed_write: Whether an entry of one key is written.
    """

    type: type
    owner: Owner
    items: Value = NOTHING
    keys: Value = NOTHING
    fields: dict[str, Value] = field(default_factory=dict)
    factory: Value = NOTHING
    returned: Value = NOTHING
    is_kept: bool = False
    is_open: bool = False
    is_unordered: bool = False
    shapes: set[Shape] = field(default_factory=set)
    whole: str | None = None
    is_keyed_write: bool = False


class Iterator:
    """Stands for the class of every iterator and generator."""


def release(value: Value) -> Value:
    """The value as a later call may find it: no longer made of attributes of the tuple in hand.

    Example:
        >>> release(frozenset({Field("x", frozenset({int}))})) == {int}
        True
    """
    if not any(isinstance(atom, Field | Record) for atom in value):
        return value
    found: set[Any] = set()
    for atom in value:
        if isinstance(atom, Field):
            found |= atom.value
        elif isinstance(atom, Record):
            found.add(Record(atom.names, tuple(map(release, atom.parts)), atom.cls))
        else:
            found.add(atom)
    return frozenset(found)


def unwrap(value: Value) -> Value:
    """The value with the attributes of the tuple as what they are; records keep their parts."""
    if not any(isinstance(atom, Field) for atom in value):
        return value
    return frozenset().union(*(atom.value if isinstance(atom, Field) else {atom} for atom in value))


def join(*values: Value) -> Value:
    """All that may be there in one place or another."""
    return frozenset().union(*values)


def depth(value: Value) -> int:
    """How deeply records are nested in a value."""
    return max((1 + max(map(depth, a.parts), default=0) for a in value if isinstance(a, Record)), default=0)


def shape_of(value: Value) -> Shape | None:
    """The shape of a key, if a value is one: an attribute of the tuple as it came, or a tuple of such.

    Example:
        >>> sym = frozenset({Field("sym", frozenset({str}))})
        >>> shape_of(frozenset({Record((), (sym, sym))}))
        ('sym', 'sym')
    """
    if len(value) != 1:
        return None
    (atom,) = value
    if isinstance(atom, Field):
        return atom.name if atom.value <= KEY_TYPES else None
    if isinstance(atom, Record) and atom.cls is tuple and atom.parts:
        parts = tuple(map(shape_of, atom.parts))
        return None if None in parts else parts  # type: ignore[return-value] # none of them is None
    return None


KEY_TYPES: frozenset[Any] = frozenset({bool, int, str, bytes, type(None)})
"""Classes whose equal objects cannot be told apart; a NaN is not equal to itself, and 1.0 is not written like 1.00."""


def attributes_of(shape: Shape) -> frozenset[str]:
    """The attributes that a key is made of."""
    return frozenset({shape}) if isinstance(shape, str) else frozenset().union(*map(attributes_of, shape))
