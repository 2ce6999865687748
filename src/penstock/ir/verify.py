"""Checks what only the whole graph can know.

A front end has checked each invocation already; a graph that fails here after a pass is a bug of that pass, a graph
read from a file may also be the user's mistake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from penstock.base.diagnostics import Diagnostics, did_you_mean
from penstock.ir.graph import Application, InputPort, Operator


def verify(application: Application) -> Application:
    """Return the application, or raise every violation at once.

    Raises:
        UserError: Duplicate or unknown ids, schemas that differ along a stream, output clauses that do not fit their
            schema, a loop without a feedback edge, constraints on operators that do not exist.

    Example:
        >>> from penstock.ir.graph import InputPort, Operator
        >>> from penstock.ir.types import parse_schema
        >>> port = InputPort(streams=("A",), schema=parse_schema("int32 x"))
        >>> verify(Application(name="Main", operators=(Operator(id="B", kind="FileSink", inputs=(port,)),)))
        Traceback (most recent call last):
        penstock.UserError: error: `B` subscribes to `A`, but no operator makes that stream
    """
    found = Diagnostics()
    for kind, ids in (("operator", [o.id for o in application.operators]), ("stream", list(_stream_ids(application)))):
        for id_ in _duplicates(ids):
            found.error(f"two {kind}s have the id `{id_}`")
    for operator in application.operators:
        for port in operator.inputs:
            _verify_input(application, operator, port, found)
        _verify_outputs(operator, found)
    _verify_constraints(application, found)
    if not found:
        _verify_acyclic(application, found)
    found.raise_if_any()
    return application


def _stream_ids(application: Application) -> Iterator[str]:
    return (port.stream for o in application.operators for port in o.outputs)


def _duplicates(ids: Iterable[str]) -> list[str]:
    return [id_ for id_, count in Counter(ids).items() if count > 1]


def _verify_input(application: Application, operator: Operator, port: InputPort, found: Diagnostics) -> None:
    for stream in port.streams:
        if stream not in application.streams:
            message = f"`{operator.id}` subscribes to `{stream}`, but no operator makes that stream"
            found.error(message, operator.span, hint=did_you_mean(stream, application.streams))
        elif application.streams[stream].schema != port.schema:
            made = application.streams[stream].schema
            found.error(f"`{operator.id}` expects {port.schema} from `{stream}`, which carries {made}", operator.span)
    for stream in port.feedback.difference(port.streams):
        found.error(f"`{operator.id}` marks `{stream}` as feedback but does not subscribe to it", operator.span)


def _verify_outputs(operator: Operator, found: Diagnostics) -> None:
    for port in operator.outputs:
        assigned = tuple(a.attribute for a in port.assignments)
        if assigned and assigned != port.schema.names:
            found.error(f"`{operator.id}` assigns {assigned}, but its schema is {port.schema}", operator.span)
        for assignment in port.assignments:
            wanted = port.schema.position.get(assignment.attribute)
            if wanted is not None and port.schema.attributes[wanted].type != assignment.value.type:
                what = f"`{operator.id}` assigns {assignment.value.type} to `{assignment.attribute}`"
                found.error(f"{what}, which is {port.schema.attributes[wanted].type}", operator.span)


def _verify_constraints(application: Application, found: Diagnostics) -> None:
    for constraint in application.constraints:
        named = (*constraint.operators, *(id_ for replica in constraint.replicas for id_ in replica))
        for id_ in named:
            if id_ not in application.operator:
                found.error(f"a {constraint.kind.value} constraint names `{id_}`, which is no operator")


def _verify_acyclic(application: Application, found: Diagnostics) -> None:
    if len(application.rank) < len(application.operators):
        loop = ", ".join(f"`{o.id}`" for o in application.operators if o.id not in application.rank)
        found.error(f"a loop without a feedback edge goes through {loop}")
