"""The objects of a program as they are at compile time: which are harmless, and which classes have no hooks."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import operator
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from penstock.api.inference.calls.known_parts import SCALARS
from penstock.api.inference.names.bindings import why_attribute_moves
from penstock.api.inference.values import Known, Owner, Record, Thing, Value, join

CALLABLES = (FunctionType, BuiltinFunctionType, MethodDescriptorType, ClassMethodDescriptorType, WrapperDescriptorType)

_HOOKS = frozenset(
    "__getattribute__ __getattr__ __setattr__ __delattr__ __new__ __del__ __getstate__ __setstate__ __reduce__ "
    "__reduce_ex__ __getnewargs__ __getnewargs_ex__ __copy__ __deepcopy__ __instancecheck__ __class__".split()
)

_NAMED_TUPLE = frozenset(
    "__doc__ __slots__ _fields _field_defaults __new__ _make _replace __repr__ _asdict __getnewargs__ __match_args__ "
    "__module__ __annotations__ __orig_bases__ __dict__ __qualname__".split()
)

BASES = ("penstock.api.operators", "penstock.api.keyed.operator")
"""Where the base classes of operators are defined, whose methods are known."""


def describe(value: Any) -> str:
    """A class in words."""
    return f"{'an' if type(value).__name__[0].lower() in 'aeiou' else 'a'} {type(value).__name__}"


def fix(value: Any) -> Value | str:
    """The value of a captured object, or why it is unknown."""
    cls = type(value)
    if cls in SCALARS:
        return frozenset({cls})
    if cls is tuple:
        return _fix_parts(value, (), tuple)
    if cls is frozenset:
        return _fix_set(value)
    if isinstance(value, type | ModuleType | functools.partial) or cls in CALLABLES:
        return frozenset({Known(value)})
    if is_named_tuple(cls):
        return _fix_parts(value, cls._fields, cls)
    if isinstance(value, enum.Enum) and is_plain_enum(cls):
        return frozenset({Known(value)})
    if is_record_class(cls) and cls.__dataclass_params__.frozen:
        return frozenset({Known(value)})
    if cls in (operator.itemgetter, operator.attrgetter):
        return frozenset({Known(value)})
    return (
        f"{describe(value)} that can change"
        if cls in (list, dict, set)
        else f"{describe(value)} that cannot be seen into"
    )


def _fix_parts(values: Any, names: tuple[str, ...], cls: type) -> Value | str:
    if not names and len(values) > 32:
        found = [fix(v) for v in set(values)] if all(type(v) in SCALARS for v in values) else [fix(v) for v in values]
        bad = next((f for f in found if isinstance(f, str)), None)
        return bad or frozenset({Thing(tuple, Owner.FIXED, items=join(*found))})  # type: ignore[arg-type]
    parts = tuple(fix(v) for v in values)
    bad = next((part for part in parts if isinstance(part, str)), None)
    return f"a tuple with {bad}" if bad else frozenset({Record(names, parts, cls)})  # type: ignore[arg-type]


def _fix_set(values: frozenset[Any]) -> Value | str:
    parts = [fix(v) for v in values]
    bad = next((part for part in parts if isinstance(part, str)), None)
    if bad:
        return f"a frozenset with {bad}"
    return frozenset({Thing(frozenset, Owner.FIXED, items=join(*parts))})  # type: ignore[arg-type]


def is_named_tuple(cls: type) -> bool:
    """Whether a class is a named tuple as `NamedTuple` and `namedtuple` make it, without methods of Python's own."""
    made = getattr(cls, "__new__", None)
    if type(cls) is not type or cls.__bases__ != (tuple,) or not isinstance(made, FunctionType):
        return False
    is_generated = made.__code__.co_filename == "<string>" and made.__module__ == f"namedtuple_{cls.__name__}"
    own = {n for n in vars(cls) if n.startswith("_")} - _NAMED_TUPLE
    fields = getattr(cls, "_fields", ())
    return is_generated and not own and all(type(vars(cls).get(n)).__name__ == "_tuplegetter" for n in fields)


def is_plain_enum(cls: type) -> bool:
    """Whether the members of an enumeration have no methods but those of `Enum`."""
    if type(cls) is not enum.EnumMeta or cls.__mro__[1:] != (enum.Enum, object):
        return False
    own = [v for v in vars(cls).values() if hasattr(type(v), "__get__") and not isinstance(v, cls)]
    return all(_is_of_enum(v) for v in own)


def _is_of_enum(member: Any) -> bool:
    """Whether `Enum` itself made a member of the class: a method of its own, or what stands for a member."""
    function = getattr(member, "__func__", member)
    if isinstance(function, FunctionType):
        return function.__code__.co_filename == enum.__file__
    return type(member) in (enum.property, enum.nonmember) or member is object.__new__


def is_record_class(cls: Any) -> bool:
    """Whether a class is a dataclass that only holds what its constructor is given."""
    if not (isinstance(cls, type) and "__dataclass_params__" in vars(cls) and why_hooked(cls) is None):
        return False
    made = cls.__dict__.get("__init__")
    is_generated = isinstance(made, FunctionType) and made.__code__.co_filename == "<string>"
    if not is_generated or hasattr(cls, "__post_init__") or cls.__bases__ != (object,):
        return False
    members = [vars(cls).get(field.name) for field in dataclasses.fields(cls)]
    return all(isinstance(m, MemberDescriptorType) or not hasattr(type(m), "__set__") for m in members)


def why_hooked(cls: type, *, trusted: tuple[str, ...] = ()) -> str | None:
    """Why making or using an object of a class may run code that is not seen, or None."""
    for base in cls.__mro__[:-1]:
        if base.__module__ in trusted:
            continue
        if type(base) is not type:
            return f"`{cls.__name__}` has the metaclass `{type(base).__name__}`"
        for name, value in vars(base).items():
            if name in _HOOKS and not _is_generated(base, name):
                return f"`{cls.__name__}` defines `{name}`"
            if not _is_plain_member(value):
                return f"`{cls.__name__}.{name}` is {describe(value)}, which may act when it is read"
    if cls.__mro__[-1] is not object:
        return f"`{cls.__name__}` is no ordinary class"
    return None


def _is_generated(base: type, name: str) -> bool:
    """Whether a dataclass made the method: it forbids stores into a frozen one."""
    params = vars(base).get("__dataclass_params__")
    method = vars(base)[name]
    code = getattr(method, "__code__", None)
    is_frozen = params is not None and params.frozen and name in ("__setattr__", "__delattr__")
    is_slotted = params is not None and name in ("__getstate__", "__setstate__") and code is not None
    return code is not None and (
        (is_frozen and code.co_filename == "<string>") or (is_slotted and code.co_filename == dataclasses.__file__)
    )


def _is_plain_member(value: Any) -> bool:
    if isinstance(value, FunctionType | property | staticmethod | classmethod | MemberDescriptorType | type):
        return True
    return not hasattr(type(value), "__get__") or inspect.isgetsetdescriptor(value)


def class_member(cls: type, name: str, *, after: type | None = None) -> tuple[Any, bool]:
    """The member of a name in a class or its bases, and whether there is one; `after` skips up to a class."""
    order = cls.__mro__
    if after is not None and after in order:
        order = order[order.index(after) + 1 :]
    for base in order:
        if name in vars(base):
            return vars(base)[name], True
    return None, False


def why_member_moves(cls: type, name: str) -> str | None:
    """Why an attribute of a class may be another one at run time."""
    return why_attribute_moves(name) if cls.__module__ not in BASES else None
