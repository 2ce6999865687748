"""Expands an instance into its operators, composites inside it included, in order of declaration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.base.diagnostics import UserError
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Annotation, Operator
from penstock.ir.statements import Function
from penstock.lang.check.annotations import check_annotation
from penstock.lang.check.invocations import Inherited, check_invocation
from penstock.lang.check.scope import Compilation
from penstock.lang.expand.composites import CompositeTarget, Instance, Node, find_stream
from penstock.lang.expand.event_time_graph import EVENT_TIME
from penstock.lang.expand.replicate import PARALLEL, ParallelRegion, Placed, RegionPort
from penstock.lang.expand.replicate import replicate as replicate_placed
from penstock.lang.syntax import ast
from penstock.toolkit.core.definition import OperatorDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """An operator, with all placement settings that apply to it and where they were written, and its regions."""

    operator: Operator
    placement: tuple[tuple[ast.Setting, Instance], ...]
    regions: tuple[ParallelRegion, ...] = ()


def expand(instance: Instance, inherited: Inherited | None = None) -> Iterator[Expanded]:
    """The operators of an instance; those with mistakes are left out after these are reported."""
    instance.check_types()
    _check_names(instance)
    around = _with_composite(inherited or Inherited(), instance)
    for node in instance.nodes:
        if node.child is not None:
            _check_ports(node, node.child, instance)
            yield from expand(node.child, _with_invocation(around, node, instance))
        elif isinstance(node.target, OperatorDefinition):
            operator = check_invocation(node, instance, around)
            if operator is not None:
                own = ((setting, instance) for setting in node.invocation.config)
                settings = (*own, *around.config)
                placement = tuple((s, scope) for s, scope in settings if s.name.text == "placement")
                own_annotations = operator.annotations[: len(node.invocation.annotations)]
                regions = (*_regions(node, instance, own_annotations), *around.regions)
                yield Expanded(operator=operator, placement=placement, regions=regions)


def check_unused(target: CompositeTarget, compilation: Compilation) -> None:
    """Report what is wrong with a composite that nobody invokes, as far as that can be told without its inputs."""
    probe = Instance(compilation, target, is_probe=True)
    for _ in expand(probe):
        continue
    for formal in target.composite.outputs:
        if probe.stream(formal.name.text) is None:
            message = f"no invocation of `{target.composite.name}` makes its output `{formal.name}`"
            compilation.found.error(message, formal.name.span)


def _check_names(instance: Instance) -> None:
    seen: set[str] = set()
    streams: set[str] = set()
    for node in instance.nodes:
        name = node.invocation.name
        outputs = {s.name.text for s in node.invocation.outputs}
        is_reported = name.text in outputs & streams
        if name.text in seen and not is_reported:
            instance.compilation.found.error(f"two invocations are named `{name}`", name.span)
        seen.add(name.text)
        streams |= outputs


def _with_composite(inherited: Inherited, instance: Instance) -> Inherited:
    config = tuple((setting, instance) for setting in instance.composite.config)
    return replace(inherited, config=(*config, *inherited.config))


def _with_invocation(around: Inherited, node: Node, instance: Instance) -> Inherited:
    annotations: list[Annotation] = []
    for syntax in node.invocation.annotations:
        if syntax.name == EVENT_TIME:
            hint = "write it at the operator inside that makes the stream"
            message = f"@{EVENT_TIME} stands at an operator, but `{node.invocation.operator}` is a composite"
            instance.compilation.found.error(message, syntax.span, hint=hint)
            continue
        try:
            annotations.append(check_annotation(syntax, instance))
        except UserError as problem:
            instance.compilation.found.extend(problem)
    config = tuple((setting, instance) for setting in node.invocation.config)
    return Inherited(
        annotations=(*annotations, *around.annotations),
        config=(*config, *around.config),
        regions=(*_regions(node, instance, annotations), *around.regions),
    )


def _regions(node: Node, instance: Instance, annotations: Iterable[Annotation]) -> Iterator[ParallelRegion]:
    """The region that `@parallel` makes of an invocation."""
    for annotation in annotations:
        if annotation.name == PARALLEL:
            id_ = f"{instance.path}{node.invocation.name}"
            ports = tuple(_region_port(port, instance) for port in node.invocation.inputs)
            yield ParallelRegion(id=id_, annotation=annotation, is_composite=node.child is not None, ports=ports)


def _region_port(port: ast.InputSyntax, instance: Instance) -> RegionPort:
    """An input port of an invocation, with its alias and the names of its streams."""
    names = [s.name.text for s in port.streams]
    known = (stream for name in names if (stream := instance.stream(name)) is not None)
    alias = () if port.alias is None else (port.alias.text,)
    return RegionPort(names=(*alias, *names), streams=tuple(id_ for stream in known for id_ in stream.ids))


def _check_ports(node: Node, child: Instance, instance: Instance) -> None:
    """Check an invocation of a composite against the composite's head."""
    found, invocation = instance.compilation.found, node.invocation
    composite = child.composite
    for what, formal, actual in (
        ("input", composite.inputs, invocation.inputs),
        ("output", composite.outputs, invocation.outputs),
    ):
        if len(formal) != len(actual):
            message = f"`{composite.name}` has {len(formal)} {what} ports, found {len(actual)}"
            found.error(message, invocation.operator.span)
    for port in invocation.inputs:
        for stream in port.streams:
            find_stream(instance, stream.name, found)
    for clause in (invocation.windows, invocation.state, invocation.handlers, invocation.assignments):
        if clause:
            message = f"`{composite.name}` is a composite: its invocation has only param and config clauses"
            found.error(message, clause[0].span)
    _check_schemas(node, child, instance)


def _check_schemas(node: Node, child: Instance, instance: Instance) -> None:
    found, invocation = instance.compilation.found, node.invocation
    for formal, port in zip(child.composite.inputs, invocation.inputs, strict=False):
        given = [instance.stream(s.name.text) for s in port.streams]
        schemas = [g.schema for g in given if g is not None and g.schema is not None]
        wanted = None if formal.type is None else child.stream_type(formal.type)
        for schema in schemas:
            if schema != (wanted or schemas[0]):
                message = f"`{formal.name}` of `{child.composite.name}` carries {wanted or schemas[0]}, found {schema}"
                found.error(message, port.span)
    for formal, stream in zip(child.composite.outputs, invocation.outputs, strict=False):
        inner, outer = child.stream(formal.name.text), instance.stream(stream.name.text)
        if inner is None:
            message = f"no invocation of `{child.composite.name}` makes its output `{formal.name}`"
            found.error(message, formal.name.span)
        elif outer is not None and None not in (inner.schema, outer.schema) and inner.schema != outer.schema:
            made = f"`{child.composite.name}` makes {inner.schema}"
            found.error(f"{made}, but `{stream.name}` is declared with {outer.schema}", stream.span)


def replicate(expanded: Sequence[Expanded], functions: Sequence[Function], evaluator: Evaluator) -> list[Expanded]:
    """The operators with the copies that parallel regions need, each with the placement of what it is a copy of."""
    placed = [Placed(operator=e.operator, regions=e.regions, origin=i) for i, e in enumerate(expanded)]
    if not any(item.regions for item in placed):
        return list(expanded)
    made = replicate_placed(placed, functions, evaluator)
    return [replace(expanded[item.origin], operator=item.operator) for item in made]
