"""Instances of named tuples and dataclasses that only hold what they are given."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from penstock.api.inference.analysis import Analysis, Arguments
from penstock.api.inference.frames import Frame
from penstock.api.inference.names.objects import fix
from penstock.api.inference.values import NOTHING, Known, Record, Value, join


def make_named_tuple(run: Analysis, cls: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A named tuple of its arguments and defaults."""
    parts = []
    for i, name in enumerate(cls._fields):
        value = given.positional[i] if i < len(given.positional) else given.keywords.get(name)
        if value is None:
            value = given.rest or NOTHING
            value = (
                join(value, _default(run, cls._field_defaults[name], name, node, frame))
                if name in cls._field_defaults
                else value
            )
        parts.append(value)
    return run.record(node, frame, Record(cls._fields, tuple(parts), cls))


def make_dataclass(run: Analysis, cls: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """An instance of a dataclass; a factory of a default is called."""
    made = run.fresh(node, frame, cls)
    names = [f for f in dataclasses.fields(cls) if f.init]
    positional = [f.name for f in names if not f.kw_only]
    for field in dataclasses.fields(cls):
        place = positional.index(field.name) if field.name in positional else len(given.positional)
        value = given.positional[place] if place < len(given.positional) else given.keywords.get(field.name)
        if value is None or not field.init:
            value = join(given.rest or NOTHING, _field_default(run, field, node, frame))
        for thing in made:
            run.grow(thing, value, field=field.name)
    return made


def _field_default(run: Analysis, field: Any, node: ast.AST, frame: Frame) -> Value:
    if field.default_factory is not dataclasses.MISSING:
        found = fix(field.default_factory)
        if isinstance(found, str):
            return run.blame(node, frame, f"the default of `{field.name}` is made by {found}")
        return run.call(found, node, frame)
    return NOTHING if field.default is dataclasses.MISSING else _default(run, field.default, field.name, node, frame)


def _default(run: Analysis, value: Any, name: str, node: ast.AST, frame: Frame) -> Value:
    found = fix(value)
    return run.blame(node, frame, f"the default of `{name}` is {found}") if isinstance(found, str) else found


def field_names(value: Any) -> tuple[str, ...]:
    """The names under which an instance gives its values."""
    return value.names if isinstance(value, Record) else tuple(value.fields) if not isinstance(value, Known) else ()
