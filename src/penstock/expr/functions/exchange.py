"""Functions that change, while a job runs, what it exports and imports.

In a program their last argument is the number of a port. Where the port exports or imports by properties, the compiler
puts variables of the operator in its place (`lang.expand.changing_exchange`): the properties as JSON, the subscription,
the filter. What is left as it was written asks for a port that is not exported or imported, and the answer is 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.expr.functions.registry import function
from penstock.expr.predicates import Predicate, named_values, parse_predicate
from penstock.expr.values import interpret_literal
from penstock.ir.types import BOOLEAN, ListType, TupleType, Type, is_float, is_integer, is_string

OK, NO_SUCH_PORT, INVALID = 0, 1, 2
"""Answers, as SPL has them."""

_TYPES = ("int64", "float64", "rstring", "list<int64>", "list<float64>", "list<rstring>")
_LISTING = "list<tuple<rstring name, rstring value, rstring typ>>"
_Properties = list[tuple[str, str, str]]


def may_be_property(type_: Type) -> bool:
    """Whether a property may be of a type: a number, a string, a boolean, or a list of these."""
    part = type_.element if isinstance(type_, ListType) else type_
    return is_integer(part) or is_float(part) or is_string(part) or part == BOOLEAN


@function("<tuple T> rstring describeProperties(T properties)", needs_types=True, internal=True)
def describe(type_: TupleType) -> Callable[[tuple[Any, ...]], str]:
    """The properties of an exported stream as JSON, by name."""
    return lambda values: json.dumps(dict(zip(type_.names, values, strict=True)))


@function(
    "<tuple T> stateful int32 setOutputPortExportProperties(T properties, uint32 port)",
    f"stateful int32 setOutputPortExportProperties({_LISTING} properties, uint32 port)",
    "<any T> stateful int32 addOutputPortExportProperty(rstring name, T value, uint32 port)",
    "<any T> stateful int32 setOutputPortExportProperty(rstring name, T value, uint32 port)",
    "stateful int32 removeOutputPortExportProperty(rstring name, uint32 port)",
    "stateful int32 setInputPortImportSubscription(rstring subscription, uint32 port)",
    "stateful int32 setInputPortImportFilterExpression(rstring filter, uint32 port)",
)
def change_nothing(*arguments: Any) -> int:
    """Change what a port exports or imports; 0 if done, 1 if the port does neither, 2 if the change is invalid."""
    return NO_SUCH_PORT


@function(f"int32 getOutputPortExportProperties(mutable {_LISTING} properties, uint32 port)")
def find_no_properties(properties: _Properties, port: int) -> int:
    """Read the properties of an exported stream; 0 if it is done, 1 if the port is not exported by properties."""
    properties.clear()
    return NO_SUCH_PORT


@function(
    "rstring getInputPortImportSubscription(uint32 port, mutable int32 error)",
    "rstring getInputPortImportFilterExpression(uint32 port, mutable int32 error)",
)
def find_no_import(port: int, error: int) -> tuple[str, int]:
    """The subscription or the filter of an imported stream; the error is 0, or 1 if the port is not imported so."""
    return "", NO_SUCH_PORT


@function(
    "<tuple T> stateful int32 setOutputPortExportProperties(T properties, mutable rstring now)",
    needs_types=True,
    internal=True,
)
def set_properties(type_: TupleType, _: Type) -> Callable[[tuple[Any, ...], str], tuple[int, str]]:
    """Give an exported stream other properties: the attributes of a tuple."""
    if not all(may_be_property(a.type) for a in type_.attributes):
        return lambda values, now: (INVALID, now)
    text = describe(type_)
    return lambda values, now: (OK, text(values))


@function(f"stateful int32 setOutputPortExportProperties({_LISTING} properties, mutable rstring now)", internal=True)
def set_listed_properties(properties: _Properties, now: str) -> tuple[int, str]:
    """Give an exported stream other properties: each with its name, its value as a literal, and its type."""
    try:
        return OK, json.dumps({name: _value_of(value, type_) for name, value, type_ in properties})
    except ValueError:
        return INVALID, now


@function(f"int32 getOutputPortExportProperties(mutable {_LISTING} properties, rstring now)", internal=True)
def list_properties(properties: _Properties, now: str) -> int:
    """Read the properties of an exported stream: each with its name, its value as a literal, and its type."""
    properties[:] = [(name, json.dumps(value), _type_of(value)) for name, value in json.loads(now).items()]
    return OK


@function(
    "<any T> stateful int32 addOutputPortExportProperty(rstring name, T value, mutable rstring now)",
    needs_types=True,
    internal=True,
)
def add_property(_: Type, type_: Type, __: Type) -> Callable[[str, Any, str], tuple[int, str]]:
    """Add a property to those of an exported stream; it must not be there yet."""
    return lambda name, value, now: _changed(name, value, now, may_be_property(type_) and name not in json.loads(now))


@function(
    "<any T> stateful int32 setOutputPortExportProperty(rstring name, T value, mutable rstring now)",
    needs_types=True,
    internal=True,
)
def set_property(_: Type, type_: Type, __: Type) -> Callable[[str, Any, str], tuple[int, str]]:
    """Change a property of an exported stream; it must be there."""
    return lambda name, value, now: _changed(name, value, now, may_be_property(type_) and name in json.loads(now))


def _changed(name: str, value: Any, now: str, is_valid: bool) -> tuple[int, str]:
    return (OK, json.dumps({**json.loads(now), name: value})) if is_valid else (INVALID, now)


@function("stateful int32 removeOutputPortExportProperty(rstring name, mutable rstring now)", internal=True)
def remove_property(name: str, now: str) -> tuple[int, str]:
    """Remove a property of an exported stream; it must be there."""
    properties = json.loads(now)
    if name not in properties:
        return INVALID, now
    return OK, json.dumps({n: v for n, v in properties.items() if n != name})


@function(
    "stateful int32 setInputPortImportSubscription(rstring subscription, mutable rstring now, mutable rstring filter)",
    internal=True,
)
def set_subscription(subscription: str, now: str, filter_: str) -> tuple[int, str, str]:
    """Import other streams from now on: those whose properties satisfy a predicate; the filter is removed."""
    return (OK, subscription, "") if _predicate(subscription) else (INVALID, now, filter_)


@function("stateful int32 setInputPortImportFilterExpression(rstring filter, mutable rstring now)", internal=True)
def set_filter(filter_: str, now: str) -> tuple[int, str]:
    """Import from now on the tuples that satisfy a predicate, or all if it is empty."""
    return (OK, filter_) if not filter_ or _predicate(filter_) else (INVALID, now)


@function(
    "rstring getInputPortImportSubscription(rstring now, mutable int32 error)",
    "rstring getInputPortImportFilterExpression(rstring now, mutable int32 error)",
    internal=True,
)
def get_predicate(now: str, error: int) -> tuple[str, int]:
    """The subscription or the filter that an imported stream has now."""
    return now, OK


@function(
    "<tuple T> boolean isImported(rstring subscription, rstring filter, rstring offer, T values)",
    needs_types=True,
    internal=True,
)
def is_imported(_: Type, __: Type, ___: Type, type_: TupleType) -> Callable[[str, str, str, tuple[Any, ...]], bool]:
    """Whether a subscription and a filter take a tuple of a stream that is offered with properties."""

    def decide(subscription: str, filter_: str, offer: str, values: tuple[Any, ...]) -> bool:
        if not _is_subscribed(subscription, bool(filter_), offer):
            return False
        predicate = _predicate(filter_) if filter_ else None
        return predicate is None or predicate(named_values(type_, values))

    return decide


@lru_cache(maxsize=1024)
def _is_subscribed(subscription: str, filters: bool, offer: str) -> bool:
    offered, predicate = json.loads(offer), _predicate(subscription)
    return (offered["allows_filter"] or not filters) and predicate is not None and predicate(offered["properties"])


@function("<tuple T> boolean evalPredicate(rstring predicate, T values, mutable int32 error)", needs_types=True)
def evaluate(_: Type, type_: TupleType, __: Type) -> Callable[[str, tuple[Any, ...], int], tuple[bool, int]]:
    """Whether a tuple satisfies a predicate such as Import's `filter`; the error is 0, or 1 if the text is none."""

    def decide(text: str, values: tuple[Any, ...], error: int) -> tuple[bool, int]:
        predicate = _predicate(text)
        return (False, 1) if predicate is None else (predicate(named_values(type_, values)), 0)

    return decide


@lru_cache(maxsize=1024)
def _predicate(text: str) -> Predicate | None:
    """The predicate that a text is; None if it is none."""
    try:
        return parse_predicate(text)
    except UserError:
        return None


def _value_of(text: str, type_: str) -> Any:
    """The value of a property, from a literal.

    Raises:
        ValueError: It is no literal of that type, or the type is none of properties.
    """
    if type_ not in _TYPES:
        raise ValueError(type_)
    part = type_.removeprefix("list<").removesuffix(">")
    if part != type_:
        inner = text.strip()
        if not (inner.startswith("[") and inner.endswith("]")):
            raise ValueError(text)
        return [_value_of(element, part) for element in _elements(inner[1:-1])]
    return _scalar(text.strip(), part)


def _scalar(text: str, type_: str) -> Any:
    if type_ == "int64":
        return int(text.removesuffix("l"))
    if type_ == "float64":
        return float(text)
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        raise ValueError(text)
    return interpret_literal(text)


def _elements(text: str) -> list[str]:
    """The elements of a list literal; commas in strings do not separate."""
    found, quoted, start = [], "", 0
    for i, character in enumerate(text):
        if quoted:
            quoted = "" if character == quoted and text[i - 1] != "\\" else quoted
        elif character in "\"'":
            quoted = character
        elif character == ",":
            found.append(text[start:i])
            start = i + 1
    return [*found, text[start:]] if text.strip() else []


def _type_of(value: Any) -> str:
    """The type of a property, as SPL names it."""
    if isinstance(value, list):
        return f"list<{_type_of(value[0]) if value else 'rstring'}>"
    if isinstance(value, bool):
        return "boolean"
    return {int: "int64", float: "float64"}.get(type(value), "rstring")
