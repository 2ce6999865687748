"""State that another version of a class has left: told by a stamp, brought up to date by the class, or refused.

Formulation:
    With the state of a class goes its stamp: the name of the class, its `version`, and the attributes that its methods
    set. State with the stamp that the class has now is taken as it is. Otherwise the attributes that the state has are
    compared with those of a new instance: one is *new* if the new instance has it, the state does not, and the old
    class never set it; one is *gone* if the state has it, and the class neither has nor sets it. If there are such,
    or the version or the name is another, the class method `upgrade(old)` makes the attributes of today of the old
    ones; without it the state is refused.

When it does not apply:
    A class with a `__getstate__` or a `__setstate__` of its own says itself what its state is; only its version and its
    name are compared. State without a stamp, of the time before there were any, counts as of version 1, and is never
    refused: it cannot be told what its class set. For objects that state holds there is `held_objects`.

Example:
    >>> class Mean:
    ...     version = 2
    ...     def __init__(self):
    ...         self.count = self.total = 0
    >>> stamp_of(Mean)
    Stamp(name='Mean', version=2, fields=('count', 'total'))
"""

from __future__ import annotations

import copyreg
import dis
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.graph import Operator
from penstock.toolkit.core.memory import Memory

INSTANCE, KEYS = "instance", "keys"
"""Where the memory of a class lies: of one instance, and of instances by key."""


class Stamp(NamedTuple):
    """The version of a class that has left some state.

    Attributes:
        name: Of the class.
        version: As it declares it; 1 if it does not.
        fields: The attributes that its methods set.
    """

    name: str
    version: int
    fields: tuple[str, ...]

    @property
    def keys(self) -> str:
        """The name of the part of a memory that holds instances of this version by key."""
        return f"{KEYS} {json.dumps(self)}"


def stamp_in(part: str) -> Stamp | None:
    """The stamp that the name of a part of a memory tells; None if it tells none.

    Example:
        >>> stamp_in(Stamp("Mean", 2, ("count",)).keys), stamp_in("keys")
        (Stamp(name='Mean', version=2, fields=('count',)), None)
    """
    text = part.removeprefix(KEYS).strip()
    if not text:
        return None
    name, version, fields = json.loads(text)
    return Stamp(name, version, tuple(fields))


def is_of_class(memory: Memory | None) -> bool:
    """Whether a memory is that of a class of the user's."""
    return memory is not None and (INSTANCE in memory[0] or any(holds_instances(name) for name in memory[1]))


def holds_instances(part: str) -> bool:
    """Whether a part of a memory holds instances by key."""
    return part == KEYS or part.startswith(f"{KEYS} [")


def refuse_other_form(fits: bool, operator: Operator) -> None:
    """Refuse state of an operator that was none, or kept apart by key, where this one is not, or the other way round.

    Raises:
        UserError: The state does not fit.
    """
    if not fits:
        what = "its state was left by an operator of another kind, which kept it in another form"
        raise make_error(operator, what, "give it another name, or start with a new checkpoint folder")


_stamps: WeakKeyDictionary[type, Stamp] = WeakKeyDictionary()


def stamp_of(owner: type) -> Stamp:
    """The stamp of a class as it is now."""
    found = _stamps.get(owner)
    if found is None:
        version = inspect.getattr_static(owner, "version", 1)
        is_number = isinstance(version, int) and not isinstance(version, bool)
        names = {name for code in _codes(owner) for name in _set_by(code)} | {*slot_names(owner)}
        found = _stamps[owner] = Stamp(owner.__name__, version if is_number else 1, tuple(sorted(names)))
    return found


def slot_names(owner: type) -> list[str]:
    """The names of the slots that instances of a class have."""
    names: list[str] = copyreg._slotnames(owner)  # type: ignore[attr-defined] # as pickle itself asks
    return names


def _codes(owner: type) -> Iterator[CodeType]:
    """The code of the methods of a class and of its bases."""
    for value in (value for class_ in owner.__mro__ for value in vars(class_).values()):
        method = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        method = method.fget if isinstance(method, property) else method
        if isinstance(method, FunctionType):
            yield method.__code__


def _set_by(code: CodeType) -> Iterator[str]:
    """The attributes, of whatever object, that code sets."""
    yield from (found.argval for found in dis.get_instructions(code) if found.opname == "STORE_ATTR")
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _set_by(inner)


def upgrade_of(owner: type) -> Callable[[Any], Any] | None:
    """The hook of a class that makes state of today of old state; a method that needs an instance is none."""
    is_hook = isinstance(inspect.getattr_static(owner, "upgrade", None), classmethod | staticmethod)
    return owner.upgrade if is_hook else None  # type: ignore[attr-defined] # it has it


def bring_up_to_date(
    instance: object, state: Any, written: Stamp | None, given: Mapping[str, Any], operator: Operator
) -> Any:
    """The state for a new instance, made by its class if another version of it has left the state.

    Args:
        instance: A new one.
        state: As `__getstate__` gave it.
        written: The stamp of the class that did; None if it is not known.
        given: What the engine gives an instance, by name.
        operator: Whom to blame.

    Raises:
        UserError: The class has changed and says not how to go on, or its `upgrade` has failed.
    """
    owner = type(instance)
    upgrade = upgrade_of(owner)
    if written == stamp_of(owner) or (written is None and upgrade is None):
        return state
    compares = _is_compared(owner)
    old = flatten(state) if compares else state
    new, gone = _compare(instance, old, written) if compares else ([], [])
    changes = [*_other_class(owner, written), *list_names(new, "new"), *list_names(gone, "gone")]
    if not changes:
        return state
    if upgrade is None:
        raise _refusal(operator, owner, changes)
    if not compares:
        return _call(upgrade, old, operator, owner)
    # What the engine gives is none of its business.
    ours = {name: value for name, value in old.items() if name in given and given[name] is value}
    made = _call(upgrade, {name: value for name, value in old.items() if name not in ours}, operator, owner)
    return _checked(made, ours, instance, new, operator)


def _is_compared(owner: type) -> bool:
    """Whether the state of a class is its attributes."""
    says = next(class_ for class_ in owner.__mro__ if "__getstate__" in vars(class_))
    return not hasattr(owner, "__setstate__") and says.__module__.partition(".")[0] in ("builtins", "penstock")


def flatten(state: Any) -> dict[str, Any]:
    """All attributes of a state, those in slots, too."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    return {**(attributes or {}), **(slots or {})}


def _compare(instance: object, old: Mapping[str, Any], written: Stamp | None) -> tuple[list[str], list[str]]:
    """The attributes that are new, and those that are gone."""
    fresh = flatten(object.__getstate__(instance))
    known = () if written is None else written.fields
    new = [name for name in fresh if name not in old and name not in known and name != "_seat"]
    now = stamp_of(type(instance)).fields
    return new, [name for name in old if name not in now and not hasattr(instance, name)]


def _other_class(owner: type, written: Stamp | None) -> Iterator[str]:
    now, version = stamp_of(owner), 1 if written is None else written.version
    if written is not None and written.name != now.name:
        yield f"the class was `{written.name}`"
    if version != now.version:
        yield f"it was version {version}, now it is {now.version}"


def list_names(names: list[str], what: str) -> Iterator[str]:
    """A phrase that says what some attributes are; none if there are none."""
    if names:
        yield f"{', '.join(f'`{name}`' for name in names)} {'is' if len(names) == 1 else 'are'} {what}"


def _call(upgrade: Callable[[Any], Any], old: Any, operator: Operator, owner: type) -> Any:
    try:
        return upgrade(old)
    except UserError:
        raise
    except Exception as error:
        what = f"`upgrade` of `{owner.__name__}` failed on its old state: {type(error).__name__}: {error}"
        raise make_error(operator, what, tell_old(old)) from error


def _checked(made: Any, ours: dict[str, Any], instance: object, new: list[str], operator: Operator) -> Any:
    """What `upgrade` has given, and what the engine gives, as a state."""
    owner = type(instance)
    call = f"`upgrade` of `{owner.__name__}`"
    if not isinstance(made, dict) or not all(isinstance(name, str) for name in made):
        hint = "return the attributes of today by name, such as {**old, 'total': 0}"
        raise make_error(operator, f"{call} gave {type(made).__name__}, not attributes by name", hint)
    missing = [name for name in new if name not in made]
    if missing:
        hint = "a new instance has it, so return it, too"
        raise make_error(operator, f"{call} did not give {', '.join(f'`{name}`' for name in missing)}", hint)
    rest, slots = part_slots(owner, {**ours, **made})
    if rest and not hasattr(instance, "__dict__"):
        hint = f"the class has `__slots__`: {', '.join(sorted({*slot_names(owner)} - {'_seat'}))}"
        raise make_error(operator, f"{call} gave `{next(iter(rest))}`, which instances have no place for", hint)
    return rest, slots


def part_slots(owner: type, made: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Attributes as a state: those of the dictionary of an instance, and those in slots."""
    slots = {*slot_names(owner)}
    return {n: v for n, v in made.items() if n not in slots}, {n: v for n, v in made.items() if n in slots}


def tell_old(old: Any) -> str:
    """What an `upgrade` that failed was given."""
    return f"the old attributes are {', '.join(map(str, old))}" if isinstance(old, dict) else f"it is {old!r:.100}"


def _refusal(operator: Operator, owner: type, changes: list[str]) -> UserError:
    what = f"its state was left by another version of its class: {', '.join(changes)}"
    return make_error(operator, what, how_to_upgrade(owner))


def how_to_upgrade(owner: type) -> str:
    """What to do where a class has changed."""
    return (
        f"write `@classmethod def upgrade(cls, old)` in `{owner.__name__}`, which returns the attributes of today for "
        "the old ones, both as a dict; or start with a new checkpoint folder"
    )


def make_error(operator: Operator, what: str, hint: str) -> UserError:
    """The error that an operator cannot go on with its state."""
    message = f"operator `{operator.id}` ({operator.kind}) cannot go on: {what}"
    return UserError(Diagnostic(message=message, span=operator.span, hint=hint))
