"""The typing rules of calls."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.base.diagnostics import Diagnostic, Span, UserError
from penstock.expr.functions.registry import Resolved, resolve
from penstock.expr.typing.access import check_assignable, literal
from penstock.expr.typing.convert import convert, fail, try_convert
from penstock.ir.expressions import Call, Expression
from penstock.ir.statements import Function
from penstock.ir.types import Type


def call(
    name: str, arguments: Sequence[Expression], span: Span | None = None, functions: Sequence[Function] = ()
) -> Expression:
    """A call of a function of the application, if `functions` has one of that name, or of a standard function.

    Example:
        >>> str(call("substring", [literal("abc"), literal(0), literal(2)]).type)
        'rstring'
        >>> call("lenght", [literal("abc")])
        Traceback (most recent call last):
        penstock.UserError: error: there is no function `lenght`; did you mean `length`?
    """
    own = [f for f in functions if f.name == name]
    return _call_own(own, arguments, span) if own else _call_standard(name, arguments, span)


def _call_standard(name: str, arguments: Sequence[Expression], span: Span | None) -> Expression:
    def converts(position: int, type_: Type) -> bool:
        return try_convert(arguments[position], type_) is not None

    try:
        found = resolve(name, [a.type for a in arguments], converts)
    except UserError as error:
        problem = error.diagnostics[0]
        raise UserError(Diagnostic(message=problem.message, span=span, hint=problem.hint)) from None
    if found.definition.needs_span:
        return literal(found.definition.implementation(span), found.return_type, span)
    _check_mutable(found, arguments, span)
    values = tuple(convert(a, t, a.span or span) for a, t in zip(arguments, found.parameter_types, strict=True))
    return Call(type=found.return_type, function=name, arguments=values, span=span)


def _check_mutable(found: Resolved, arguments: Sequence[Expression], span: Span | None) -> None:
    for position in found.definition.mutable_positions:
        check_assignable(arguments[position], arguments[position].span or span)


def takes(functions: Sequence[Function], arguments: Sequence[Expression]) -> bool:
    """Whether one of several functions can be called with arguments."""
    return any(len(f.parameters) == len(arguments) and _fits(f, arguments) for f in functions)


def _call_own(own: Sequence[Function], arguments: Sequence[Expression], span: Span | None) -> Expression:
    fitting = [f for f in own if len(f.parameters) == len(arguments) and _fits(f, arguments)]
    exact = [f for f in fitting if all(p.type == a.type for p, a in zip(f.parameters, arguments, strict=True))]
    chosen = next(iter(exact or fitting), None)
    if chosen is None:
        given = ", ".join(str(a.type) for a in arguments)
        known = "; ".join(f"`{_signature(f)}`" for f in own)
        fail(f"no function `{own[0].name}` takes ({given})", span, f"there is {known}")
    for parameter, argument in zip(chosen.parameters, arguments, strict=True):
        if parameter.mutable:
            check_assignable(argument, argument.span or span)
    values = tuple(convert(a, p.type, a.span or span) for a, p in zip(arguments, chosen.parameters, strict=True))
    return Call(type=chosen.returns, function=chosen.name, arguments=values, span=span)


def _fits(function: Function, arguments: Sequence[Expression]) -> bool:
    return all(
        a.type == p.type if p.mutable else try_convert(a, p.type) is not None
        for a, p in zip(arguments, function.parameters, strict=True)
    )


def _signature(function: Function) -> str:
    parameters = (f"{'mutable ' if p.mutable else ''}{p.type} {p.name}" for p in function.parameters)
    return f"{function.returns} {function.name}({', '.join(parameters)})"
