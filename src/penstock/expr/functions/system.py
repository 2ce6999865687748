"""Functions that print, log, check, and end the application, and those that look at whole values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.compute as pc

from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.functions.hashing import hasher
from penstock.expr.functions.registry import function
from penstock.expr.values.text import literal_form, text_form
from penstock.ir.types import ListType, TupleType, Type, is_collection

Print = Callable[[Environment, Any], None]


@function("<any T> stateful void print(T value)", needs_environment=True, needs_types=True)
def print_value(type_: Type) -> Print:
    """Write a value; a string in quotes."""
    form = literal_form(type_)
    return lambda environment, value: _write(environment, form(value))


@function("<any T> stateful void println(T value)", needs_environment=True, needs_types=True)
def print_line(type_: Type) -> Print:
    """Write a value and end the line; a string in quotes."""
    form = literal_form(type_)
    return lambda environment, value: _write(environment, form(value) + "\n")


def _write(environment: Environment, text: str) -> None:
    environment.stdout.write(text)


@function("<string T> stateful void printString(T str)", needs_environment=True)
def print_string(environment: Environment, text: str) -> None:
    """Write a string as it is."""
    _write(environment, text)


@function("<string T> stateful void printStringLn(T str)", needs_environment=True)
def print_string_line(environment: Environment, text: str) -> None:
    """Write a string as it is and end the line."""
    _write(environment, text + "\n")


@function("stateful void flushStdio()", needs_environment=True)
def flush(environment: Environment) -> None:
    """Make sure that all that was printed can be seen."""
    environment.stdout.flush()


@function(
    "<string T> stateful void appTrc(enum{error, warn, info, debug, trace} level, T message)",
    "<string T> stateful void appTrc(enum{error, warn, info, debug, trace} level, T message, T aspect)",
    "<string T> stateful void appLog(enum{error, warn, info} level, T message)",
    "<string T> stateful void appLog(enum{error, warn, info} level, T message, T aspect)",
    "<string T> stateful void log(enum{error, info, debug, trace} level, T message)",
    "<string T> stateful void log(enum{error, info, debug, trace} level, T message, T aspect)",
    needs_environment=True,
)
def log(environment: Environment, level: str, message: str, aspect: str = "") -> None:
    """Hand a message to the log."""
    environment.log(level, f"{aspect}: {message}" if aspect else message)


@function(
    "boolean isTraceable(enum{error, warn, info, debug, trace} level)",
    "boolean isLoggable(enum{error, warn, info} level)",
)
def is_logged(level: str) -> bool:
    """Whether messages of a level are kept: they all are handed on."""
    return True


@function("stateful void abort()")
def abort() -> None:
    """End the application as failed."""
    raise EvaluationError("abort() was called")


@function("stateful void shutdownPE()", needs_environment=True)
def shut_down(environment: Environment) -> None:
    """Ask the application to stop."""
    environment.is_shutdown = True


@function("stateful void assert(boolean condition)")
def assert_(condition: bool) -> None:
    """Fail unless a condition holds."""
    if not condition:
        raise EvaluationError("assertion failed")


@function("<string T> stateful void assert(boolean condition, T message)")
def assert_with_message(condition: bool, message: str) -> None:
    """Fail with a message unless a condition holds."""
    if not condition:
        raise EvaluationError(f"assertion failed: {message}")


@function("stateful void assert(list<boolean> conditions)")
def assert_all(conditions: list[bool]) -> None:
    """Fail unless all conditions hold."""
    if False in conditions:
        raise EvaluationError(f"assertion {conditions.index(False)} failed")


@function("<any T> stateful void assert(map<T, boolean> conditions)", needs_types=True)
def assert_all_named(type_: Any) -> Callable[[dict[Any, bool]], None]:
    """Fail, naming the keys of those that do not hold, unless all conditions hold."""
    form = text_form(type_.key)

    def check(conditions: dict[Any, bool]) -> None:
        failed = [form(key) for key, holds in conditions.items() if not holds]
        if failed:
            raise EvaluationError(f"assertion failed: {', '.join(failed)}")

    return check


@function("<any T> uint64 hashCode(T value)", needs_types=True)
def hash_code(type_: Type) -> Callable[[Any], int]:
    """A number that is equal for equal values, on every machine and in every run."""
    return hasher(type_)


@function("<any T> list<uint64> hashCodeForEach(list<T> values)", needs_types=True)
def hash_codes(type_: ListType) -> Callable[[list[Any]], list[int]]:
    """The hash code of each element."""
    of_one = hasher(type_.element)
    return lambda values: [of_one(v) for v in values]


@function("<tuple T, tuple U> void assignFrom(mutable T target, U source)", needs_types=True)
def assign_from(target: TupleType, source: TupleType) -> Callable[[Any, Any], tuple[None, Any]]:
    """Set the attributes of a tuple that another one has too, by name and of equal type."""
    where = [source.position.get(a.name) for a in target.attributes]
    matches = [
        place if place is not None and source.attributes[place].type == a.type else None
        for place, a in zip(where, target.attributes, strict=True)
    ]

    def assign(into: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[None, Any]:
        return None, tuple(old if m is None else values[m] for old, m in zip(into, matches, strict=True))

    return assign


@function("<any T> void swap(mutable T first, mutable T second)", needs_types=True)
def swap(type_: Type, _: Type) -> Callable[[Any, Any], Any]:
    """Exchange two values."""
    return _swap_collections if is_collection(type_) else lambda first, second: (None, second, first)


def _swap_collections(first: Any, second: Any) -> None:
    kept = first.copy()
    for target, source in ((first, second.copy()), (second, kept)):
        target.clear()
        target.extend(source) if isinstance(target, list) else target.update(source)


@function("<any T> boolean isPresent(optional<T> value)", vector=pc.is_valid)
def is_present(value: object) -> bool:
    """Whether an optional has a value."""
    return value is not None
