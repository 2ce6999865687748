"""Calls as Python text.

A function of the application becomes a Python function of the module. A mutable parameter is passed by reference: a
collection is changed in place; of anything else the function returns the new value after its result, and the caller
stores it. Standard functions follow the same convention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.expr.analysis import own_function
from penstock.expr.emit.code import Code
from penstock.expr.emit.scope import Scope
from penstock.expr.emit.store import Emit, settle, store_text
from penstock.expr.functions.registry import resolve
from penstock.ir.expressions import Call, Expression
from penstock.ir.statements import Function
from penstock.ir.types import is_collection


class EmitOwned(Protocol):
    """Emits a value on its way to a new owner."""

    def __call__(self, x: Expression, scope: Scope, *, into_owned: bool = False) -> Code:
        """The text."""


def call_code(x: Call, scope: Scope, emit: Emit, owned: EmitOwned) -> Code:
    """A call of a function of the application or of a standard function."""
    function = own_function(x, scope.module.functions)
    if function is not None:
        return _call_own(x, function, scope, emit)
    if x.function == "currentPunct":
        return Code("punctuation")
    return _call_standard(x, scope, emit, owned)


def rebound_parameters(function: Function) -> tuple[int, ...]:
    """The positions of the parameters whose new values a function returns after its result."""
    return tuple(i for i, p in enumerate(function.parameters) if p.mutable and not is_collection(p.type))


def _call_own(x: Call, function: Function, scope: Scope, emit: Emit) -> Code:
    name = scope.module.emitted[function.name, tuple(p.type for p in function.parameters)]
    rebinds = rebound_parameters(function)
    arguments, positions = _settled(x, rebinds, scope, emit)
    texts = ", ".join(emit(a, scope).text for a in arguments)
    return _rebinding(f"{name}({texts})", arguments, rebinds, positions, scope, emit)


def _call_standard(x: Call, scope: Scope, emit: Emit, owned: EmitOwned) -> Code:
    types = [a.type for a in x.arguments]
    found = resolve(x.function, types)
    source = ", ".join(f'"{text}"' for text in (x.function, *map(str, types)))
    name = scope.module.define(x.function, f"standard({source})")
    changes = found.definition.mutable_positions
    arguments, positions = _settled(x, found.rebinds, scope, emit)
    # What goes into a collection that is changed must not be shared with another owner.
    texts = [
        (emit(a, scope) if i in changes or not changes else owned(a, scope, into_owned=True)).text
        for i, a in enumerate(arguments)
    ]
    if found.definition.needs_environment:
        texts.insert(0, "environment")
    return _rebinding(f"{name}({', '.join(texts)})", arguments, found.rebinds, positions, scope, emit)


def _settled(x: Call, rebinds: Sequence[int], scope: Scope, emit: Emit) -> tuple[tuple[Expression, ...], Sequence[str]]:
    """The arguments with the positions in those that are stored to computed once."""
    arguments, texts = list(x.arguments), []
    for i in rebinds:
        arguments[i], positions = settle(arguments[i], scope, emit)
        texts += positions
    return tuple(arguments), texts


def _rebinding(
    call: str,
    arguments: Sequence[Expression],
    rebinds: Sequence[int],
    positions: Sequence[str],
    scope: Scope,
    emit: Emit,
) -> Code:
    """A call and the stores that follow it: `(positions, result, stores, value)[-1]`."""
    if not rebinds:
        return Code(call)
    result = scope.locals.temporary()
    parts = [f"({text})" for text in positions] + [f"({result} := {call})"]
    parts += [store_text(arguments[p], Code(f"{result}[{i + 1}]"), scope, emit) for i, p in enumerate(rebinds)]
    return Code(f"({', '.join([*parts, f'{result}[0]'])})[-1]")
