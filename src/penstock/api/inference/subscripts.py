"""Items and targets: `x[k]`, `x[k] = v`, `del x[k]`, and what an assignment binds or stores."""

from __future__ import annotations

import ast
from typing import Any

from penstock.api.inference.analysis import Analysis, name_of
from penstock.api.inference.attributes import store_attribute
from penstock.api.inference.calls.known_parts import CONTAINERS, DATA, DICTS, SCALARS, parts_of
from penstock.api.inference.frames import Frame
from penstock.api.inference.names.lookup import bind
from penstock.api.inference.operations import check_hash
from penstock.api.inference.values import (
    FOREIGN,
    NOTHING,
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

NOT_A_KEY = "looks up a key that is not made of attributes of the tuple as they came"


def read_item(run: Analysis, base: Value, index: Value, node: ast.AST, frame: Frame) -> Value:
    """The values that `base[index]` may have."""
    if not all(isinstance(atom, Thing) and atom.type in DICTS for atom in unwrap(base)):
        run.observe(index, node, frame, ordered=False)
    return join(*(_item(run, atom, index, node, frame) for atom in unwrap(base)))


def _item(run: Analysis, atom: Any, index: Value, node: ast.AST, frame: Frame) -> Value:
    if isinstance(atom, Record):
        return _part(run, atom, index, node, frame)
    if isinstance(atom, Thing) and atom.type in CONTAINERS:
        return _entry(run, atom, index, node, frame)
    if atom in SCALARS:
        return join(parts_of(atom), frozenset({atom}), DATA if not parts_of(atom) else NOTHING)
    if atom is Special.FOREIGN:
        return FOREIGN
    return run.blame(node, frame, f"it looks up an item of {name_of(atom)}, which cannot be seen into")


def _part(run: Analysis, record: Record, index: Value, node: ast.AST, frame: Frame) -> Value:
    place = _constant(node)
    if isinstance(place, int):
        return record.parts[place] if -len(record.parts) <= place < len(record.parts) else NOTHING
    if slice in index:
        return run.fresh(node, frame, tuple, release(join(*record.parts)))
    return release(join(*record.parts))


def _constant(node: ast.AST) -> Any:
    """The constant that stands in the brackets, if one does."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=value)) if type(value) in (int, str):
            return value
        case ast.Subscript(slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value)))):
            return -value
    return None


def _entry(run: Analysis, thing: Thing, index: Value, node: ast.AST, frame: Frame) -> Value:
    if thing.type in DICTS:
        check_hash(run, index, node, frame)
        return look_up(run, thing, index, node, frame, inserts=bool(thing.factory))
    run.use_whole(frozenset({thing}), node, frame, "looks up an item of it")
    if thing.type is bytearray:
        return frozenset({int, bytes})
    found = run.held(thing)
    if thing.is_unordered:
        run.depend_on_order(node, frame)
    if slice in unwrap(index):
        return join(run.fresh(node, frame, thing.type, found), found)
    return found


def look_up(
    run: Analysis,
    thing: Thing,
    index: Value,
    node: ast.AST,
    frame: Frame,
    *,
    inserts: bool = False,
    writes: bool = False,
) -> Value:
    """The entry of a dict; that of the operator's state belongs to the key of the tuple."""
    if inserts:
        made = run.call(thing.factory, node, frame)
        may_change(run, thing, index, node, frame)
        run.grow(thing, made, index)
    elif writes:
        may_change(run, thing, index, node, frame)
    elif thing.owner is Owner.STATE and not run.is_init:
        shape = shape_of(index)
        if shape is None:
            run.use_whole(frozenset({thing}), node, frame, NOT_A_KEY)
        else:
            run.use_key(thing, shape, writes=False)
    name = _constant(node)
    if isinstance(name, str) and name in thing.fields and not thing.is_open and not thing.is_kept:
        return thing.fields[name]
    return join(run.held(thing), frozenset({int}) if thing.type.__name__ == "Counter" else NOTHING)


def may_change(run: Analysis, thing: Thing, index: Value, node: ast.AST, frame: Frame) -> bool:
    """Note a change of one entry; says whether it is allowed."""
    shape = shape_of(index)
    if thing.is_unordered and thing.type not in DICTS:
        run.depend_on_order(node, frame)
    if thing.owner is Owner.STATE and not run.is_init and thing.type in DICTS | {set} and not run.unordered:
        if shape is None:
            run.blame(
                node, frame, "it writes its state under a key that is not made of attributes of the tuple as they came"
            )
            return False
        run.use_key(thing, shape, writes=True)
        return True
    return run.change(thing, node, frame)


def store_item(run: Analysis, base: Value, index: Value, value: Value, node: ast.AST, frame: Frame) -> None:
    """`base[index] = value`."""
    for atom in unwrap(base):
        if isinstance(atom, Thing) and atom.type in CONTAINERS:
            if atom.type in DICTS:
                check_hash(run, index, node, frame)
            else:
                run.observe(index, node, frame)
            may_change(run, atom, index, node, frame)
            is_slice = slice in unwrap(index)
            run.grow(
                atom, run.iterate(value, node, frame) if is_slice else value, index if atom.type in DICTS else NOTHING
            )
        elif atom is Special.FOREIGN:
            run.spoil(value)
        elif not (isinstance(atom, Record) or atom in SCALARS):
            run.blame(node, frame, f"it stores into {name_of(atom)}, which cannot be seen into")


def delete_item(run: Analysis, base: Value, index: Value, node: ast.AST, frame: Frame) -> None:
    """`del base[index]`."""
    for atom in unwrap(base):
        if isinstance(atom, Thing) and atom.type in CONTAINERS:
            check_hash(run, index, node, frame)
            may_change(run, atom, index, node, frame)
        elif not (isinstance(atom, Record | Special) or atom in SCALARS):
            run.blame(node, frame, f"it deletes an item of {name_of(atom)}, which cannot be seen into")


def assign(run: Analysis, target: ast.expr, value: Value, frame: Frame) -> None:
    """Bind or store what an assignment does."""
    match target:
        case ast.Name(id=name):
            bind(run, name, value, frame, target)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(run, targets, value, target, frame)
        case ast.Starred(value=inner):
            assign(run, inner, run.fresh(target, frame, list, value), frame)
        case ast.Attribute(value=base, attr=name):
            store_attribute(run, run.evaluate(base, frame), frame.mangle(name), value, target, frame)
        case ast.Subscript(value=base, slice=index):
            store_item(run, run.evaluate(base, frame), run.evaluate(index, frame), value, target, frame)


def _unpack(run: Analysis, targets: list[ast.expr], value: Value, node: ast.AST, frame: Frame) -> None:
    plain = not any(isinstance(t, ast.Starred) for t in targets)
    for atom in unwrap(value):
        if isinstance(atom, Record) and plain:
            if len(atom.parts) == len(targets):
                for target, part in zip(targets, atom.parts, strict=True):
                    assign(run, target, part, frame)
        else:
            element = run.iterate(frozenset({atom}), node, frame)
            for target in targets:
                assign(run, target, element, frame)
