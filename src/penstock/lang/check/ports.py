"""The ports of an invocation: which streams come in and go out, and what code may call them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.base.diagnostics import Diagnostics, did_you_mean
from penstock.ir.graph import InputPort, OutputPort
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names, PortName
from penstock.lang.expand.composites import Instance, find_stream
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code


def input_ports(invocation: ast.Invocation, instance: Instance, found: Diagnostics) -> list[InputPort] | None:
    """The input ports, or none if a stream is unknown or its schema wrong, after reporting it."""
    ports = [_input(port, instance, found) for port in invocation.inputs]
    known = [port for port in ports if port is not None]
    return known if len(known) == len(ports) else None


def _input(syntax: ast.InputSyntax, instance: Instance, found: Diagnostics) -> InputPort | None:
    refs = [(s, find_stream(instance, s.name, found)) for s in syntax.streams]
    schemas = [(s, ref.schema) for s, ref in refs if ref is not None and ref.schema is not None]
    if len(schemas) < len(refs):
        return None
    first = schemas[0][1]
    for stream, schema in schemas[1:]:
        if schema != first:
            message = f"`{stream.name}` carries {schema}, but `{syntax.streams[0].name}` before it {first}"
            found.error(message, stream.name.span, hint="the streams of one port have one schema")
            return None
    ids = tuple(id_ for _, ref in refs if ref is not None for id_ in ref.ids)
    return InputPort(streams=ids, schema=first, alias=syntax.alias.text if syntax.alias else None)


def output_ports(invocation: ast.Invocation, instance: Instance) -> list[OutputPort] | None:
    """The output ports without assignments, or none if the schema of one is wrong, which has been reported."""
    outputs = []
    for stream in invocation.outputs:
        known = instance.stream(stream.name.text)
        if known is None or known.schema is None:
            return None
        outputs.append(OutputPort(stream=f"{instance.path}{stream.name}", schema=known.schema))
    return outputs


def port_names(
    invocation: ast.Invocation, instance: Instance, inputs: Sequence[InputPort], outputs: Sequence[OutputPort]
) -> Names:
    """The names that the clauses of an invocation may use."""
    ports = tuple(
        PortName(index=i, names=_input_names(syntax), streams=port.streams, schema=port.schema)
        for i, (syntax, port) in enumerate(zip(invocation.inputs, inputs, strict=True))
    )
    return Names(
        scope=instance,
        home=instance,
        ports=ports,
        outputs={name: i for i, stream in enumerate(invocation.outputs) for name in _output_names(stream)},
        output_schemas=tuple(port.schema for port in outputs),
        operator=f"{instance.path}{invocation.name}",
    )


def _input_names(syntax: ast.InputSyntax) -> tuple[str, ...]:
    streams = tuple(s.name.text for s in syntax.streams)
    return (syntax.alias.text, *streams) if syntax.alias else streams


def _output_names(stream: ast.StreamSyntax) -> Iterator[str]:
    yield stream.name.text
    if stream.alias is not None:
        yield stream.alias.text


def input_index(word: code.Word, names: Names) -> int:
    """The index of the input port of a name.

    Raises:
        UserError: There is none.
    """
    for port in names.ports:
        if word.text in port.names:
            return port.index
    known = [name for port in names.ports for name in port.names]
    listing = ", ".join(f"`{name}`" for name in known) or "none"
    raise error(f"`{word}` is not an input port; there are: {listing}", word.span, did_you_mean(word.text, known))
