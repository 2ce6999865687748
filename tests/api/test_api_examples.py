"""Every public method of the public classes, and every public function, has an example; doctest runs them all."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from typing import Any

import pytest

import penstock
from penstock import running, testing, windows
from penstock.api.column_words import Then, When
from penstock.api.columns import Column

CLASSES = (Column, When, Then, running.Run, running.Explanation, running.Counts, running.Progress)


def public() -> dict[str, Any]:
    named = {
        f"{module.__name__}.{name}": getattr(module, name) for module in (penstock, testing) for name in module.__all__
    }
    own = ((name, value) for name, value in inspect.getmembers(windows, inspect.isfunction) if not name.startswith("_"))
    named |= {f"penstock.windows.{name}": value for name, value in own if value.__module__ == windows.__name__}
    return named | {f"{cls.__module__}.{cls.__name__}": cls for cls in CLASSES}


def documented() -> Iterator[tuple[str, Any]]:
    for name, value in public().items():
        if inspect.isfunction(value):
            yield name, value
        if inspect.isclass(value) and not issubclass(value, Enum | Exception):
            yield name, value
            yield from ((f"{name}.{method}", member) for method, member in methods(value))


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    for name, member in inspect.getmembers(owner):
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        is_ours = str(getattr(member, "__module__", "")).startswith("penstock")
        if not name.startswith("_") and inspect.isroutine(member) and is_ours:
            yield name, member


@pytest.mark.parametrize(
    ("name", "value"), list(documented()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_it_has_an_example(name, value):
    text = inspect.getdoc(value) or ""
    assert "Example:" in text, name
    assert ">>> " in text, name
    assert "+SKIP" not in text, name


def test_methods_of_every_kind_are_looked_at():
    class Base:
        def inherited(self): ...

    class Owner(Base):
        def own(self): ...

        @classmethod
        def of_class(cls): ...

        @staticmethod
        def of_none(): ...

        @property
        def asked(self): ...

        @cached_property
        def kept(self): ...

        def _hidden(self): ...

    for cls in (Base, Owner):
        for member in vars(cls).values():
            if hasattr(member, "__module__") and not isinstance(member, property | cached_property):
                getattr(member, "__func__", member).__module__ = "penstock.mine"
    Owner.asked.fget.__module__ = vars(Owner)["kept"].func.__module__ = "penstock.mine"
    assert [name for name, _ in methods(Owner)] == ["asked", "inherited", "kept", "of_class", "of_none", "own"]
