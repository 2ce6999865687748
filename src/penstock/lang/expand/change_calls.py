"""Changes calls in the code of an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.ir.expressions import Call, Expression
from penstock.ir.graph import Operator

Change = Callable[[Call], Expression | None]
"""What stands in the place of a call; None if the call stays."""

_FIXED = ("span", "type", "schema")


def change_calls(operator: Operator, change: Change) -> Operator:
    """An operator with some of the calls in its code replaced."""
    changed = {name: _changed(getattr(operator, name), change) for name in ("params", "outputs", "logic", "inputs")}
    return replace(operator, **changed)


def _changed(part: Any, change: Change) -> Any:
    if isinstance(part, tuple):
        return tuple(_changed(p, change) for p in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changed = {f.name: _changed(getattr(part, f.name), change) for f in fields(part) if f.name not in _FIXED}
    is_same = all(value == getattr(part, name) for name, value in changed.items())
    found = part if is_same else replace(part, **changed)
    other = change(found) if isinstance(found, Call) else None
    return found if other is None else other
