"""Attributes: of tuples, of immutable objects, of instances, classes and modules."""

from __future__ import annotations

import ast
import enum
import inspect
from types import FunctionType, ModuleType
from typing import Any

from penstock.api.inference.analysis import Analysis, name_of
from penstock.api.inference.calls.known_parts import CONTAINERS, DATA, DIGEST, IMPURE, SCALARS
from penstock.api.inference.frames import Frame
from penstock.api.inference.names.bindings import is_library, why_attribute_moves, why_text_moves
from penstock.api.inference.names.lookup_tables import fix_attribute, fix_member
from penstock.api.inference.names.objects import (
    BASES,
    CALLABLES,
    class_member,
    fix,
    is_plain_enum,
    is_record_class,
    why_member_moves,
)
from penstock.api.inference.names.table_uses import TABLES
from penstock.api.inference.values import (
    FOREIGN,
    NOTHING,
    Bound,
    Iterator,
    Known,
    Owner,
    Parent,
    Record,
    Special,
    Thing,
    Value,
    join,
    release,
    unwrap,
)

_ROW_METHODS = frozenset("_replace _asdict index count".split())


def read_attribute(run: Analysis, base: Value, name: str, node: ast.AST, frame: Frame) -> Value:
    """The values that `base.name` may have."""
    return join(*(_attribute(run, atom, name, node, frame) for atom in unwrap(base)))


def _attribute(run: Analysis, atom: Any, name: str, node: ast.AST, frame: Frame) -> Value:
    if atom is Special.FOREIGN:
        return FOREIGN
    if isinstance(atom, Record):
        return _of_record(run, atom, name, node, frame)
    if name.startswith("__") and not isinstance(atom, Parent):
        run.spoil(frozenset({atom}))
        return run.blame(node, frame, f"it uses `{name}`, which is not followed")
    if isinstance(atom, Thing):
        return _of_thing(run, atom, name, node, frame)
    if isinstance(atom, Known):
        return _of_known(run, atom.object, name, node, frame)
    if isinstance(atom, Parent):
        return _of_parent(run, atom, name, node, frame)
    if isinstance(atom, type):
        return _of_scalar(run, atom, name, node, frame)
    return run.blame(node, frame, f"it reads `{name}` of {name_of(atom)}, which cannot be seen into")


def _of_record(run: Analysis, record: Record, name: str, node: ast.AST, frame: Frame) -> Value:
    part = record.part(name)
    if part is not None:
        return part
    if name == "_fields":
        return frozenset({Record((), tuple(frozenset({str}) for _ in record.names))})
    if name in _ROW_METHODS and (record.names or name in ("index", "count")):
        return frozenset({Bound(name, record)})
    cls = record.cls
    if cls in (None, tuple) or not hasattr(cls, name):
        return (
            NOTHING if not name.startswith("_") else run.blame(node, frame, f"it uses `{name}`, which is not followed")
        )
    return _member(run, cls, record, name, node, frame)


def _of_scalar(run: Analysis, cls: type, name: str, node: ast.AST, frame: Frame) -> Value:
    if name in IMPURE.get(cls, ()):
        return run.blame(node, frame, f"it calls `{cls.__name__}.{name}`, whose result is not a function of the tuple")
    if cls is BaseException:
        if name in ("args", "errno", "strerror", "msg", "pos", "lineno", "reason", "name"):
            return DATA
        return run.blame(node, frame, f"it reads `{name}` of an exception, which is not followed")
    found = inspect.getattr_static(cls, name, None)
    if found is None:
        return NOTHING
    return frozenset({Bound(name, cls)}) if callable(getattr(cls, name, None)) else DATA


def _of_thing(run: Analysis, thing: Thing, name: str, node: ast.AST, frame: Frame) -> Value:
    if thing.type in CONTAINERS or thing.type in (Iterator, DIGEST):
        if name == "maxlen":
            return frozenset({int, type(None)})
        known = thing.type in (Iterator, DIGEST) or hasattr(thing.type, name)
        return frozenset({Bound(name, thing)}) if known else NOTHING
    if name == "submit" and thing.owner is Owner.STATE and "submit" not in thing.fields:
        return frozenset({Special.SUBMIT})
    stored = thing.fields.get(name, NOTHING)
    stored = release(stored) if thing.is_kept else stored
    if Special.FOREIGN in thing.items:
        stored = join(stored, FOREIGN)
    member, is_there = class_member(thing.type, name)
    if not is_there or inspect.ismemberdescriptor(member):
        if name in thing.fields or Special.FOREIGN in thing.items:
            return stored
        return run.blame(node, frame, f"`{name}` of a `{thing.type.__name__}` is not set where that can be seen")
    return join(stored, _member(run, thing.type, thing, name, node, frame))


def _member(
    run: Analysis, cls: type, receiver: Any, name: str, node: ast.AST, frame: Frame, after: type | None = None
) -> Value:
    """The member that an instance finds in its class: a method, the result of a property, or a value."""
    member, is_there = class_member(cls, name, after=after)
    if not is_there:
        return NOTHING
    if why := why_member_moves(cls, name):
        return run.blame(node, frame, f"it uses `{cls.__name__}.{name}`, {why}")
    if isinstance(member, FunctionType):
        return frozenset({Bound(name, receiver, member)})
    if isinstance(member, property):
        return run.call(frozenset({Bound(name, receiver, member.fget)}), node, frame)
    if isinstance(member, staticmethod):
        return _fixed(run, member.__func__, f"{cls.__name__}.{name}", node, frame)
    if isinstance(member, classmethod):
        return frozenset({Bound(name, Known(cls), member.__func__)})
    if hasattr(type(member), "__get__") and not isinstance(member, type):
        return run.blame(
            node, frame, f"`{cls.__name__}.{name}` is a `{type(member).__name__}`, which may act when it is read"
        )
    if type(member) in TABLES:
        return _table(run, ("table", cls, name), fix_member, (member, cls, name), node, frame)
    return _fixed(run, member, f"{cls.__name__}.{name}", node, frame)


def _table(run: Analysis, key: Any, find: Any, given: tuple[Any, ...], node: ast.AST, frame: Frame) -> Value:
    """A lookup table of a module or class; one object, wherever it is read."""
    if key not in run.frames:
        run.frames[key] = find(*given)
    found: Value | str = run.frames[key]
    holder = getattr(given[1], "__name__", "")
    return run.blame(node, frame, f"it reads `{holder}.{given[2]}`, {found}") if isinstance(found, str) else found


def _fixed(run: Analysis, value: Any, what: str, node: ast.AST, frame: Frame) -> Value:
    found = fix(value)
    return run.blame(node, frame, f"it reads `{what}`, {found}") if isinstance(found, str) else found


def _of_parent(run: Analysis, parent: Parent, name: str, node: ast.AST, frame: Frame) -> Value:
    cls = parent.receiver.type if isinstance(parent.receiver, Thing) else None
    if cls is None:
        return run.blame(node, frame, "it uses `super()` of what cannot be seen into")
    member, is_there = class_member(cls, name, after=parent.after)
    if name == "__init__" and (member is object.__init__ or not is_there):
        return frozenset({Bound("__init__", parent.receiver, object.__init__)})
    return _member(run, cls, parent.receiver, name, node, frame, after=parent.after)


def _of_known(run: Analysis, value: Any, name: str, node: ast.AST, frame: Frame) -> Value:
    if isinstance(value, ModuleType):
        return _of_module(run, value, name, node, frame)
    if isinstance(value, type):
        return _of_class(run, value, name, node, frame)
    if isinstance(value, enum.Enum) and name in ("value", "name"):
        return _fixed(run, value.value if name == "value" else value.name, name, node, frame)
    if is_record_class(type(value)) and name in value.__dataclass_fields__:
        if why := why_attribute_moves(name):
            return run.blame(node, frame, f"it reads `{name}`, {why}")
        return _fixed(run, getattr(value, name), name, node, frame)
    return run.blame(node, frame, f"it reads `{name}` of {name_of(Known(value))}, which can change")


def _of_module(run: Analysis, module: ModuleType, name: str, node: ast.AST, frame: Frame) -> Value:
    if type(module) is not ModuleType or name not in vars(module):
        return run.blame(node, frame, f"`{module.__name__}.{name}` cannot be seen into")
    if why := why_attribute_moves(name):
        return run.blame(node, frame, f"it reads `{module.__name__}.{name}`, {why}")
    value = vars(module)[name]
    path = getattr(module, "__file__", None)
    if not is_library(path) and (why := why_text_moves(str(path), vars(module), name)):
        return run.blame(node, frame, f"it reads `{module.__name__}.{name}`, {why}")
    if type(value) in TABLES and not is_library(path):
        return _table(run, ("table", id(module), name), fix_attribute, (value, module, name), node, frame)
    return _fixed(run, value, f"{module.__name__}.{name}", node, frame)


def _of_class(run: Analysis, cls: type, name: str, node: ast.AST, frame: Frame) -> Value:
    if cls in SCALARS and name in IMPURE.get(cls, ()):
        return run.blame(node, frame, f"it calls `{cls.__name__}.{name}`, whose result is not a function of the tuple")
    if is_plain_enum(cls) and name in cls.__members__:  # type: ignore[attr-defined] # it is an Enum
        return frozenset({Known(cls.__members__[name])})  # type: ignore[attr-defined]
    if type(cls) is not type or cls.__module__ in BASES:
        return run.blame(node, frame, f"it reads `{cls.__name__}.{name}`, which cannot be seen into")
    member, is_there = class_member(cls, name)
    if is_there and (
        (isinstance(member, CALLABLES) and not isinstance(member, FunctionType)) or cls in SCALARS | CONTAINERS
    ):
        return frozenset({Bound(name, Known(cls))})
    if isinstance(member, FunctionType):
        if why := why_member_moves(cls, name):
            return run.blame(node, frame, f"it uses `{cls.__name__}.{name}`, {why}")
        return frozenset({Known(member)})
    return _member(run, cls, Known(cls), name, node, frame)


def store_attribute(run: Analysis, base: Value, name: str, value: Value, node: ast.AST, frame: Frame) -> None:
    """`base.name = value`."""
    for atom in unwrap(base):
        if isinstance(atom, Thing) and atom.type not in CONTAINERS and atom.type is not Iterator:
            _store(run, atom, name, value, node, frame)
        elif atom is Special.FOREIGN:
            run.spoil(value)
        elif not isinstance(atom, Record):
            run.blame(node, frame, f"it stores `{name}` into {name_of(atom)}, which outlives the call")


def _store(run: Analysis, thing: Thing, name: str, value: Value, node: ast.AST, frame: Frame) -> None:
    member, is_there = class_member(thing.type, name)
    if name.startswith("__") and name.endswith("__"):
        run.blame(node, frame, f"it stores `{name}`, which is not followed")
    if is_there and hasattr(type(member), "__set__") and not inspect.ismemberdescriptor(member):
        run.blame(node, frame, f"it stores into the property `{name}`, which is not followed")
    if thing.owner is Owner.STATE and not run.is_init:
        if not run.is_of_one_key:
            run.blame(node, frame, f"it writes `self.{name}`, which is one value for all tuples")
    else:
        run.change(thing, node, frame)
    run.grow(thing, value, field=name)
