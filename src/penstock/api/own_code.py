"""The application's own code as its state may refer to it: by name.

Introduction:
    An operator's state may hold instances of the application's classes. On Spark, code travels by value: a worker has
    the operator's class and what that refers to, but cannot import the application's file. And two copies of a class
    are two classes. So state names the classes, functions and sentinels (`object()`) that it refers to, and whoever
    restores it takes those that the operator's own code uses.

Formulation:
    What an operator's class can reach is found by a walk: its methods and bases, the globals and closures that their
    code uses, defaults, decorators, containers, and so on from there; nothing that is installed. What the walk finds
    has a name: its kind, its module, and its qualified name. A function that is made while the operator runs, such as a
    lambda in `__init__`, is named by the code that it is made of.

When it does not apply:
    Classes that are made while the operator runs have no name that a later run could find, and of two that have the
    same name neither can be told from the other: both are refused. A class that was renamed or moved since the state
    was written is not found.

Algorithm:
    One walk for each class of an operator, when its state first refers to code; linear in what is reached.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

Name = tuple[str, str, str]
"""Kind (`class`, `function`, `code`, `object`), module, qualified name."""

Part = tuple[str, Any]
"""Something that the walk comes by, and what a sentinel in its place is named."""

_INSTALLED = tuple({Path(path).resolve() for path in sysconfig.get_paths().values()})
_OURS = frozenset({"builtins", "penstock", *sys.stdlib_module_names}) - {"__main__"}


@functools.cache
def _is_installed(path: str) -> bool:
    resolved = Path(path).resolve()
    return any(resolved.is_relative_to(folder) for folder in _INSTALLED)


def is_own(module: str | None) -> bool:
    """Whether a module is part of the application: neither ours, nor Python's, nor installed.

    Example:
        >>> is_own("collections"), is_own("penstock.api"), is_own("__main__"), is_own("my_app")
        (False, False, True, True)
    """
    if module is None or module.partition(".")[0] in _OURS:
        return False
    loaded = sys.modules.get(module)
    path = getattr(loaded, "__file__", None)
    return module == "__main__" or loaded is None or (path is not None and not _is_installed(path))


class OwnCode:
    """The application's code that the class of an operator can reach.

    Example:
        >>> class Account:
        ...     __module__ = "my_app"
        >>> class Keeper:
        ...     __module__ = "my_app"
        ...     kind_of_account = Account
        >>> code = OwnCode(Keeper)
        >>> name = code.name_of(Account)
        >>> code.find(name) is Account
        True
    """

    def __init__(self, owner: type) -> None:
        self._found: dict[Name, Any] = {}
        self._names: dict[int, Name] = {}
        self._twice: set[Name] = set()
        self._globals: dict[int, dict[str, Any]] = {}
        self._walk(owner)

    def name_of(self, value: Any) -> Name | None:
        """The name of a class, a function, code or a sentinel; None if the walk has not come by it.

        Raises:
            LookupError: Something else has the same name.
        """
        name = self._names.get(id(value))
        if name in self._twice:
            raise LookupError(f"there are two things named `{name[2]}`, and state cannot tell which is meant")
        return name

    def find(self, name: Name) -> Any:
        """The object of a name.

        Raises:
            LookupError: There is no such object, or there are two.
        """
        kind, module, text = name
        found = self._found.get(name)
        # A program may be started as a script, or found by its name.
        if found is None and (others := [n for n in self._found if _is_same_in_main(n, name)]):
            found = self._found[others[0]]
        if found is None or name in self._twice:
            what = "is no more" if found is None else "is there twice"
            raise LookupError(f"the {kind} `{text}` of `{module}`, which the state refers to, {what}")
        return found

    def globals_of(self, code: CodeType) -> dict[str, Any]:
        """The globals that a function of some code sees."""
        return self._globals[id(code)]

    def _walk(self, owner: type) -> None:
        seen: dict[int, Any] = {}
        waiting: list[tuple[str, Any]] = [("", owner)]
        while waiting:
            text, value = waiting.pop()
            if id(value) not in seen:
                seen[id(value)] = value
                self._note(value, text)
                waiting += reversed(list(self._parts(value, text)))

    def _note(self, value: Any, text: str) -> None:
        if type(value) is object:
            self._add(("object", "", text), value)
        elif isinstance(value, type | FunctionType) and is_own(value.__module__):
            kind = "class" if isinstance(value, type) else "function"
            self._add((kind, value.__module__, value.__qualname__), value)

    def _add(self, name: Name, value: Any) -> None:
        if self._found.setdefault(name, value) is not value:
            self._twice.add(name)
        self._names[id(value)] = name

    def _parts(self, value: Any, text: str) -> Iterator[Part]:
        """The objects that a value refers to and that may be, or lead to, code of the application."""
        match value:
            case type() if is_own(value.__module__):
                yield from (("", base) for base in value.__mro__[1:])
                yield from ((f"{value.__qualname__}.{name}", part) for name, part in vars(value).items())
            case FunctionType() if is_own(value.__module__):
                self._note_codes(value.__code__, value)
                yield from _used_by(value)
            case staticmethod() | classmethod():
                yield text, value.__func__
            case property():
                yield from ((text, part) for part in (value.fget, value.fset, value.fdel))
            case functools.partial() | functools.partialmethod():
                yield from ((text, part) for part in (value.func, *value.args, *value.keywords.values()))
            case functools.cached_property():
                yield text, value.func
            case dict():
                yield from ((f"{text}[{key!r}]", part) for key, part in value.items())
            case list() | tuple() | set() | frozenset():
                yield from ((f"{text}[{i}]", part) for i, part in enumerate(value))
            case _ if is_own(type(value).__module__) and not isinstance(value, type | FunctionType):
                yield text, type(value)
                yield from ((f"{text}.{name}", part) for name, part in getattr(value, "__dict__", {}).items())

    def _note_codes(self, code: CodeType, function: FunctionType) -> None:
        """Name the code that a function makes functions of."""
        counts: dict[str, int] = {}
        for inner in (const for const in code.co_consts if isinstance(const, CodeType)):
            number = counts[inner.co_qualname] = counts.get(inner.co_qualname, 0) + 1
            self._add(("code", function.__module__, f"{inner.co_qualname}#{number}"), inner)
            self._globals[id(inner)] = function.__globals__
            self._note_codes(inner, function)


_codes: WeakKeyDictionary[type, OwnCode] = WeakKeyDictionary()


def own_code_of(owner: type) -> OwnCode:
    """The application's code that a class can reach; the walk is done once."""
    found = _codes.get(owner)
    if found is None:
        found = _codes[owner] = OwnCode(owner)
    return found


def _is_same_in_main(one: Name, other: Name) -> bool:
    return "__main__" in (one[1], other[1]) and (one[0], one[2]) == (other[0], other[2])


def _used_by(function: FunctionType) -> Iterator[Part]:
    """The objects that the code of a function refers to by names, cells, defaults and decorators."""
    names = list(dict.fromkeys(_names_in(function.__code__)))
    for name in names:
        if name in function.__globals__:
            value = function.__globals__[name]
            yield from _of_module(value, names) if isinstance(value, ModuleType) else ((name, value),)
    text = function.__qualname__
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"{text}.{name}", cell.cell_contents
        except ValueError:  # not set yet
            continue
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    yield from ((f"{text}.{i}", value) for i, value in enumerate(defaults))
    yield from ((f"{text}.{name}", value) for name, value in vars(function).items())


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def _of_module(module: ModuleType, names: list[str]) -> Iterator[Part]:
    """The members of a module of the application that code may refer to by `module.name`."""
    if is_own(module.__name__):
        space: Mapping[str, Any] = vars(module)
        yield from ((f"{module.__name__}.{name}", space[name]) for name in names if name in space)
