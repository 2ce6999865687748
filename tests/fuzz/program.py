"""A random program as data: it can be printed as SPL, and made smaller piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Attributes = tuple[tuple[str, str], ...]
"""The names and types of a stream's attributes."""

TYPES = "type Color = enum{red, green, blue};"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """An output port.

    Attributes:
        stream: What it makes.
        schema: Of its tuples.
        assignments: The output clause: attributes with their values.
    """

    stream: str
    schema: Attributes
    assignments: Attributes = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """An invocation. Its input ports are known as I0, I1, ... in all clauses, so that it can be fed by other streams.

    Attributes:
        name: Unique in the program.
        kind: The operator.
        inputs: The streams of each input port.
        outputs: The output ports.
        windows: Of the window clause.
        params: Names and values.
        logic: Clauses with their statements, each of which can be left out.
        annotations: Such as `@catch`.
        wrapped: Whether it stands in a composite of its own.
    """

    name: str
    kind: str
    inputs: tuple[tuple[str, ...], ...] = ()
    outputs: tuple[Output, ...] = ()
    windows: tuple[str, ...] = ()
    params: Attributes = ()
    logic: tuple[tuple[str, tuple[str, ...]], ...] = ()
    annotations: tuple[str, ...] = ()
    wrapped: bool = False

    @property
    def streams(self) -> Iterator[str]:
        """What it subscribes to."""
        return (stream for port in self.inputs for stream in port)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzProgram:
    """A program.

    Attributes:
        ops: In order of declaration.
        files: What sources read, by name: the lines.
    """

    ops: tuple[Op, ...]
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def schemas(self) -> dict[str, Attributes]:
        """Of every stream."""
        return {output.stream: output.schema for op in self.ops for output in op.outputs}

    def text(self) -> str:
        """The program in SPL."""
        schemas = self.schemas
        composites = [_composite(op, schemas) for op in self.ops if op.wrapped]
        graph = [_wrapped(op) if op.wrapped else _invocation(op) for op in self.ops]
        return "\n".join([TYPES, *composites, "composite Main {", "  graph", *graph, "}", ""])


def type_of(schema: Attributes) -> str:
    """A schema in SPL.

    Example:
        >>> type_of((("n", "int32"), ("s", "rstring")))
        'int32 n, rstring s'
    """
    return ", ".join(f"{type_} {name}" for name, type_ in schema)


def _composite(op: Op, schemas: Mapping[str, Attributes]) -> str:
    """A composite that holds one operator, of which the ports are its own."""
    inside = tuple((f"In{i}",) for i in range(len(op.inputs)))
    outs = [f"Out{i}" for i in range(len(op.outputs))]
    heads = [f"output {', '.join(outs)}"] if outs else []
    heads += [f"input {', '.join(p for (p,) in inside)}"] if inside else []
    lines = _invocation(
        op, inside, dict(zip((o.stream for o in op.outputs), outs, strict=True)), "    ", in_composite=True
    )
    return f"composite {op.name}C({'; '.join(heads)}) {{\n  graph\n{lines}\n}}"


def _wrapped(op: Op) -> str:
    outputs = "; ".join(f"stream<{type_of(o.schema)}> {o.stream}" for o in op.outputs)
    head = f"({outputs}) as {op.name}" if op.outputs else f"() as {op.name}"
    inputs = "; ".join(", ".join(port) for port in op.inputs)
    annotated = "".join(f"    {annotation}\n" for annotation in op.annotations)
    return f"{annotated}    {head} = {op.name}C({inputs}) {{ }}"


def _invocation(
    op: Op,
    inputs: tuple[tuple[str, ...], ...] | None = None,
    names: Mapping[str, str] | None = None,
    indent: str = "    ",
    *,
    in_composite: bool = False,
) -> str:
    called = names or {}
    outputs = "; ".join(
        f"stream<{type_of(o.schema)}> {called.get(o.stream, o.stream)} as O{i}" for i, o in enumerate(op.outputs)
    )
    head = f"({outputs}) as {op.name}" if op.outputs else f"() as {op.name}"
    ports = "; ".join(f"{', '.join(port)} as I{i}" for i, port in enumerate(inputs or op.inputs))
    lines = [f"{indent}{annotation}" for annotation in (() if in_composite else op.annotations)]
    lines.append(f"{indent}{head} = {op.kind}({ports}) {{")
    lines += [f"{indent}  {line}" for line in _clauses(op)]
    return "\n".join([*lines, f"{indent}}}"])


def _clauses(op: Op) -> Iterator[str]:
    if op.logic:
        yield "logic"
        for clause, statements in op.logic:
            yield f"  {clause}: {{ {' '.join(statements)} }}"
    if op.windows:
        yield f"window {' '.join(f'{window};' for window in op.windows)}"
    if op.params:
        yield f"param {' '.join(f'{name}: {value};' for name, value in op.params)}"
    assigned = [(i, output) for i, output in enumerate(op.outputs) if output.assignments]
    if assigned:
        ports = (f"O{i}: {', '.join(f'{a} = {v}' for a, v in output.assignments)};" for i, output in assigned)
        yield f"output {' '.join(ports)}"
