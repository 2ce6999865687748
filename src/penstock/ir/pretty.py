"""The graph as text for people: SPL, with composites expanded and everything implied written out.

Ids of expanded operators have dots, which SPL's own names do not, and passwords are left out; apart from that the text
reads as a program.

Example:
    >>> from penstock.ir.graph import Application, InputPort, Operator, OutputPort
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("int32 x")
    >>> print(pretty(Application(name="Main", operators=(
    ...     Operator(id="A", kind="Beacon", outputs=(OutputPort(stream="A", schema=schema),)),
    ...     Operator(id="Sink", kind="FileSink", inputs=(InputPort(streams=("A",), schema=schema),)),
    ... ))))
    composite Main {
      graph
        stream<int32 x> A = Beacon() { }
        () as Sink = FileSink(A) { }
    }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from textwrap import indent

from penstock.base.redaction import redact
from penstock.ir.constraints import Constraint
from penstock.ir.expressions import Expression, OutputCall
from penstock.ir.graph import Annotation, Application, InputPort, Operator, OutputPort, Policy, Window
from penstock.ir.pretty_expressions import expression_text
from penstock.ir.pretty_statements import INDENT, PortNames, function_text, statement_text
from penstock.ir.statements import Logic

__all__ = ["expression_text", "function_text", "operator_text", "pretty", "statement_text"]


def pretty(application: Application) -> str:
    """The application as SPL-like text: functions, operators in order of declaration, constraints."""
    namespace, _, name = application.name.rpartition("::")
    own = [replace(f, name=f.name.removeprefix(f"{namespace}::")) for f in application.functions]
    parts = [function_text(f) for f in own]
    graph = "\n".join(operator_text(o) for o in application.operators)
    body = [f"graph\n{indent(graph, INDENT)}"] if graph else ["graph"]
    if application.constraints:
        constraints = "\n".join(map(_constraint, application.constraints))
        body.append(constraints)
    parts.append(f"composite {name} {{\n{indent(chr(10).join(body), INDENT)}\n}}")
    return redact("\n\n".join([f"namespace {namespace};", *parts] if namespace else parts))


def operator_text(operator: Operator) -> str:
    """One operator as the invocation that would make it."""
    ports = _port_names(operator)
    head = "".join(f"{_annotation(a)}\n" for a in operator.annotations)
    head += f"{_outputs(operator)} = {operator.kind}({'; '.join(map(_input, operator.inputs))})"
    clauses = list(_clauses(operator, ports))
    if not clauses:
        return f"{head} {{ }}"
    return redact(f"{head} {{\n{indent(chr(10).join(clauses), INDENT)}\n}}")


def _port_names(operator: Operator) -> PortNames:
    inputs = tuple(port.alias or next(iter(port.streams), f"port{i}") for i, port in enumerate(operator.inputs))
    return PortNames(inputs=inputs, outputs=tuple(port.stream for port in operator.outputs))


def _outputs(operator: Operator) -> str:
    streams = "; ".join(f"stream<{_attributes(port)}> {port.stream}" for port in operator.outputs)
    if len(operator.outputs) == 1 and operator.outputs[0].stream == operator.id:
        return streams
    return f"({streams}) as {operator.id}"


def _attributes(port: OutputPort) -> str:
    return str(port.schema).removeprefix("tuple<").removesuffix(">")


def _input(port: InputPort) -> str:
    streams = (f"{s} /* feedback */" if s in port.feedback else s for s in port.streams)
    return ", ".join(streams) + (f" as {port.alias}" if port.alias else "")


def _annotation(annotation: Annotation) -> str:
    arguments = (f"{a.name}={_values(a.values)}" for a in annotation.arguments)
    inside = ", ".join(arguments)
    return f"@{annotation.name}({inside})" if inside else f"@{annotation.name}"


def _values(values: tuple[Expression, ...], ports: PortNames | None = None) -> str:
    return ", ".join(expression_text(v, ports.inputs if ports else ()) for v in values)


def _is_read(value: Expression) -> bool:
    """Whether a value is what the operator reads: nobody writes that, an attribute without assignment means it."""
    return isinstance(value, OutputCall) and value.function == "Read"


def _clauses(operator: Operator, ports: PortNames) -> Iterator[str]:
    if operator.logic is not None:
        yield f"logic\n{indent(chr(10).join(_logic(operator.logic, ports)), INDENT)}"
    windows = [(name, p.window) for name, p in zip(ports.inputs, operator.inputs, strict=True)]
    yield from (f"window {name}: {_window(window, ports)};" for name, window in windows if window is not None)
    yield from (f"param {p.name}: {_values(p.values, ports)};" for p in operator.params)
    for port in operator.outputs:
        written = [a for a in port.assignments if not _is_read(a.value)]
        if written:
            values = (f"{a.attribute} = {expression_text(a.value, ports.inputs)}" for a in written)
            yield f"output {port.stream}: {', '.join(values)};"
    yield from (f"config {setting.name}: {_values(setting.values)};" for setting in operator.config)


def _logic(logic: Logic, ports: PortNames) -> Iterator[str]:
    if logic.state:
        state = "\n".join(statement_text(d, ports) for d in logic.state)
        yield f"state: {{\n{indent(state, INDENT)}\n}}"
    for word, handlers in (("onTuple", logic.on_tuple), ("onPunct", logic.on_punctuation)):
        for handler in handlers:
            yield f"{word} {ports.inputs[handler.port]}: {statement_text(handler.body, ports)}"
    if logic.on_process is not None:
        yield f"onProcess: {statement_text(logic.on_process, ports)}"


def _window(window: Window, ports: PortNames) -> str:
    policies = [window.eviction, *([window.trigger] if window.trigger else [])]
    parts = [window.kind.value, *(_policy(p, ports) for p in policies)]
    if window.partitioned:
        parts.append("partitioned")
    if window.partition_age is not None:
        parts.append(f"partitionAge({expression_text(window.partition_age, ports.inputs)})")
    return ", ".join(parts)


def _policy(policy: Policy, ports: PortNames) -> str:
    arguments = (e for e in (policy.attribute, policy.size) if e is not None)
    return f"{policy.kind.value}({', '.join(expression_text(e, ports.inputs) for e in arguments)})"


def _constraint(constraint: Constraint) -> str:
    parts = [", ".join(constraint.operators)]
    if constraint.hosts:
        parts.append(f"on {', '.join(constraint.hosts)}")
    parts.extend(f"[{', '.join(replica)}]" for replica in constraint.replicas)
    return f"// {constraint.kind.value}: {' '.join(part for part in parts if part)}"
