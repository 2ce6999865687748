"""Completes output clauses: every attribute of an output port gets its assignment, in the schema's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

from penstock.base.diagnostics import Diagnostics, Span, UserError, did_you_mean
from penstock.expr.typing import convert
from penstock.ir.expressions import (
    Attribute,
    Cast,
    Expression,
    ListLiteral,
    Literal,
    MapLiteral,
    OutputCall,
    Scalar,
    SetLiteral,
    TupleLiteral,
)
from penstock.ir.graph import Assignment, InputPort, OutputPort
from penstock.ir.types import (
    FLOAT64,
    XML,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    TypedName,
    is_complex,
    is_decimal,
    is_float,
    is_string,
)
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause

Complete = Callable[[TypedName], Expression | None]


def complete_outputs(
    definition: OperatorDefinition,
    inputs: Sequence[InputPort],
    outputs: Sequence[OutputPort],
    span: Span | None,
    found: Diagnostics,
) -> tuple[OutputPort, ...]:
    """The output ports with complete output clauses.

    What the user assigned is converted to the attribute's type. In an AGGREGATE clause a value without an output
    function is the `Last` of it.
    """
    clause = definition.output
    for port in outputs:
        _check_names(port, found)
    if clause is OutputClause.FORWARD:
        _check_forward(definition, inputs, outputs, span, found)
    if clause in (OutputClause.FORWARD, OutputClause.FREE):
        _report_assignments(definition, outputs, span, found)
        return tuple(outputs)
    if clause is OutputClause.READ:
        read = definition.assigned_outputs or 1
        return tuple(
            _complete_port(clause, inputs, port, span, found) if port.assignments and index < read else port
            for index, port in enumerate(outputs)
        )
    most = definition.assigned_outputs
    _report_assignments(definition, () if most is None else outputs[most:], span, found)
    return tuple(
        _complete_port(clause, inputs, port, span, found) if most is None or index < most else port
        for index, port in enumerate(outputs)
    )


def _report_assignments(
    definition: OperatorDefinition, outputs: Sequence[OutputPort], span: Span | None, found: Diagnostics
) -> None:
    for port in outputs:
        where = f" for `{port.stream}`" if definition.assigned_outputs is not None else ""
        for assignment in port.assignments:
            message = f"`{definition.name}` has no output clause{where}, but `{assignment.attribute}` is assigned"
            found.error(message, assignment.value.span or span, hint="use a Functor behind it")


def default_expression(type_: Type) -> Expression:
    """The default value of a type, as a literal: zero, false, empty, null, or the first symbol of an enum.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> default_expression(parse_type("tuple<int32 x, list<rstring> l>")).values[0].value
        0
    """
    match type_:
        case Primitive() if is_complex(type_):
            zero = Literal(type=FLOAT64, value=0.0)
            return Cast(type=type_, operand=ListLiteral(type=ListType(FLOAT64), elements=(zero, zero)))
        case Primitive():
            return Literal(type=type_, value=_default_scalar(type_))
        case EnumType(symbols=symbols):
            return Literal(type=type_, value=symbols[0])
        case OptionalType():
            return Literal(type=type_, value=None)
        case ListType():
            return ListLiteral(type=type_, elements=())
        case SetType():
            return SetLiteral(type=type_, elements=())
        case MapType():
            return MapLiteral(type=type_, keys=(), values=())
        case TupleType(attributes=attributes):
            return TupleLiteral(type=type_, values=tuple(default_expression(a.type) for a in attributes))
    raise TypeError(f"{type_} has no default value")


def _default_scalar(type_: Primitive) -> Scalar:
    if type_.name == "boolean":
        return False
    if type_.name == "blob":
        return b""
    if is_string(type_) or type_ == XML:
        return ""
    if is_float(type_):
        return 0.0
    return Decimal(0) if is_decimal(type_) else 0


def _check_names(port: OutputPort, found: Diagnostics) -> None:
    seen: set[str] = set()
    for assignment in port.assignments:
        name, span = assignment.attribute, assignment.value.span
        if name not in port.schema.position:
            message = f"`{port.stream}` has no attribute `{name}`; its schema is {{{', '.join(port.schema.names)}}}"
            found.error(message, span, hint=did_you_mean(name, port.schema.names))
        elif name in seen:
            found.error(f"`{name}` of `{port.stream}` is assigned twice", span)
        seen.add(name)


def _check_forward(
    definition: OperatorDefinition,
    inputs: Sequence[InputPort],
    outputs: Sequence[OutputPort],
    span: Span | None,
    found: Diagnostics,
) -> None:
    for port in outputs:
        if inputs and port.schema != inputs[0].schema:
            message = (
                f"`{definition.name}` passes its tuples on as they are, but `{port.stream}` has the schema "
                f"{port.schema} and its input {inputs[0].schema}"
            )
            found.error(message, span, hint="give both the same schema, or put a Functor between")


def _complete_port(
    clause: OutputClause, inputs: Sequence[InputPort], port: OutputPort, span: Span | None, found: Diagnostics
) -> OutputPort:
    given = {a.attribute: a.value for a in port.assignments}
    complete = _completion(clause, inputs)
    values = []
    for attribute in port.schema.attributes:
        if attribute.name in given:
            values.append(_converted(clause, given[attribute.name], attribute, found))
        elif (value := complete(attribute)) is not None:
            values.append(value)
        else:
            found.error(*_unassigned(port, attribute, inputs, span), hint="assign it in the output clause")
    if len(values) < len(port.schema.attributes):
        return port
    pairs = zip(port.schema.names, values, strict=True)
    return replace(port, assignments=tuple(Assignment(attribute=name, value=value) for name, value in pairs))


def _unassigned(
    port: OutputPort, attribute: TypedName, inputs: Sequence[InputPort], span: Span | None
) -> tuple[str, Span | None]:
    name = attribute.name
    others = [p.schema.attribute(name).type for p in inputs if name in p.schema.position]
    why = f"the input's `{name}` is {others[0]}" if others else "no input has an attribute of that name"
    return f"`{attribute}` of `{port.stream}` is not assigned, and {why}", span


def _completion(clause: OutputClause, inputs: Sequence[InputPort]) -> Complete:
    def copy(attribute: TypedName) -> Expression | None:
        for i, port in enumerate(inputs):
            if attribute in port.schema.attributes:
                return Attribute(type=attribute.type, name=attribute.name, port=i)
        return None

    def last(attribute: TypedName) -> Expression | None:
        value = copy(attribute)
        return None if value is None else _last(value)

    def default(attribute: TypedName) -> Expression | None:
        return default_expression(attribute.type)

    def read(attribute: TypedName) -> Expression | None:
        return OutputCall(type=attribute.type, function="Read", arguments=())

    return {
        OutputClause.ASSIGN: copy,
        OutputClause.AGGREGATE: last,
        OutputClause.GENERATE: default,
        OutputClause.READ: read,
    }[clause]


def _last(value: Expression) -> Expression:
    return OutputCall(type=value.type, span=value.span, function="Last", arguments=(value,))


def _converted(clause: OutputClause, value: Expression, attribute: TypedName, found: Diagnostics) -> Expression:
    if clause is OutputClause.AGGREGATE and not any(isinstance(e, OutputCall) for e in value.walk()):
        value = _last(value)
    try:
        return convert(value, attribute.type, value.span)
    except UserError as error:
        found.extend(error)
        return value
