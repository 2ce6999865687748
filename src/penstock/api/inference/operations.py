"""Operators, comparisons and tests on the values of the abstract interpreter."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from enum import Enum
from functools import cache
from types import BuiltinFunctionType, ModuleType
from typing import Any

from penstock.api.inference.analysis import Analysis, name_of
from penstock.api.inference.calls.known_parts import CONTAINERS, DATA, DICTS, ORDERED, SAMPLES, SCALARS, SETS
from penstock.api.inference.frames import Frame
from penstock.api.inference.values import (
    FOREIGN,
    NOTHING,
    Iterator,
    Known,
    Owner,
    Record,
    Special,
    Thing,
    Value,
    join,
    release,
    shape_of,
    unwrap,
)

BOOL: Value = frozenset({bool})
STR: Value = frozenset({str})


def check_hash(run: Analysis, value: Value, node: ast.AST, frame: Frame) -> None:
    """A key is hashed and compared: no code of the user may do that."""
    for atom in unwrap(value):
        if isinstance(atom, Thing) and atom.type not in CONTAINERS and atom.type is not Iterator:
            run.blame(node, frame, f"it uses {name_of(atom)} as a key, which calls its methods")
        elif isinstance(atom, Record):
            check_hash(run, join(*atom.parts), node, frame)
        elif isinstance(atom, Known) and not isinstance(atom.object, type | Enum | ModuleType | BuiltinFunctionType):
            run.blame(node, frame, f"it uses {name_of(atom)} as a key, which calls its methods")


def is_told_by_equality(value: Value, seen: tuple[Any, ...] = ()) -> bool:
    """Whether equal objects among these are the same to everybody, as 1 and True or 0.0 and -0.0 are not."""
    atoms = unwrap(value) - frozenset(seen)
    return not {int, bool} <= atoms and all(
        is_told_by_equality(join(*atom.parts), (*seen, atom))
        if isinstance(atom, Record)
        else is_told_by_equality(atom.items, (*seen, atom))
        if isinstance(atom, Thing) and atom.type is tuple and not atom.is_unordered
        else atom in ORDERED or atom is Special.FOREIGN
        for atom in atoms
    )


@cache
def _result_types(name: str, *classes: Any) -> Value | None:
    """The classes of what an operation gives for objects of some classes, found by trying it."""
    act = _OPERATIONS[name]
    samples = [SAMPLES.get(cls) for cls in classes]
    if None in samples:
        return None
    if len(classes) == 1:
        return frozenset(filter(None, (_type_of(act, a) for a in samples[0] or ())))
    return frozenset(filter(None, (_type_of(act, a, b) for a in samples[0] or () for b in samples[1] or ())))


def _type_of(act: Callable[..., Any], *values: Any) -> Any:
    try:
        return type(act(*values))
    except Exception:
        return None


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv, "Mod": operator.mod,
    "FloorDiv": operator.floordiv, "Pow": operator.pow, "BitAnd": operator.and_, "BitOr": operator.or_,
    "BitXor": operator.xor, "LShift": operator.lshift, "RShift": operator.rshift, "MatMult": operator.matmul,
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert,
}  # fmt: skip


def operate(run: Analysis, name: str, left: Value, right: Value, node: ast.AST, frame: Frame) -> Value:
    """The result of a binary operator."""
    return join(*(_operate(run, name, a, b, node, frame) for a in unwrap(left) for b in unwrap(right)))


def _operate(run: Analysis, name: str, left: Any, right: Any, node: ast.AST, frame: Frame) -> Value:
    if Special.FOREIGN in (left, right):
        return FOREIGN
    if left in SCALARS and right in SCALARS:
        found = _result_types(name, left, right)
        return found if found is not None and found <= SCALARS else DATA
    for side in (left, right):
        if not (side in SCALARS or isinstance(side, Record) or (isinstance(side, Thing) and side.type in CONTAINERS)):
            return run.blame(node, frame, f"it applies an operator to {name_of(side)}, which cannot be seen into")
    if left is str and name == "Mod":
        run.observe(frozenset({right}), node, frame, shown=True)
        run.index_by_text(frozenset({right}), node, frame)
        return STR
    return _combine(run, name, left, right, node, frame)


def _combine(run: Analysis, name: str, left: Any, right: Any, node: ast.AST, frame: Frame) -> Value:
    """`+`, `*` and set operations on containers make a new one of the class of the left side."""
    holders = [side for side in (left, right) if side not in SCALARS]
    cls = next((s.type if isinstance(s, Thing) else tuple) for s in holders)
    inside = join(*(run.iterate(frozenset({s}), node, frame, ordered=cls not in SETS) for s in holders))
    if name in ("Add", "Mult", "BitOr", "BitAnd", "BitXor", "Sub"):
        if cls in DICTS:
            values = join(*(run.held(s) for s in holders if isinstance(s, Thing)))
            factories = join(*(s.factory for s in holders if isinstance(s, Thing)))
            found = run.fresh(node, frame, cls, release(values), keys=release(inside), label=name)
            return _with_factory(run, found, factories)
        return run.fresh(node, frame, cls, inside, label=name)
    return NOTHING


def _with_factory(run: Analysis, value: Value, factory: Value) -> Value:
    for thing in value:
        if not factory <= thing.factory:
            thing.factory, run.changed = join(thing.factory, factory), True
    return value


def operate_alone(run: Analysis, name: str, value: Value, node: ast.AST, frame: Frame) -> Value:
    """The result of a unary operator."""
    found = NOTHING
    for atom in unwrap(value):
        if atom in SCALARS:
            found = join(found, _result_types(name, atom) or DATA)
        elif isinstance(atom, Thing) and atom.type in CONTAINERS:
            run.use_whole(frozenset({atom}), node, frame)
            found = join(found, run.fresh(node, frame, atom.type, run.held(atom), keys=atom.keys))
        elif atom is Special.FOREIGN:
            found = join(found, FOREIGN)
        elif not isinstance(atom, Record):
            found = join(found, run.blame(node, frame, f"it applies an operator to {name_of(atom)}"))
    return found


def test(run: Analysis, value: Value, node: ast.AST, frame: Frame) -> None:
    """Ask whether a value is true."""
    for atom in unwrap(value):
        if isinstance(atom, Thing) and atom.type in CONTAINERS:
            run.use_whole(frozenset({atom}), node, frame, "asks whether it is empty")
        elif _decides_truth(atom):
            run.blame(node, frame, f"it asks whether {name_of(atom)} is true, which calls its methods")


def _decides_truth(atom: Any) -> bool:
    """Whether an object says itself whether it is true."""
    cls = atom.type if isinstance(atom, Thing) else type(atom.object) if isinstance(atom, Known) else object
    return cls is not type and any(hasattr(cls, name) for name in ("__bool__", "__len__"))


def contains(run: Analysis, item: Value, container: Value, node: ast.AST, frame: Frame) -> None:
    """Look for an item in a container; the state is looked up by a key of the tuple, or as a whole."""
    check_hash(run, item, node, frame)
    shape = shape_of(item)
    for atom in unwrap(container):
        is_state = isinstance(atom, Thing) and atom.owner is Owner.STATE and atom.type in DICTS | SETS
        if is_state and shape is not None and not run.is_init:
            run.use_key(atom, shape, writes=False)
        elif isinstance(atom, Thing | Record) or atom in SCALARS:
            run.observe(item, node, frame, ordered=False)
            run.observe(run.iterate(frozenset({atom}), node, frame, ordered=False), node, frame, ordered=False)
        elif atom is not Special.FOREIGN:
            run.blame(node, frame, f"it looks for something in {name_of(atom)}, which cannot be seen into")


_SINGLE: Value = frozenset({type(None), bool, type(...), type(NotImplemented)})


def compare(run: Analysis, name: str, left: Value, right: Value, node: ast.AST, frame: Frame) -> None:
    """Look at what a comparison looks at."""
    if name in ("In", "NotIn"):
        contains(run, left, right, node, frame)
    elif name in ("Is", "IsNot"):
        if not any(all(a in _SINGLE or isinstance(a, Known | Thing) for a in unwrap(side)) for side in (left, right)):
            run.blame(node, frame, "it compares with `is`, which tells equal values apart; use `==`")
    else:
        for side in (left, right):
            run.observe(side, node, frame, ordered=False)
