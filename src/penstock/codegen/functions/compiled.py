"""Functions of the user's as columns, with Python's own meaning.

Introduction
    A function over the tuples of a stream is called for every one of them, and that call costs more than what it does.
    Where its source is understood, the same is computed for all rows of a batch at once, as Tuplex does it: code over
    columns takes the normal case, and the rows that leave it are handed to the function itself, each in its place.

Formulation
    The types of all attributes are known, so every expression has a kind that is known before it runs (`nodes`), and
    integers have a range. An operation over columns is used where it gives what Python gives for every row, or says
    for which rows it may not: a result outside of 64 bits, a division by zero, an integer too great for an exact
    float, None where a number is needed, a value that does not fit its attribute, anything that raises. Those rows
    leave. Leaving too many rows costs time and changes nothing. What has no exact operation over columns (most methods
    of text, logarithms, powers, formats) is Python's own expression, called row by row for the smallest tree that
    needs it.

Example
    `def converted(t): return {"sym": t.sym, "price": t.price * RATE}` becomes

        converted = ticks.to(["sym"], {"price": ticks["price"] * 0.5})

When it does not apply
    Functions that the inference does not show to be stateless, those with loops, `try`, `with`, comprehensions, nested
    functions, values that are an int or a float by branch, and calls of what is not known. They are called row by row.

Preserves
    What the function gives for each row, to the bit, its exceptions, and their order.

Reference
    L. Spiegelberg and others, "Tuplex: Data Science in Python at Native Code Speed", SIGMOD 2021, sections 3 and 4. We
    depart in that code over columns is numpy's and Arrow's and not LLVM's, and in that there is no general case between
    the normal one and the interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from penstock.api.inference.judgement import judge
from penstock.api.rows import conform_value, row_class
from penstock.codegen.functions.analysis import Flow, follow
from penstock.codegen.functions.arithmetic import narrow, to_float, truth
from penstock.codegen.functions.expressions import RULES
from penstock.codegen.functions.nodes import (
    Known,
    Node,
    NotUnderstood,
    Path,
    Record,
    Value,
    Where,
    constant,
    kind_of_type,
    refuse_lost,
    unify,
)
from penstock.ir.types import OptionalType, Primitive, Schema, Type

Columns = dict[str, Node]
Ends = list[tuple[Where, Value]]

_PYTHON = {"bool": bool, "int": int, "float": float, "str": str, "none": type(None)}
_GIVES = {"map": "one", "filter": "none", "flat map": "many"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A function as columns.

    Attributes:
        name: Of the function.
        role: `map`, `filter` or `flat map`.
        forced: What is evaluated, in order; a path stands for rows that leave.
        gives: The columns of the tuples that it gives, each for the rows of a path; a map has one, for all rows.
        keeps: Of a filter, whether a row stays.
    """

    name: str
    role: str
    forced: tuple[Node | Path | None, ...]
    gives: tuple[tuple[Where, Columns], ...] = ()
    keeps: Node | None = None


@lru_cache(maxsize=1024)
def compile_function(
    function: Any, role: str, inputs: Schema, outputs: Schema, given: tuple[tuple[str, str, Any], ...] = ()
) -> Compiled | str:
    """A function as columns, or why it is not understood.

    Args:
        function: The user's.
        role: `map`, `filter` or `flat map`.
        inputs: The schema of the tuples that it takes.
        outputs: Of those that it gives.
        given: The parameters that the invocation sets, each with its text and value: 1 equals True, and is another.
    """
    if not isinstance(function, FunctionType):
        return "it is no function"
    if row_class(inputs)._fields != inputs.names:
        return "an attribute has a name that Python does not allow"
    findings = judge(function, gives=_GIVES[role], inputs=inputs, given={n: type_of_value(v) for n, _, v in given})
    if findings.reasons or findings.key is not None or findings.has_effects:
        return findings.reasons[0] if findings.reasons else "it keeps state, or acts outside"
    if findings.changed:
        return "it changes a part of the tuple"
    try:
        return _compile(function, role, inputs, outputs, {n: v for n, _, v in given})
    except NotUnderstood as error:
        return str(error)
    except RecursionError:
        return "it is too deeply nested"


def type_of_value(value: Any) -> Type:
    """The type of a parameter's value."""
    return Primitive({bool: "boolean", int: "int64", float: "float64"}.get(type(value), "rstring"))


def _compile(function: FunctionType, role: str, inputs: Schema, outputs: Schema, given: Mapping[str, Any]) -> Compiled:
    nodes = tuple(
        Node(kind_of_type(a.type), a.name, vector="attribute", type=a.type, name=a.name) for a in inputs.attributes
    )
    row = Record(nodes, inputs.names, "row")
    keywords: dict[str, Value] = {name: constant(value) for name, value in given.items()}
    flow = follow(function, [row], keywords, None, RULES, asks=role == "filter")
    if role == "filter":
        ends = [(where, _asked(value, where)) for where, value in flow.returns]
        return _finished(function, role, flow, keeps=_chosen(ends) if ends else constant(False))
    if role == "map":
        made = _conformed(flow.returns, outputs, flow)
        return _finished(function, role, flow, gives=((None, made),))
    return _finished(function, role, flow, gives=tuple(write_sites(function, flow, outputs)))


def _finished(function: FunctionType, role: str, flow: Flow, **parts: Any) -> Compiled:
    made = Compiled(name=function.__name__, role=role, forced=tuple(flow.forced), **parts)
    kept = [] if made.keeps is None else [made.keeps]
    given = [node for _, columns in made.gives for node in columns.values()]
    refuse_lost([*(n for n in made.forced if isinstance(n, Node)), *kept, *given])
    return made


def _asked(value: Value, where: Where) -> Node:
    assert isinstance(value, Node)
    return truth(value, where)


def write_sites(function: FunctionType, flow: Flow, outputs: Schema) -> list[tuple[Where, Columns]]:
    """The tuples that a flat map gives, in order: what it yields, or the parts of the list that it returns."""
    ends = list(flow.yields)
    is_generator = bool(function.__code__.co_flags & 0x20)
    for where, value in () if is_generator else flow.returns:
        if isinstance(value, Node) and value.kind.name == "none":
            continue
        if not isinstance(value, Record) or value.form not in ("list", "tuple"):
            raise NotUnderstood("it returns something else than a list of tuples")
        ends += [(where, part) for part in value.parts]
    made = []
    for where, value in ends:
        columns = _conformed([(where, value)], outputs, flow)
        made.append((where, columns))
    if not made:
        raise NotUnderstood("it gives no tuple")
    return made


def _conformed(ends: Ends, outputs: Schema, flow: Flow) -> Columns:
    """The columns of tuples that leave; rows whose result is no tuple leave the normal case."""
    whole: list[tuple[Where, list[Value]]] = []
    for where, value in ends:
        parts = _parts(value, outputs)
        if parts is None:
            flow.forced.append(where)
        else:
            whole.append((where, parts))
    if not whole:
        raise NotUnderstood("it gives no tuple")
    columns: Columns = {}
    for i, attribute in enumerate(outputs.attributes):
        given = [(where, _fitting(parts[i], attribute.type, where)) for where, parts in whole]
        columns[attribute.name] = _fit(_chosen(given), attribute.type)
    return columns


def _parts(value: Value, outputs: Schema) -> list[Value] | None:
    """The attributes of what a function gives, in the schema's order; None if there is no tuple in it."""
    if isinstance(value, Record):
        if value.form in ("tuple", "list"):
            if len(value.parts) != len(outputs.names):
                raise NotUnderstood("it gives a tuple of another length")
            return list(value.parts)
        if value.form == "dict" and set(value.names) != set(outputs.names):
            raise NotUnderstood("it gives a dict with other keys")
        if not set(outputs.names) <= set(value.names):
            raise NotUnderstood("it gives an object without all attributes")
        return [value.parts[value.names.index(n)] for n in outputs.names]
    if isinstance(value, Known):
        raise NotUnderstood("it gives an object that cannot be seen into")
    is_value = len(outputs.names) == 1 and not hasattr(_PYTHON.get(value.kind.name, object()), outputs.names[0])
    if not is_value and value.kind.name != "none":
        raise NotUnderstood("it gives a value that is no tuple")
    if value.kind.name == "none" and not (is_value and isinstance(outputs.attributes[0].type, OptionalType)):
        return None
    return [value]


def _fitting(value: Value, type_: Type, where: Where) -> Node:
    """A value of the kind that a type has.

    Raises:
        NotUnderstood: It never has.
    """
    if not isinstance(value, Node):
        raise NotUnderstood("an attribute is a tuple or another object")
    if value.vector == "attribute" and value.type == type_:
        return value
    wanted = kind_of_type(type_)
    is_plain = not isinstance(type_, OptionalType) or isinstance(type_.inner, Primitive)
    if not wanted.is_column or not is_plain or not isinstance(type_, Primitive | OptionalType):
        raise NotUnderstood(f"it computes a value of type {type_}")
    may_be_none = wanted.optional and (value.kind.optional or value.kind.name == "none")
    found = value if may_be_none else narrow(value, where)
    if wanted.name == "float" and found.kind.name == "int" and not found.kind.optional:
        return to_float(found, where)
    if found.kind.name not in (wanted.name, "none"):
        raise NotUnderstood(f"an attribute of type {type_} is given a value that is {found.kind.name}")
    return found


def _chosen(ends: list[tuple[Where, Node]]) -> Node:
    if all(node is ends[0][1] for _, node in ends):
        return ends[0][1]
    kind = unify([node.kind for _, node in ends])
    return Node(kind, "", tuple(n for _, n in ends), "choose", None, tuple(where for where, _ in ends))


def _fit(node: Node, type_: Type) -> Node:
    """The node as a column of a type."""
    if node.vector == "attribute" and node.type == type_:
        return node
    if node.is_constant:
        try:
            node = constant(conform_value(type_)(node.value))
        except (TypeError, ValueError, OverflowError):
            raise NotUnderstood(f"{node.value!r} does not fit an attribute of type {type_}") from None
    return Node(node.kind, "{0}", (node,), "fit", None, type=type_)
