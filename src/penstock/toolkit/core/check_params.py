"""Checks the parameters of an invocation against what the operator definition says of them."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.base.diagnostics import Diagnostics, Span, UserError, did_you_mean
from penstock.expr.typing import convert
from penstock.ir.expressions import Attribute, Expression, InputTuple, Symbol, Variable
from penstock.ir.graph import Param
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec


def check_params(
    definition: OperatorDefinition, params: Sequence[Param], span: Span | None, found: Diagnostics
) -> tuple[Param, ...]:
    """The parameters with every value converted to the type that the definition asks for.

    Reports unknown, repeated and missing parameters, too many values, and values of a wrong kind or type.
    """
    seen: set[str] = set()
    checked = []
    for param in params:
        where = _span(param) or span
        if param.name in seen:
            found.error(f"the parameter `{param.name}` of `{definition.name}` is given twice", where)
        seen.add(param.name)
        spec = definition.param(param.name)
        if spec is not None:
            checked.append(_check_param(definition, spec, param, where, found))
        elif definition.any_params:
            checked.append(param)
        else:
            _report_unknown(definition, param.name, where, found)
    for spec in definition.params:
        if spec.required and spec.name not in seen:
            found.error(f"`{definition.name}` needs the parameter `{spec.name}`", span, hint=_as_hint(spec.doc))
    return tuple(checked)


def _report_unknown(definition: OperatorDefinition, name: str, span: Span | None, found: Diagnostics) -> None:
    known = [p.name for p in definition.params]
    listing = f"it takes {{{', '.join(known)}}}" if known else "it takes none"
    hint = did_you_mean(name, known)
    found.error(f"`{definition.name}` has no parameter `{name}`; {listing}", span, hint=hint)


def _span(param: Param) -> Span | None:
    return param.values[0].span if param.values else None


def _check_param(
    definition: OperatorDefinition, spec: ParamSpec, param: Param, span: Span | None, found: Diagnostics
) -> Param:
    what = f"the parameter `{spec.name}` of `{definition.name}`"
    if not param.values:
        found.error(f"{what} has no value", span)
    elif len(param.values) > 1 and not spec.many:
        found.error(f"{what} takes one value, found {len(param.values)}", param.values[1].span or span)
    values = tuple(_check_value(what, spec, value, span, found) for value in param.values)
    return Param(name=param.name, values=values)


def _check_value(what: str, spec: ParamSpec, value: Expression, span: Span | None, found: Diagnostics) -> Expression:
    where = value.span or span
    match spec.kind:
        case ParamKind.SYMBOLS:
            _check_symbol(what, spec, value, where, found)
            return value
        case ParamKind.ATTRIBUTES if not isinstance(value, Attribute):
            found.error(f"{what} takes names of input attributes", where)
            return value
        case ParamKind.CONSTANT | ParamKind.TEXT:
            _check_constant(what, value, where, found)
        case _:
            _check_ports(what, spec, value, where, found)
    return _converted(what, spec, value, where, found)


def _check_symbol(what: str, spec: ParamSpec, value: Expression, span: Span | None, found: Diagnostics) -> None:
    allowed = ", ".join(f"`{s}`" for s in spec.symbols)
    if not isinstance(value, Symbol):
        found.error(f"{what} takes one of {allowed}, found a value of type {value.type}", span)
    elif value.name not in spec.symbols:
        hint = did_you_mean(value.name, spec.symbols)
        found.error(f"{what} takes one of {allowed}, found `{value.name}`", span, hint=hint)


def _check_constant(what: str, value: Expression, span: Span | None, found: Diagnostics) -> None:
    for part in value.walk():
        if isinstance(part, Attribute | Variable):
            found.error(f"{what} is evaluated once, so `{part.name}` cannot stand in it", part.span or span)
        elif isinstance(part, InputTuple):
            found.error(f"{what} is evaluated once, so no tuple can stand in it", part.span or span)


def _check_ports(what: str, spec: ParamSpec, value: Expression, span: Span | None, found: Diagnostics) -> None:
    for part in value.walk():
        if isinstance(part, Attribute | InputTuple) and spec.ports and part.port not in spec.ports:
            allowed = " or ".join(map(str, spec.ports))
            name = f"`{part.name}`" if isinstance(part, Attribute) else "the tuple"
            message = f"{what} speaks of input port {allowed}, but {name} belongs to port {part.port}"
            found.error(message, part.span or span)


def _converted(what: str, spec: ParamSpec, value: Expression, span: Span | None, found: Diagnostics) -> Expression:
    for type_ in spec.types:
        try:
            return convert(value, type_, span)
        except UserError:
            continue
    if spec.types:
        wanted = " or ".join(map(str, spec.types))
        found.error(f"{what} is of type {wanted}, found {value.type}", span)
    return value


def _as_hint(doc: str) -> str | None:
    """A parameter's sentence as the end of a message: `The file's name.` becomes `the file's name`."""
    return doc[:1].lower() + doc[1:].rstrip(".") if doc else None
