"""Every public method of the public classes, and every public function, has an example; doctest runs them all."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

import penstock
from penstock import running
from penstock.api.column_words import Then, When
from penstock.api.columns import Column

CLASSES = (Column, When, Then, running.Run, running.Explanation, running.Counts, running.Progress)


def public() -> dict[str, Any]:
    named = {f"penstock.{name}": getattr(penstock, name) for name in penstock.__all__}
    named |= {f"penstock.windows.{name}": getattr(penstock.windows, name) for name in ("count", "sliding", "tumbling")}
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
        function = member.fget if isinstance(member, property) else member
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if function.__module__.startswith("penstock"):
            yield name, function


@pytest.mark.parametrize(
    ("name", "value"), list(documented()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_it_has_an_example(name, value):
    text = inspect.getdoc(value) or ""
    assert "Example:" in text, name
    assert ">>> " in text, name
