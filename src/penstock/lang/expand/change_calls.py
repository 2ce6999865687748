"""Changes calls and statements in the code of an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.ir.expressions import Call, Expression, InputTuple
from penstock.ir.graph import Operator
from penstock.ir.statements import Statement

_FIXED = ("span", "type", "schema")


def change_calls(operator: Operator, change: Callable[[Call], Expression | None]) -> Operator:
    """An operator in which `change` says what stands in the place of a call; None if the call stays."""
    return _change(operator, Call, change)


def change_statements(operator: Operator, change: Callable[[Statement], Statement | None]) -> Operator:
    """Likewise for statements, the inner ones first."""
    return _change(operator, Statement, change)


def change_tuples(operator: Operator, change: Callable[[InputTuple], Expression | None]) -> Operator:
    """Likewise for the tuples that ports receive, where the code names them as a whole."""
    return _change(operator, InputTuple, change)


def _change(operator: Operator, kind: type, change: Callable[[Any], Any]) -> Operator:
    names = ("params", "outputs", "logic", "inputs")
    return replace(operator, **{name: _changed(getattr(operator, name), kind, change) for name in names})


def _changed(part: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    if isinstance(part, tuple):
        return tuple(_changed(p, kind, change) for p in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changed = {f.name: _changed(getattr(part, f.name), kind, change) for f in fields(part) if f.name not in _FIXED}
    is_same = all(value == getattr(part, name) for name, value in changed.items())
    found = part if is_same else replace(part, **changed)
    other = change(found) if isinstance(found, kind) else None
    return found if other is None else other
