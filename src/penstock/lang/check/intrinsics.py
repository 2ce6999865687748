"""Functions that the compiler answers itself, because they ask where in the program a call stands.

| call | value |
|---|---|
| `getThisCompositeInstanceName()` | the path of the instance, `outer.inner`; of the main composite its name |
| `getMainCompositeName()`, `getApplicationName()` | the main composite's name, with its namespace |
| `getJobName()` | the main composite's name and the number of the job, which is 0 |
| `getThisOperatorName()`, `getThisOperatorLogicalName()` | the path of the operator, `outer.inner.Op` |
| `inputPort(S)`, `outputPort(S)` | the index of the operator's port with that name |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.base.diagnostics import did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Expression
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.syntax import ast_code as code


def intrinsic(syntax: code.CallSyntax, names: Names) -> Expression | None:
    """The value of a call that the compiler evaluates by itself; None if it is not such a call.

    Raises:
        UserError: The call is one of these, but has wrong arguments or is in a wrong place.
    """
    name = syntax.function.text
    if name in _PORTS and len(syntax.arguments) == 1:
        return typing.literal(_port(syntax, _PORTS[name](names)), span=syntax.span)
    if name in _OPERATORS and not syntax.arguments:
        if not names.operator:
            raise error(f"`{name}` is called in an operator", syntax.span, "pass its value to the function")
        return typing.literal(names.operator, span=syntax.span)
    if name in _COMPOSITES and not syntax.arguments:
        places = names.home.composite_names
        if places is None:
            raise error(f"`{name}` is called in a composite", syntax.span, "pass its value to the function")
        suffix = "_0" if name == "getJobName" else ""
        return typing.literal(places[_COMPOSITES[name]] + suffix, span=syntax.span)
    return None


def _port(syntax: code.CallSyntax, ports: Mapping[str, int]) -> int:
    argument = syntax.arguments[0]
    word = argument.name.text if isinstance(argument, code.NameSyntax) else ""
    if word not in ports:
        listing = ", ".join(f"`{name}`" for name in ports) or "none"
        message = f"`{syntax.function}` takes the name of a port; there are: {listing}"
        raise error(message, argument.span, did_you_mean(word, ports))
    return ports[word]


def _input_ports(names: Names) -> dict[str, int]:
    return {name: port.index for port in names.ports for name in port.names}


_PORTS: Mapping[str, Callable[[Names], Mapping[str, int]]] = {
    "inputPort": _input_ports,
    "outputPort": lambda names: names.outputs,
}
_COMPOSITES = {"getThisCompositeInstanceName": 0, "getMainCompositeName": 1, "getApplicationName": 1, "getJobName": 1}
_OPERATORS = frozenset({"getThisOperatorName", "getThisOperatorLogicalName"})

INTRINSICS = frozenset({*_PORTS, *_COMPOSITES, *_OPERATORS})
"""The names of these functions."""
