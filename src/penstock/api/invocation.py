"""The parts of an invocation, made of what the user's Python call gives: ports, windows, output clauses, parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.columns import Column, Scope, lift
from penstock.api.naming import find_name
from penstock.api.outputs import Output
from penstock.api.schemas import schema_of
from penstock.api.streams import Stream
from penstock.api.windows import WindowSpec
from penstock.base.diagnostics import Diagnostic, Span, UserError, did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Attribute, Expression, Symbol
from penstock.ir.graph import Assignment, InputPort, OutputPort, Param, Window
from penstock.ir.types import VOID, Schema
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind


def port_schema(port: tuple[Stream, ...], span: Span | None) -> Schema:
    """The schema of an input port, which all its streams must have."""
    first = port[0].schema
    for other in port[1:]:
        if other.schema != first:
            message = f"`{port[0].id}` carries {first}, but `{other.id}` carries {other.schema}"
            raise UserError(Diagnostic(message=message, span=span, hint="streams into one port have equal schemas"))
    return first


def input_ports(
    ports: tuple[tuple[Stream, ...], ...],
    schemas: tuple[Schema, ...],
    windows: Sequence[WindowSpec | None],
    partitioned: bool,
    span: Span | None,
) -> list[InputPort]:
    """The input ports with their windows."""
    specs = [*windows, *[None] * (len(ports) - len(windows))]
    return [
        InputPort(streams=tuple(s.id for s in port), schema=schema, window=_window(spec, schema, partitioned, span))
        for port, schema, spec in zip(ports, schemas, specs, strict=True)
    ]


def _window(spec: WindowSpec | None, schema: Schema, partitioned: bool, span: Span | None) -> Window | None:
    if spec is None:
        return None
    if not isinstance(spec, WindowSpec):
        message = f"a window is tumbling(...) or sliding(...), found {spec!r}"
        raise UserError(Diagnostic(message=message, span=span, hint="write tumbling(count(10)) or sliding(time(60))"))
    return spec.build(schema, partitioned=partitioned, span=span)


def output_ports(
    definition: OperatorDefinition,
    name: str,
    outputs: Sequence[Output],
    schemas: tuple[Schema, ...],
    span: Span | None,
) -> list[OutputPort]:
    """The output ports with their output clauses; streams without a name are named after the operator."""
    scope = Scope(schemas=schemas, definition=definition, span=span)
    ports = []
    for i, output in enumerate(outputs):
        schema = schema_of(output.schema)
        assignments = [_assignment(a, v, schema, scope) for a, v in output.assign.items()]
        stream = output.name or (name if i == 0 else f"{name}_{i}")
        ports.append(OutputPort(stream=stream, schema=schema, assignments=tuple(assignments)))
    return ports


def _assignment(attribute: str, value: Any, schema: Schema, scope: Scope) -> Assignment:
    if attribute not in schema.position:
        message = f"there is no output attribute `{attribute}`; the schema is {{{', '.join(schema.names)}}}"
        raise UserError(Diagnostic(message=message, span=scope.span, hint=did_you_mean(attribute, schema.names)))
    built = typing.convert(lift(value).build(scope), schema.attribute(attribute).type, scope.span)
    return Assignment(attribute=attribute, value=built)


def made_params(
    definition: OperatorDefinition,
    params: Mapping[str, Any],
    schemas: tuple[Schema, ...],
    outputs: Sequence[Output],
    span: Span | None,
) -> list[Param]:
    """The parameters, each value as the operator asks for it."""
    # A source has no inputs; the attributes that its parameters name are those of its output.
    seen = schemas or tuple(schema_of(o.schema) for o in outputs)
    made = []
    for given, value in _with_all(definition, params).items():
        name = find_name(given, [spec.name for spec in definition.params])
        spec = definition.param(name)
        kind = spec.kind if spec is not None else ParamKind.CONSTANT
        scope = Scope(
            schemas=() if spec is not None and kind is ParamKind.CONSTANT else seen, definition=definition, span=span
        )
        values = value if isinstance(value, list | tuple) and (spec is None or spec.many) else (value,)
        # In a parameter that names a key, a string is an attribute's name whatever else the operator allows there.
        kind = ParamKind.ATTRIBUTES if name.startswith("partitionBy") else kind
        symbols = spec.symbols if spec is not None else ()
        made.append(Param(name=name, values=tuple(_param_value(v, kind, symbols, scope) for v in values)))
    return made


def _with_all(definition: OperatorDefinition, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters, with those of a dict `params` among them: there they may have names that options have too."""
    more = params.get("params")
    if not isinstance(more, Mapping) or definition.param("params") is not None:
        return params
    return {**{name: value for name, value in params.items() if name != "params"}, **more}


def _param_value(value: Any, kind: ParamKind, symbols: Sequence[str], scope: Scope) -> Expression:
    if kind is ParamKind.SYMBOLS and isinstance(value, str):
        return Symbol(type=VOID, name=find_name(value, symbols), span=scope.span)
    if kind is ParamKind.ATTRIBUTES and isinstance(value, str):
        return _named_attribute(value, scope)
    return (value if isinstance(value, Column) else lift(value)).build(scope)


def _named_attribute(name: str, scope: Scope) -> Expression:
    for port, schema in enumerate(scope.schemas):
        if name in schema.position:
            return Attribute(type=schema.attribute(name).type, name=name, port=port, span=scope.span)
    known = [n for schema in scope.schemas for n in schema.names]
    message = f"there is no attribute `{name}`; the input has {{{', '.join(known)}}}"
    raise UserError(Diagnostic(message=message, span=scope.span, hint=did_you_mean(name, known)))
