"""The memory of operators that are Python classes: the attributes of an instance, pickled.

What the engine gives an instance, its `submit` and the surroundings of the application, is not pickled: wherever the
attributes refer to it, they refer to what the engine gives the new instance. A class can say for itself what its state
is, as for `pickle`, with `__getstate__` and `__setstate__`.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from penstock.diagnostics import Diagnostic, UserError
from penstock.expr.environment import Environment
from penstock.ir.graph import Operator

_SHARED = ("clock", "random", "stdout", "log", "metrics", "open_files")


def given_by(environment: Environment) -> dict[str, Any]:
    """What an instance may hold of the application's surroundings, by name.

    Example:
        >>> sorted(given_by(Environment()))
        ['clock', 'environment', 'log', 'metrics', 'open_files', 'random', 'stdout']
    """
    shared = {f.name: getattr(environment, f.name) for f in fields(environment) if f.name in _SHARED}
    return {"environment": environment, **shared}


class _Pickler(pickle.Pickler):
    """Pickles all but what the engine gave."""

    def __init__(self, file: io.BytesIO, given: Mapping[str, Any]) -> None:
        super().__init__(file, protocol=5)
        self._names = {id(value): name for name, value in given.items()}

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(id(value))


class _Unpickler(pickle.Unpickler):
    """Unpickles, with what the engine gives now."""

    def __init__(self, file: io.BytesIO, given: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._given = given

    def persistent_load(self, name: str) -> Any:
        return self._given[name]


def dump_state(instance: object, given: Mapping[str, Any], operator: Operator) -> bytes:
    """The attributes of an instance.

    Args:
        instance: Of a user's class.
        given: What the engine gave it, by name.
        operator: Whom to blame.

    Raises:
        UserError: An attribute cannot be pickled; the message names it.
    """
    state = instance.__getstate__()
    try:
        return _dumps(state, given)
    except Exception as error:
        raise _not_picklable(state, given, operator, error) from error


def load_state(instance: object, data: bytes, given: Mapping[str, Any]) -> None:
    """Give an instance the attributes that another had."""
    state = _Unpickler(io.BytesIO(data), given).load()
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(state)
        return
    for attributes in state if isinstance(state, tuple) else (state,):
        for name, value in (attributes or {}).items():
            setattr(instance, name, value)


def _dumps(value: Any, given: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    _Pickler(file, given).dump(value)
    return file.getvalue()


def _not_picklable(state: Any, given: Mapping[str, Any], operator: Operator, error: Exception) -> UserError:
    attributes = [a for part in (state if isinstance(state, tuple) else (state,)) for a in _items(part)]
    culprit = next((name for name, value in attributes if not _can_dump(value, given)), None)
    what = "the state" if culprit is None else f"the attribute `{culprit}`"
    message = f"{what} of operator `{operator.id}` ({operator.kind}) cannot be pickled: {error}"
    hint = "make it in `__init__` and leave it out in a `__getstate__` of your own, or use plain data"
    return UserError(Diagnostic(message=message, span=operator.span, hint=hint))


def _items(state: Any) -> list[tuple[str, Any]]:
    return list(state.items()) if isinstance(state, dict) else []


def _can_dump(value: Any, given: Mapping[str, Any]) -> bool:
    try:
        _dumps(value, given)
    except Exception:
        return False
    return True
