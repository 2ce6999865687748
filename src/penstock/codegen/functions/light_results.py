"""What a function of rows gives, where its source shows it attribute by attribute (`light_calls`).

A map shows it at every `return`, a flat map at every `yield`, or in the displays of lists and tuples that it returns. A
tuple is shown by a display of its values, a dict of them by name, a call of a named tuple or dataclass without hooks,
the row itself, or `_replace` of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from penstock.codegen.functions.record_classes import plain_fields
from penstock.ir.types import Schema, has_collection

_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef

Parts = dict[str, ast.expr]
"""The expressions of the attributes of a tuple, in the order in which they are evaluated."""

Site = tuple[Callable[[ast.expr], None], ast.expr | None]
"""An expression of a tuple, and what puts another in its place."""


def read_attribute(node: ast.AST, row: str, names: tuple[str, ...]) -> str | None:
    """The attribute that an expression reads of the row, if it is `t.a` or `t[2]`."""
    if not isinstance(node, ast.Attribute | ast.Subscript) or not isinstance(node.ctx, ast.Load):
        return None
    if not (isinstance(node.value, ast.Name) and node.value.id == row):
        return None
    if isinstance(node, ast.Attribute):
        return node.attr if node.attr in names else None
    index = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return names[index] if isinstance(index, int) and type(index) is int and index < len(names) else None


def meaning(function: FunctionType, name: str) -> Any:
    """What a name outside a function stands for; None if nothing."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    try:
        return cells[name].cell_contents if name in cells else function.__globals__.get(name)
    except ValueError:  # nothing is in the cell yet
        return None


class Results:
    """The tuples that a function gives.

    Args:
        function: The user's.
        row: The name of its parameter.
        role: `map`, `filter` or `flat map`.
        inputs: The schema of its rows.
        outputs: Of the tuples.

    Attributes:
        classes: What names of classes have to mean for what was found.
    """

    def __init__(self, function: FunctionType, row: str, role: str, inputs: Schema, outputs: Schema) -> None:
        self._function, self._row, self._role = function, row, role
        self._inputs, self._outputs = inputs, outputs
        self.classes: dict[str, Any] = {}

    def give_rest(self, body: list[ast.stmt]) -> tuple[dict[str, str], Schema | None]:
        """Let a function give only what is not an attribute of its row; tells what is, and the schema of the rest.

        The schema is None, and nothing changed, where not all it gives is to be seen.
        """
        sites = self._sites(body)
        found = (
            None if sites is None else [(put, self._parts(value)) for site in sites for put, value in _branches(site)]
        )
        if found is None or any(parts is None for _, parts in found) or not self._outputs.names:
            self.classes = {}
            return {}, None
        all_parts = [parts for _, parts in found if parts is not None]
        copies = self._copies(all_parts)
        rest = Schema(tuple(a for a in self._outputs.attributes if a.name not in copies))
        if not all(self._is_in_order(parts, rest) for parts in all_parts):
            self.classes = {}
            return {}, None
        for (put, _), parts in zip(found, all_parts, strict=True):
            given = [parts[name] for name in rest.names]
            put(given[0] if len(given) == 1 else ast.Tuple(given, ast.Load()))
        return copies, rest

    def _sites(self, body: list[ast.stmt]) -> list[Site] | None:
        """The expressions of tuples, each with what puts another in its place."""
        nodes = list(_own_nodes(body))
        yields: list[Any] = [n for n in nodes if isinstance(n, ast.Yield)]
        returns: list[Any] = [n for n in nodes if isinstance(n, ast.Return)]
        if self._role == "filter" or any(isinstance(n, ast.YieldFrom | ast.Await) for n in nodes):
            return None
        if self._role == "map":
            is_seen = not yields and _ends(body[-1])
            return [(_putter(n, "value"), n.value) for n in returns] if is_seen else None
        if yields:
            return [(_putter(n, "value"), n.value) for n in yields]
        sites: list[Site] = []
        for node in returns:
            if isinstance(node.value, ast.List | ast.Tuple):
                sites += [(_putter(node.value.elts, i), part) for i, part in enumerate(node.value.elts)]
            elif node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
                return None
        return sites

    def _parts(self, value: ast.expr | None) -> Parts | None:
        names = self._outputs.names
        match value:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(parts) == len(names):
                is_starred = any(isinstance(part, ast.Starred) for part in parts)
                return None if is_starred else dict(zip(names, parts, strict=True))
            case ast.Dict(keys=keys, values=parts):
                told = [key.value if isinstance(key, ast.Constant) else None for key in keys]
                return _named(names, told, parts)
            case ast.Name(id=name) if name == self._row:
                return self._replaced([])
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="_replace"), args=[], keywords=changes):
                return self._replaced(changes) if name == self._row else None
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                return self._constructed(name, args, keywords)
        return None

    def _replaced(self, changes: list[ast.keyword]) -> Parts | None:
        """The row with some attributes changed."""
        names, told = self._inputs.names, [change.arg for change in changes]
        if self._inputs != self._outputs or has_collection(self._inputs) or not set(told) <= set(names):
            return None
        kept: Parts = {n: ast.Attribute(ast.Name(self._row, ast.Load()), n, ast.Load()) for n in names if n not in told}
        return kept | {change.arg: change.value for change in changes if change.arg is not None}

    def _constructed(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Parts | None:
        """An instance of a class without hooks."""
        class_ = meaning(self._function, name)
        code = self._function.__code__
        is_outside = name in code.co_names or name in code.co_freevars
        fields = list((plain_fields(class_) or {}) if is_outside else ())
        if not fields or any(isinstance(arg, ast.Starred) for arg in args) or len(args) > len(fields):
            return None
        self.classes[name] = class_
        told = [*fields[: len(args)], *(keyword.arg for keyword in keywords)]
        return _named(self._outputs.names, told, [*args, *(keyword.value for keyword in keywords)])

    def _copies(self, found: list[Parts]) -> dict[str, str]:
        """The attributes that are the same one of the row in all tuples."""
        copies: dict[str, str] = {}
        for a in self._outputs.attributes:
            sources = {self._source(parts[a.name]) for parts in found}
            source = sources.pop() if len(sources) == 1 else None
            if source is not None and self._inputs.attribute(source).type == a.type and not has_collection(a.type):
                copies[a.name] = source
        return copies

    def _is_in_order(self, parts: Parts, rest: Schema) -> bool:
        """Whether what is evaluated for a tuple is evaluated in the order of a schema."""
        evaluated = [name for name, part in parts.items() if name in rest.position and self._source(part) is None]
        places = [rest.position[name] for name in evaluated]
        return places == sorted(places)

    def _source(self, part: ast.expr) -> str | None:
        return read_attribute(part, self._row, self._inputs.names)


def _named(names: tuple[str, ...], told: list[Any], parts: list[ast.expr]) -> Parts | None:
    is_same = len(told) == len(names) and set(told) == set(names)
    return dict(zip(told, parts, strict=True)) if is_same else None


def _branches(site: Site) -> Iterator[Site]:
    """The expressions of which a conditional one chooses."""
    put, value = site
    if isinstance(value, ast.IfExp):
        yield from _branches((_putter(value, "body"), value.body))
        yield from _branches((_putter(value, "orelse"), value.orelse))
    else:
        yield put, value


def _putter(where: Any, at: Any) -> Callable[[ast.expr], None]:
    def put(value: ast.expr) -> None:
        if isinstance(where, list):
            where[at] = value
        else:
            setattr(where, at, value)

    return put


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    ready: list[ast.AST] = list(body)
    while ready:
        node = ready.pop()
        yield node
        if not isinstance(node, _SCOPES):
            ready += ast.iter_child_nodes(node)


def _ends(last: ast.stmt) -> bool:
    """Whether a statement is always the last of its function."""
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body[-1]) and _ends(last.orelse[-1])
    if isinstance(last, ast.Try):
        ends = [last.orelse or last.body, *(handler.body for handler in last.handlers)]
        return all(_ends(body[-1]) for body in ends)
    return isinstance(last, ast.Return | ast.Raise)
