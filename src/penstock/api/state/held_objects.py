"""Objects of the application's dataclasses that the state of an operator holds, when their fields have changed.

The fields that an object was stored with are compared with those that its class has. One is *new* if the class has it,
without a value of its own; one is *gone* if the class neither has nor sets it. Where there are such, the class method
`upgrade(old)` makes the fields of today of the old ones; without it the state is refused.

When it does not apply:
    Objects of other classes, and of those that say themselves how they are pickled, are as `pickle` restores them.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any
from weakref import WeakKeyDictionary

from penstock.api.own_code import is_own
from penstock.api.state.upgrades import (
    flatten,
    how_to_upgrade,
    list_names,
    make_error,
    part_slots,
    stamp_of,
    tell_old,
    upgrade_of,
)
from penstock.base.diagnostics import UserError
from penstock.ir.graph import Operator


class HeldError(Exception):
    """Says why an object that an operator holds cannot go on, and what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what, hint)
        self._what, self._hint = what, hint

    def of(self, operator: Operator) -> UserError:
        """The error that names the operator, too."""
        return make_error(operator, self._what, self._hint)


_held: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def is_held(owner: type) -> bool:
    """Whether a class is a dataclass of the application whose state is its fields, and nothing of its own."""
    found = _held.get(owner)
    if found is None:
        found = _held[owner] = _is_held(owner)
    return found


def _is_held(owner: type) -> bool:
    says: tuple[Any, ...] = (owner.__reduce_ex__, owner.__reduce__, getattr(owner, "__getstate__", None))
    return (
        is_dataclass(owner)
        and says == (object.__reduce_ex__, object.__reduce__, object.__getstate__)
        and not hasattr(owner, "__setstate__")
        and is_own(owner.__module__)
    )


def bring_held_up_to_date(value: Any, state: Any) -> Any:
    """The state for a dataclass that an operator holds, made by its class if its fields are not those of today.

    Raises:
        HeldError: It has gained or lost fields and says not how to go on, or its `upgrade` has failed.
    """
    owner, old = type(value), flatten(state)
    names = [found.name for found in fields(owner)]
    now = stamp_of(owner).fields
    new = [name for name in names if name not in old and not hasattr(owner, name)]
    gone = [name for name in old if name not in names and name not in now and not hasattr(owner, name)]
    if not (new or gone):
        return state
    upgrade, call = upgrade_of(owner), f"`upgrade` of `{owner.__name__}`"
    if upgrade is None:
        what = f"its state holds objects of another version of `{owner.__name__}`: "
        raise HeldError(what + ", ".join([*list_names(new, "new"), *list_names(gone, "gone")]), how_to_upgrade(owner))
    try:
        made = upgrade(old)
    except Exception as error:
        raise HeldError(
            f"{call} failed on an object of its state: {type(error).__name__}: {error}", tell_old(old)
        ) from error
    if not isinstance(made, dict) or [name for name in new if name not in made]:
        raise HeldError(f"{call} did not give {', '.join(f'`{name}`' for name in new)}", "return all fields by name")
    return part_slots(owner, made)
