"""Makes the running graph of one application.

Instances are connected from the sinks up, because an instance may compile its receivers only when it knows where its
own tuples go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Application
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.reference.node import Node
from penstock.reference.streams import Edge, Item, StreamState
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Punctuation, Runtime

if TYPE_CHECKING:
    from penstock.reference.engine import Engine

Tap = Callable[[str, Item], None]


def wire(
    program: Program,
    prefix: str,
    engine: Engine,
    environment: Environment,
    tap: Callable[[str], Tap | None],
    ranks: Mapping[str, int] | None = None,
) -> list[Node]:
    """The nodes of a program, in order of declaration, with every stream connected.

    Args:
        program: What to run.
        prefix: Stands before every id.
        engine: Runs the nodes.
        environment: Of the run.
        tap: Tells who wants to see the items of a stream, by its prefixed id.
        ranks: From operator to its rank, if the program is part of a larger one.
    """
    application = program.application
    ranks = application.rank if ranks is None else ranks
    evaluator = Evaluator(functions=application.functions, environment=environment)
    nodes = {
        o.id: Node(
            prefix + o.id,
            o,
            application=application.name,
            rank=ranks.get(o.id, 0),
            engine=engine,
            environment=environment,
            evaluator=evaluator,
        )
        for o in application.operators
    }
    for node in nodes.values():
        node.runtime = _instance(program, node)
    subscriptions = _subscriptions(application, nodes)
    for id_ in reversed(application.rank):
        _connect(nodes[id_], prefix, subscriptions, tap)
    return list(nodes.values())


def _instance(program: Program, node: Node) -> Runtime:
    try:
        return program.registry.get(node.operator.kind).runtime(node.operator, node)
    except (EvaluationError, UserError) as error:
        raise OperatorFailed(node.operator, f"it cannot start: {reason_of(error)}") from error


def _subscriptions(application: Application, nodes: dict[str, Node]) -> dict[str, list[Edge]]:
    found: dict[str, list[Edge]] = {stream: [] for stream in application.streams}
    for node in nodes.values():
        waits_for = application.waits_for(node.operator)
        node.open_streams[:] = map(len, waits_for)
        for i, port in enumerate(node.operator.inputs):
            for stream in port.streams:
                edge = Edge(node, i, is_feedback=stream in port.feedback, is_waited_for=stream in waits_for[i])
                node.edges[i].append(edge)
                found[stream].append(edge)
    return found


def _connect(node: Node, prefix: str, subscriptions: dict[str, list[Edge]], tap: Callable[[str], Tap | None]) -> None:
    for port in node.operator.outputs:
        id_ = prefix + port.stream
        stream = StreamState(id_, subscriptions[port.stream], node.engine.feedback, tap(id_))
        node.streams.append(stream)
        # Runtimes hold on to these lists, so they are filled, never replaced.
        node.runtime.submit.append(stream.submit)
        node.runtime.punctuate.append(partial(_punctuate, node, stream))
    if node.is_source:
        node.runtime.submit[:] = [node.engine.from_source(submit) for submit in node.runtime.submit]
    for i, edges in enumerate(node.edges):
        if edges:
            take = node.runtime.receiver(i)
            for edge in edges:
                edge.connect(take)


def _punctuate(node: Node, stream: StreamState, punctuation: Punctuation) -> None:
    if stream.has_ended:
        return
    if punctuation is Punctuation.WINDOW:
        stream.punctuate()
    else:
        node.engine.end_stream(node, stream)


def depth(application: Application) -> int:
    """The number of operators on the longest path that a tuple takes by plain calls."""
    level = {o.id: 1 for o in application.operators}
    consumers: dict[str, list[str]] = {o.id: [] for o in application.operators}
    for producer, consumer, _, is_feedback in application.edges():
        if not is_feedback:
            consumers[producer].append(consumer)
    for id_ in application.rank:
        for consumer in consumers[id_]:
            level[consumer] = max(level[consumer], level[id_] + 1)
    return max(level.values(), default=0)
