"""The record of an analysis: what is blamed, which objects there are, how they are used, and what is given.

Every part of the interpreter goes through here to make an object, to change one or to look at one, so this is where
the rules about state stand. An object made in the call may be changed freely: later calls find it only under the keys
of this tuple. One that was made before may be read; if it belongs to the operator and is a dict or a set, it may also
be changed under a key of the tuple. All else is blamed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from penstock.api.inference.calls.known_parts import CONTAINERS, DIGEST, SCALARS, SEQUENCES, SETS, parts_of
from penstock.api.inference.frames import Frame
from penstock.api.inference.values import (
    FOREIGN,
    NOTHING,
    Bound,
    Closure,
    Field,
    Getter,
    Iterator,
    Known,
    Owner,
    Parent,
    Record,
    Shape,
    Special,
    Thing,
    Value,
    depth,
    join,
    release,
    unwrap,
)

Evaluate = Callable[["Analysis", ast.expr | None, Frame], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a call; `rest` is what a starred argument may add to the positional ones."""

    positional: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    rest: Value | None = None

    @property
    def all(self) -> tuple[Value, ...]:
        """Every argument."""
        return (*self.positional, *self.keywords.values(), *([] if self.rest is None else [self.rest]))


Call = Callable[["Analysis", Value, Arguments, ast.AST, Frame], Value]
Execute = Callable[["Analysis", Iterable[ast.stmt], Frame], None]


class Analysis:
    """A run of the abstract interpreter, with its findings so far.

    Attributes:
        blames: Why nothing can be said of the state, in the order of discovery.
        changed: Whether the last round found something new.
        is_init: Whether the constructor is being looked at: what it makes is the operator's state.
        is_of_one_key: Whether an instance sees the tuples of one key, so that what it sets on itself is partitioned.
        unordered: How many iterations over sets the code is inside of.
        given: The values that leave as tuples.
        submits: The calls of `submit`, by the identity of their nodes.
        leaks_submit: Whether `submit`, or the operator itself, goes where it cannot be followed.
        has_effects: Whether it calls a builtin, or a method of something unknown, that acts outside.
        active: The frames of functions that are being looked at, innermost last.
    """

    def __init__(self, path: str, evaluate: Evaluate, execute: Execute, call: Call) -> None:
        self.path = path
        self._call = call
        self._evaluate = evaluate
        self._execute = execute
        self.blames: dict[str, None] = {}
        self.changed = False
        self.is_init = False
        self.is_of_one_key = False
        self.unordered = 0
        self.given: list[Value] = []
        self.submits: set[int] = set()
        self.leaks_submit = False
        self.has_effects = False
        self.active: list[tuple[Any, Frame]] = []
        self.frames: dict[Hashable, Any] = {}
        self.init_frames: set[Frame] = set()
        self._things: dict[Hashable, Thing] = {}

    def evaluate(self, node: ast.expr | None, frame: Frame) -> Value:
        """The values that an expression may have."""
        return self._evaluate(self, node, frame)

    def execute(self, body: Iterable[ast.stmt], frame: Frame) -> None:
        """Follow the statements of a function."""
        self._execute(self, body, frame)

    def call(self, callee: Value, node: ast.AST, frame: Frame, *given: Value) -> Value:
        """The values that a call with some arguments may return."""
        return self._call(self, callee, Arguments(positional=given), node, frame)

    # Blame.

    def blame(self, node: ast.AST, frame: Frame, text: str) -> Value:
        """Note why nothing can be said of the state, with its place."""
        self.blames.setdefault(f"{text} ({self.place(node, frame)})")
        return FOREIGN

    def place(self, node: ast.AST, frame: Frame) -> str:
        """Where a node stands: the line, with the file if it is not that of the operator."""
        path, line = frame.function.__code__.co_filename, getattr(node, "lineno", "?")
        return f"line {line}" if path == self.path else f"{Path(path).name}, line {line}"

    # Objects.

    def thing(self, key: Hashable, cls: type, **parts: Any) -> Thing:
        """The object that a place makes."""
        found = self._things.get(key)
        if found is None:
            owner = parts.pop("owner", Owner.STATE if self.is_init else Owner.CALL)
            found = self._things[key] = Thing(cls, owner, is_kept=owner is Owner.STATE)
            self.changed = True
        self.grow(found, parts.pop("items", NOTHING), parts.pop("keys", NOTHING))
        if parts.pop("unordered", False) and not found.is_unordered:
            found.is_unordered = self.changed = True
        return found

    def fresh(self, node: ast.AST, frame: Frame, cls: type, items: Value = NOTHING, **parts: Any) -> Value:
        """A new object of a built-in class, made by an expression."""
        key = (id(node), frame, cls, parts.pop("label", ""))
        return frozenset({self.thing(key, cls, items=items, **parts)})

    def record(self, node: ast.AST, frame: Frame, record: Record) -> Value:
        """A tuple; one that holds itself without end is not followed."""
        if depth(frozenset({record})) > 6:
            return self.blame(node, frame, "it nests tuples without an end that can be seen")
        return frozenset({record})

    def things(self) -> list[Thing]:
        """All objects."""
        return list(self._things.values())

    def grow(self, thing: Thing, items: Value, keys: Value = NOTHING, field: str | None = None) -> None:
        """Note what an object may hold."""
        if thing.is_kept:
            items, keys = self._keep(items), self._keep(keys)
        if field is not None:
            before = thing.fields.get(field)
            after = items if before is None else join(before, items)
            if before != after:
                thing.fields[field] = after
                self.changed = True
        elif not items <= thing.items or not keys <= thing.keys:
            thing.items, thing.keys = join(thing.items, items), join(thing.keys, keys)
            self.changed = True

    def _keep(self, value: Value) -> Value:
        """The value as a later call may find it; everything in it is marked as kept."""
        for atom in value:
            self._keep_atom(atom)
        return release(value)

    def _keep_atom(self, atom: Any) -> None:
        if isinstance(atom, Record):
            for part in atom.parts:
                self._keep(part)
        elif isinstance(atom, Field):
            self._keep(atom.value)
        elif isinstance(atom, Thing) and not atom.is_kept:
            atom.is_kept = self.changed = True
            atom.items, atom.keys = self._keep(atom.items), self._keep(atom.keys)
            atom.fields = {name: self._keep(value) for name, value in atom.fields.items()}
            if atom.type is Iterator and not self.is_init:
                self.blames.setdefault("it keeps an iterator for later tuples")
        elif isinstance(atom, Closure | Bound | Parent | Getter) and not self.is_init:
            self.blames.setdefault("it keeps a function for later tuples")

    # Uses.

    def change(self, thing: Thing, node: ast.AST, frame: Frame) -> bool:
        """Note that an object is changed; says whether it may be."""
        if not thing.is_open:
            thing.is_open = self.changed = True
        if thing.owner is Owner.STATE and self.is_init:
            return True
        if thing.owner is Owner.CALL and not self.unordered:
            return True
        self.blame(node, frame, _WHY_NO_CHANGE.get(thing.owner, "it changes something in the order of a set"))
        return False

    def use_whole(self, value: Value, node: ast.AST, frame: Frame, what: str = "uses it as a whole") -> None:
        """Note that all of an object is looked at, so that the entries of other keys may show."""
        for atom in unwrap(value):
            if isinstance(atom, Thing) and atom.owner is Owner.STATE and not self.is_init and atom.whole is None:
                atom.whole = f"{what} ({self.place(node, frame)})"

    def use_key(self, thing: Thing, shape: Shape, *, writes: bool) -> None:
        """Note that the entry of one key is looked up or written."""
        thing.shapes.add(shape)
        thing.is_keyed_write |= writes
        thing.is_open = True

    def held(self, thing: Thing) -> Value:
        """The values that an object holds."""
        fields = thing.fields.values() if thing.type in CONTAINERS else ()
        found = join(thing.items, *fields)
        return release(found) if thing.is_kept else found

    def iterate(self, value: Value, node: ast.AST, frame: Frame, *, ordered: bool = True) -> Value:
        """The elements of a value; `ordered` where it matters in which order they come."""
        return join(*(self._elements(atom, node, frame, ordered) for atom in unwrap(value)))

    def _elements(self, atom: Any, node: ast.AST, frame: Frame, ordered: bool) -> Value:
        if isinstance(atom, Thing):
            return self._elements_of_thing(atom, node, frame, ordered)
        if isinstance(atom, Record):
            return join(*map(release, atom.parts)) if atom.names else join(*atom.parts)
        if atom is Special.FOREIGN:
            return FOREIGN
        if isinstance(atom, type):
            return parts_of(atom)
        return self.blame(node, frame, f"it iterates over {name_of(atom)}, which cannot be seen into")

    def _elements_of_thing(self, thing: Thing, node: ast.AST, frame: Frame, ordered: bool) -> Value:
        if thing.type is Iterator:
            self.change(thing, node, frame)
        elif thing.type not in CONTAINERS:
            return self.blame(node, frame, f"it iterates over a `{thing.type.__name__}`, which cannot be seen into")
        self.use_whole(frozenset({thing}), node, frame, "iterates over it")
        if ordered and (thing.type in SETS or thing.is_unordered):
            self.depend_on_order(node, frame)
        if thing.type is bytearray:
            return frozenset({int})
        if thing.keys or thing.fields:
            return (
                release(thing.keys)
                if thing.is_kept
                else join(thing.keys, frozenset({str}) if thing.fields else NOTHING)
            )
        return self.held(thing)

    def is_unordered(self, value: Value) -> bool:
        """Whether the elements of a value come in the order of a set."""
        return any(isinstance(a, Thing) and (a.type in SETS or a.is_unordered) for a in unwrap(value))

    def observe(
        self, value: Value, node: ast.AST, frame: Frame, *, ordered: bool = True, shown: bool = False, seen: Any = ()
    ) -> None:
        """Look at plain data to the last part, as `==` does, or `str` where it is `shown`."""
        for atom in unwrap(value):
            if atom in seen or atom in SCALARS or isinstance(atom, Special):
                continue
            if isinstance(atom, Record):
                for part in atom.parts:
                    self.observe(part, node, frame, ordered=ordered, shown=shown, seen=(*seen, atom))
            elif isinstance(atom, Thing) and (atom.type in CONTAINERS or atom.type is Iterator):
                if shown and (atom.type is Iterator or any(map(_has_address, atom.factory))):
                    self.blame(node, frame, f"it makes text of {name_of(atom)}, which shows an address in memory")
                # Two sets or dicts are equal in whatever order, two lists are not.
                by_place = atom.is_unordered and atom.type in SEQUENCES
                inside = join(self._elements_of_thing(atom, node, frame, ordered or by_place), self.held(atom))
                self.observe(inside, node, frame, ordered=ordered, shown=shown, seen=(*seen, atom))
            elif not isinstance(atom, Known) or not is_told_apart(atom):
                self.blame(node, frame, f"it uses {name_of(atom)} as plain data, which it is not")

    def submit(self, value: Value, node: ast.AST, frame: Frame) -> None:
        """Note that a value leaves as a tuple."""
        self.given.append(value)
        self._look_at_given(value, node, frame)

    def _look_at_given(self, value: Value, node: ast.AST, frame: Frame, seen: tuple[Any, ...] = ()) -> None:
        """A set may leave as it is; a list in the order of one may not."""
        for atom in unwrap(value):
            if isinstance(atom, Record):
                for part in (*atom.parts, self._properties(atom, node, frame)):
                    self._look_at_given(part, node, frame, (*seen, atom))
            elif isinstance(atom, Thing) and atom not in seen:
                self.use_whole(frozenset({atom}), node, frame, "gives it away")
                if atom.is_unordered and atom.type not in SETS:
                    self.blame(node, frame, "it gives what it has in the order of a set; use `sorted`")
                if atom.type is Iterator:
                    self.change(atom, node, frame)
                inside = join(self.held(atom), *atom.fields.values(), atom.keys, self._properties(atom, node, frame))
                self._look_at_given(inside, node, frame, (*seen, atom))

    def _properties(self, given: Thing | Record, node: ast.AST, frame: Frame) -> Value:
        """The values of the properties of an instance that leaves as a tuple, which the engine may read."""
        cls = given.type if isinstance(given, Thing) else given.cls or tuple
        if cls in CONTAINERS or cls in (Iterator, DIGEST):
            return NOTHING
        members = {n: m for base in reversed(cls.__mro__) for n, m in vars(base).items()}
        getters = [Bound(n, given, m.fget) for n, m in members.items() if isinstance(m, property)]
        return join(*(self.call(frozenset({getter}), node, frame) for getter in getters))

    def spoil(self, value: Value) -> None:
        """Note that unknown code is handed a value, which it may change, or through which it may submit."""
        for atom in unwrap(value):
            if atom is Special.SUBMIT or (isinstance(atom, Bound) and atom.receiver is Special.SUBMIT):
                self.leaks_submit = True
            elif isinstance(atom, Bound):
                self.spoil(frozenset({atom.receiver}))
            elif isinstance(atom, Closure):
                self.leaks_submit = True
            elif isinstance(atom, Record):
                self.spoil(join(*atom.parts))
            elif isinstance(atom, Thing) and Special.FOREIGN not in atom.items:
                self.leaks_submit |= atom.owner is Owner.STATE and atom.type not in CONTAINERS
                self.grow(atom, FOREIGN, FOREIGN)
                for name in atom.fields:
                    self.grow(atom, FOREIGN, field=name)
                self.spoil(join(atom.items, *atom.fields.values()))

    def index_by_text(self, value: Value, node: ast.AST, frame: Frame, seen: tuple[Any, ...] = ()) -> None:
        """Note that entries are looked up under keys that stand in a text, as `%` and `translate` do."""
        for atom in unwrap(value) - frozenset(seen):
            if isinstance(atom, Thing) and atom.factory:
                self.blame(node, frame, "it looks up keys of a text in a defaultdict, which grows by that")
            if isinstance(atom, Thing | Record):
                inside = join(*atom.parts) if isinstance(atom, Record) else self.held(atom)
                self.index_by_text(inside, node, frame, (*seen, atom))

    def depend_on_order(self, node: ast.AST, frame: Frame) -> Value:
        """Blame what comes out otherwise in another order of a set."""
        return self.blame(
            node, frame, "it depends on the order of a set, which differs between processes; use `sorted`"
        )


def _has_address(factory: Any) -> bool:
    return not (isinstance(factory, Known) and isinstance(factory.object, type))


_WHY_NO_CHANGE = {
    Owner.TUPLE: "it changes a part of the input tuple, which others receive too",
    Owner.FIXED: "it changes something that outlives the call",
    Owner.STATE: "it changes its state other than under a key of the tuple",
}


def name_of(atom: Any) -> str:
    """An atom in words."""
    if isinstance(atom, Known):
        return f"`{getattr(atom.object, '__name__', type(atom.object).__name__)}`"
    if isinstance(atom, Thing):
        return f"a `{atom.type.__name__}`" if atom.type is not DIGEST else "a digest"
    if isinstance(atom, Bound):
        return f"the method `{atom.name}`"
    if isinstance(atom, Special):
        return f"the {atom.value}"
    return (
        "a function" if isinstance(atom, Closure | Getter) else f"a `{getattr(atom, '__name__', type(atom).__name__)}`"
    )


def is_told_apart(atom: Known) -> bool:
    """Whether an object of the program may be compared and printed: a member of an enumeration may."""
    return isinstance(atom.object, Enum)
