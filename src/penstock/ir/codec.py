"""The graph as JSON, and back.

Every node is an object with its class under `node` and its fields by name; what has its default value is left out, a
type is its SPL text. Reading the written text gives an equal graph.

Example:
    >>> from penstock.ir.graph import Application
    >>> from_json(to_json(Application(name="Main")))
    Application(name='Main', operators=(), functions=(), constraints=())
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.memo import keep_for_each
from penstock.ir import constraints, expressions, facts, graph, models, statements
from penstock.ir.graph import Application
from penstock.ir.types import Type, parse_type

FORMAT = 1

_CLASSES: dict[str, type] = {
    name: cls
    for module in (expressions, statements, graph, models, facts, constraints)
    for name, cls in vars(module).items()
    if isinstance(cls, type) and cls.__module__ == module.__name__
}


@keep_for_each
def fingerprint(application: Application) -> str:
    """Tells graphs apart: equal graphs have equal ones.

    Example:
        >>> fingerprint(Application(name="A")) == fingerprint(Application(name="B"))
        False
    """
    return hashlib.sha256(json.dumps(to_json(application), sort_keys=True).encode()).hexdigest()


def to_json(application: Application) -> dict[str, Any]:
    """The application as a JSON object."""
    encoded = _encode(application)
    assert isinstance(encoded, dict)
    return {"format": FORMAT, **encoded}


def from_json(document: object) -> Application:
    """The application of a JSON object.

    Raises:
        UserError: The document is not a graph, or of another format.
    """
    if not isinstance(document, dict) or document.get("node") != "Application":
        raise UserError("this is not a graph; a graph is a JSON object with `node` Application")
    if document.get("format") != FORMAT:
        raise UserError(f"the graph has format {document.get('format')}; this version of penstock reads {FORMAT}")
    try:
        application = _decode({key: value for key, value in document.items() if key != "format"})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"the graph is damaged: {error}") from error
    assert isinstance(application, Application)
    return application


def _encode(value: Any) -> Any:
    match value:
        case Type():
            return {"type": str(value)}
        case Enum():
            return {"enum": type(value).__name__, "value": value.value}
        case bool() | int() | str() | None:
            return value
        case float():
            return {"float": value.hex()}
        case Decimal():
            return {"decimal": str(value)}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case frozenset():
            return {"set": sorted(map(_encode, value))}
        case tuple():
            return [_encode(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        kept = ((name, getattr(value, name), default) for name, default in _fields(type(value)))
        return {"node": type(value).__name__, **{n: _encode(v) for n, v, default in kept if v != default}}
    raise TypeError(f"{type(value).__name__} has no JSON form")


@cache
def _fields(cls: Any) -> list[tuple[str, object]]:
    """The fields of a node that are written, with their defaults; `MISSING`, which nothing is equal to, for none."""
    return [(f.name, f.default) for f in fields(cls) if f.name != "span"]


def _decode(value: Any) -> Any:
    match value:
        case list():
            return tuple(_decode(v) for v in value)
        case {"type": str(text)} if len(value) == 1:
            return parse_type(text)
        case {"enum": name, "value": member}:
            return _CLASSES[name](member)
        case {"float": text}:
            return float.fromhex(text)
        case {"decimal": text}:
            return Decimal(text)
        case {"bytes": text}:
            return base64.b64decode(text)
        case {"set": members}:
            return frozenset(_decode(v) for v in members)
        case {"node": name, **rest}:
            return _CLASSES[name](**{str(n): _decode(v) for n, v in rest.items()})
    return value
