"""Classes whose instances are nothing but their attributes: named tuples and dataclasses without hooks."""

from __future__ import annotations

import dataclasses
import inspect
from collections import namedtuple
from types import MemberDescriptorType
from typing import Any

_FIELD = type(inspect.getattr_static(namedtuple("_Pair", "x"), "x"))
"""The class of the attributes of named tuples."""


def plain_fields(cls: Any) -> dict[str, Any] | None:
    """The attributes of a named tuple or dataclass in order, with default values or `MISSING`, if it has no hooks.

    Then its constructor sets each of them and does nothing else, and reading one gives what was set.

    Example:
        >>> Point = dataclasses.make_dataclass("Point", ["x", ("y", int, 0)])
        >>> list(plain_fields(Point)), plain_fields(int) is None
        (['x', 'y'], True)
    """
    if type(cls) is not type:
        return None
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _fields_of_tuple(cls)
    return _fields_of_dataclass(cls) if "__dataclass_params__" in vars(cls) else None


def _fields_of_tuple(cls: Any) -> dict[str, Any] | None:
    is_plain = cls.__new__.__module__.startswith("namedtuple_") and all(
        type(inspect.getattr_static(cls, name)) is _FIELD for name in cls._fields
    )
    if not is_plain or _has_hook(cls, "__init__", "__getattribute__", "__getattr__"):
        return None
    return {name: cls._field_defaults.get(name, dataclasses.MISSING) for name in cls._fields}


def _fields_of_dataclass(cls: Any) -> dict[str, Any] | None:
    params, fields = vars(cls)["__dataclass_params__"], dataclasses.fields(cls)
    hooks = ["__post_init__", "__getattribute__", "__getattr__", "__new__"]
    # A constructor that somebody has written stays; those that are made have no file.
    is_made = params.init and vars(cls)["__init__"].__code__.co_filename == "<string>"
    are_plain = all(f.init and not f.kw_only and f.default_factory is dataclasses.MISSING for f in fields)
    is_intercepted = any(_is_intercepted(cls, f.name) for f in fields)
    if not is_made or not are_plain or is_intercepted or _has_hook(cls, *hooks):
        return None
    return None if not params.frozen and _has_hook(cls, "__setattr__") else {f.name: f.default for f in fields}


def _is_intercepted(cls: Any, name: str) -> bool:
    """Whether an attribute is a property or the like."""
    found = inspect.getattr_static(cls, name, None)
    return hasattr(type(found), "__set__") and not isinstance(found, MemberDescriptorType)


def _has_hook(cls: Any, *hooks: str) -> bool:
    return any(hook in vars(c) for c in cls.__mro__ if c not in (object, tuple) for hook in hooks)
