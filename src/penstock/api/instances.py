"""The memory of operators that are Python classes: the attributes of an instance, pickled.

What the engine gives an instance, its `submit` and the environment of the application, is not pickled: wherever the
attributes refer to it, they refer to what the engine gives the new instance; and so it is with the instance itself.
Classes and functions of the application are pickled by name (`own_code`). A class can say for itself what its state is,
as for `pickle`, with `__getstate__` and `__setstate__`. What another version of a class has left is brought up to date
by its `upgrade`, or refused (`state.upgrades`).
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import CellType, FunctionType
from typing import Any

from penstock.api.own_code import Name, is_own, own_code_of
from penstock.api.state.held_objects import HeldError, bring_held_up_to_date, is_held
from penstock.api.state.upgrades import Stamp, bring_up_to_date, slot_names
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.expr.environment import Environment
from penstock.ir.graph import Operator

_SHARED = ("clock", "random", "stdout", "log", "metrics", "open_files")


def given_by(environment: Environment) -> dict[str, Any]:
    """The objects of the application's environment that an instance may hold, by name.

    Example:
        >>> sorted(given_by(Environment()))
        ['clock', 'environment', 'log', 'metrics', 'open_files', 'random', 'stdout']
    """
    shared = {f.name: getattr(environment, f.name) for f in fields(environment) if f.name in _SHARED}
    return {"environment": environment, **shared}


def _take_given(name: str) -> Any:
    """Stands in a pickle for taking what the engine gives; the unpickler has its own."""
    raise NotImplementedError


def _take_code(*name: str) -> Any:
    """Stands in a pickle for finding code of the application; the unpickler has its own."""
    raise NotImplementedError


def _make_function(*parts: Any) -> Any:
    """Stands in a pickle for making a function of code of the application; the unpickler has its own."""
    raise NotImplementedError


def _set_held(value: Any, state: Any) -> None:
    """Stands in a pickle for giving a dataclass of the application its fields; the unpickler has its own."""
    raise NotImplementedError


def _make_cell() -> CellType:
    return CellType()


def _fill(cell: CellType, contents: Any) -> None:
    cell.cell_contents = contents


class _Pickler(pickle.Pickler):
    """Pickles what the engine gave, the instance, and the application's code by name."""

    def __init__(self, file: io.BytesIO, instance: object, given: Mapping[str, Any]) -> None:
        super().__init__(file, protocol=5)
        self._names = {id(value): name for name, value in {"instance": instance, **given}.items()}
        self._owner = type(instance)

    def reducer_override(self, value: Any) -> Any:
        if id(value) in self._names:
            return _take_given, (self._names[id(value)],)
        if isinstance(value, CellType):
            return _reduce_cell(value)
        is_code = isinstance(value, type | FunctionType) and is_own(value.__module__)
        if is_code or type(value) is object:
            return self._reduce_code(value)
        if is_held(type(value)):
            made = value.__reduce_ex__(5)
            return NotImplemented if made[2] is None else (*made, *(None,) * (5 - len(made)), _set_held)
        return NotImplemented

    def _reduce_code(self, value: Any) -> Any:
        code = own_code_of(self._owner)
        if name := code.name_of(value):
            return _take_code, name
        if isinstance(value, FunctionType) and (name := code.name_of(value.__code__)):
            parts = (value.__name__, value.__qualname__, value.__defaults__, value.__kwdefaults__, value.__closure__)
            return _make_function, (name, *parts)
        if isinstance(value, type) and "<locals>" in value.__qualname__:
            raise pickle.PicklingError(f"the class `{value.__qualname__}` is made while the operator runs")
        return NotImplemented


class _PicklerOfDicts(_Pickler):
    """Knows dictionaries that the engine gave, too; it is slower, because it looks at every object."""

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(id(value)) if type(value) is dict else None


class _Unpickler(pickle.Unpickler):
    """Unpickles, with what the engine gives now and the code that the instance uses."""

    def __init__(self, file: io.BytesIO, instance: object, given: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._given = {"instance": instance, **given}
        self._owner = type(instance)
        self._stands_for: dict[str, Callable[..., Any]] = {
            "_take_given": self._given.__getitem__,
            "_take_code": lambda *name: own_code_of(self._owner).find(name),
            "_make_function": self._function,
            "_set_held": lambda value, state: set_state(value, bring_held_up_to_date(value, state)),
        }

    def persistent_load(self, name: str) -> Any:
        return self._given[name]

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name in self._stands_for:
            return self._stands_for[name]
        return super().find_class(module, name)

    def _function(self, name: Name, bare: str, full: str, defaults: Any, keywords: Any, closure: Any) -> Any:
        own = own_code_of(self._owner)
        code = own.find(name)
        made = FunctionType(code, own.globals_of(code), bare, defaults, closure)
        made.__qualname__, made.__kwdefaults__ = full, keywords
        return made


def _reduce_cell(cell: CellType) -> Any:
    try:
        contents = cell.cell_contents
    except ValueError:  # not set yet
        return _make_cell, ()
    return _make_cell, (), contents, None, None, _fill


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
        return _dumps(state, instance, given)
    except Exception as error:
        raise _not_picklable(state, instance, given, operator, error) from error


def load_state(
    instance: object, data: bytes, given: Mapping[str, Any], operator: Operator, written: Stamp | None = None
) -> None:
    """Give a new instance the attributes that another had, and no others.

    Args:
        instance: Of a user's class.
        data: As `dump_state` gave it.
        given: What the engine gives it, by name.
        operator: Whom to blame.
        written: The stamp of the class that has left the state, if it is known.

    Raises:
        UserError: The state refers to a class or function that is not there any more, or another version of the class
            has left it.
    """
    try:
        state = _Unpickler(io.BytesIO(data), instance, given).load()
    except HeldError as error:
        raise error.of(operator) from error.__cause__
    except (LookupError, ImportError, AttributeError) as error:
        raise _not_restorable(operator, error) from error
    set_state(instance, bring_up_to_date(instance, state, written, given, operator))


def set_state(instance: object, state: Any) -> None:
    """Give an instance a state, as `__getstate__` gives it."""
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if hasattr(instance, "__dict__"):
        vars(instance).clear()
        vars(instance).update(attributes or {})
    for name in slot_names(type(instance)):
        if slots and name in slots:
            setattr(instance, name, slots[name])
        elif hasattr(instance, name):
            delattr(instance, name)


def _not_restorable(operator: Operator, error: Exception) -> UserError:
    reason = error.args[0] if isinstance(error, LookupError) and error.args else error
    message = f"the state of operator `{operator.id}` ({operator.kind}) cannot be restored: {reason}"
    hint = "give it its old name and place again, or start with a new checkpoint folder"
    return UserError(Diagnostic(message=message, span=operator.span, hint=hint))


def _dumps(value: Any, instance: object, given: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    make = _PicklerOfDicts if "environment" in given else _Pickler
    make(file, instance, given).dump(value)
    return file.getvalue()


def _not_picklable(
    state: Any, instance: object, given: Mapping[str, Any], operator: Operator, error: Exception
) -> UserError:
    attributes = [a for part in (state if isinstance(state, tuple) else (state,)) for a in _items(part)]
    culprit = next((name for name, value in attributes if not _can_dump(value, instance, given)), None)
    what = "the state" if culprit is None else f"the attribute `{culprit}`"
    message = f"{what} of operator `{operator.id}` ({operator.kind}) cannot be pickled: {error}"
    hint = "make it in `__init__` and leave it out in a `__getstate__` of your own, or use plain data"
    return UserError(Diagnostic(message=message, span=operator.span, hint=hint))


def _items(state: Any) -> list[tuple[str, Any]]:
    return list(state.items()) if isinstance(state, dict) else []


def _can_dump(value: Any, instance: object, given: Mapping[str, Any]) -> bool:
    try:
        _dumps(value, instance, given)
    except Exception:
        return False
    return True
