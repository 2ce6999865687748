"""Changes of variables and of their parts, as Python text.

A variable is a local name or an attribute of `state`. A collection in it is changed in place; a tuple is never changed
but made anew, and the new one is stored where the old one was. So a store into `a.b[i].c` reads from the left and
writes from the right: a new tuple for `a.b[i]`, put into the list `a.b` in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.expr.emit.code import ATOM, Code
from penstock.expr.emit.scope import Scope, Storage
from penstock.ir.expressions import (
    Attribute,
    Expression,
    Field,
    Index,
    InputTuple,
    Literal,
    Variable,
)
from penstock.ir.types import BLOB, MapType, TupleType

Emit = Callable[[Expression, Scope], Code]


def settle(target: Expression, scope: Scope, emit: Emit) -> tuple[Expression, list[str]]:
    """The target with every position in it computed once, and the texts that compute them, in order.

    Raises nothing; a position that is a constant or a variable stays as it is.
    """
    match target:
        case Field(base=base):
            settled, texts = settle(base, scope, emit)
            return replace(target, base=settled), texts
        case Index(base=base, index=index):
            settled, texts = settle(base, scope, emit)
            if isinstance(index, Literal | Variable):
                return replace(target, base=settled), texts
            name = scope.locals.temporary()
            # A name that no program can have, because it is not an identifier of SPL.
            scope.variables[f"${name}"] = Storage(name)
            position = Variable(type=index.type, name=f"${name}")
            return replace(target, base=settled, index=position), [*texts, f"{name} := {emit(index, scope).text}"]
    return target, []


def store_text(target: Expression, value: Code, scope: Scope, emit: Emit) -> str:
    """An expression that stores a value; what it gives is of no use, except for a variable."""
    match target:
        case Variable(name=name):
            return _store_variable(scope.variables[name], value)
        case InputTuple(port=port):
            return f"({scope.tuples[port]} := {value.text})"
        case Attribute(port=port, name=name):
            new = rebuilt(scope.tuples[port], scope.ports[port], name, value)
            return f"({scope.tuples[port]} := {new})"
        case Field(base=base, name=name):
            new = _rebuilt_field(base, name, value, scope, emit)
            return store_text(base, Code(new), scope, emit)
        case Index(base=base, index=index) if base.type == BLOB:
            new = f"with_byte({emit(base, scope).text}, {emit(index, scope).text}, {value.text})"
            return store_text(base, Code(new), scope, emit)
        case Index(base=base, index=index):
            function = "put" if isinstance(base.type, MapType) else "put_at"
            return f"{function}({emit(base, scope).text}, {emit(index, scope).text}, {value.text})"
    raise TypeError(f"{type(target).__name__} cannot be assigned to")


def store_statement(target: Expression, value: Code, scope: Scope, emit: Emit) -> str:
    """A statement that stores a value."""
    match target:
        case Variable(name=name) if not scope.variables[name].by_reference:
            return f"{scope.variables[name].text} = {value.text}"
        case InputTuple(port=port):
            return f"{scope.tuples[port]} = {value.text}"
        case Attribute(port=port, name=name):
            return f"{scope.tuples[port]} = {rebuilt(scope.tuples[port], scope.ports[port], name, value)}"
        case Index(base=base, index=index) if isinstance(base.type, MapType):
            return f"{emit(base, scope).at(ATOM)}[{emit(index, scope).text}] = {value.text}"
        case Field(base=base, name=name):
            return store_statement(base, Code(_rebuilt_field(base, name, value, scope, emit)), scope, emit)
    return store_text(target, value, scope, emit)


def _store_variable(storage: Storage, value: Code) -> str:
    if storage.by_reference:
        return f"replace_contents({storage.text}, {value.text})"
    if storage.text.startswith("state."):
        return f'store(state, "{storage.text.removeprefix("state.")}", {value.text})'
    return f"({storage.text} := {value.text})"


def _rebuilt_field(base: Expression, name: str, value: Code, scope: Scope, emit: Emit) -> str:
    assert isinstance(base.type, TupleType)
    return rebuilt(emit(base, scope).at(ATOM), base.type, name, value)


def rebuilt(old: str, type_: TupleType, name: str, value: Code) -> str:
    """A tuple with one attribute changed.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> rebuilt("t0", parse_schema("int32 a, int32 b, int32 c"), "b", Code("7"))
        '(t0[0], 7, t0[2])'
    """
    parts = [value.text if a.name == name else f"{old}[{i}]" for i, a in enumerate(type_.attributes)]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
