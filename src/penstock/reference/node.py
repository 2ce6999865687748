"""The running graph: an operator instance with its ports, the streams between them, and what is counted.

A tuple travels by plain calls: `submit` of a stream with one subscriber is that subscriber's `receive`, which counts,
calls the operator and knows whom to blame. A feedback edge and an import put the tuple in a queue instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.expr.environment import Environment, Tuple
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import text_form
from penstock.ir.graph import ErrorPolicy, Operator
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.reference.result import DeadLetter
from penstock.toolkit.runtime import Punctuation, Runtime, Submit

if TYPE_CHECKING:
    from penstock.reference.engine import Engine

Item = Tuple | Punctuation
Queue = deque[tuple[Callable[[Item], None], Item]]
"""What waits until the item in hand has been processed, and who is to take it."""


class Edge:
    """A stream's subscription by an input port.

    Attributes:
        node: The subscriber.
        port: Its input port.
        is_feedback: Whether its tuples go through the queue.
        receive: Takes a tuple.
        dropped: The tuples that came after the subscriber had ended.
    """

    def __init__(self, node: Node, port: int, *, is_feedback: bool) -> None:
        self.node = node
        self.port = port
        self.is_feedback = is_feedback
        self.dropped = 0
        self.receive: Submit
        self._count: Callable[[], int]

    def connect(self, take: Submit) -> None:
        """Lead to the function that takes the port's tuples."""
        self.receive, self._count = _counted(self.node, self.port, take)

    @property
    def count(self) -> int:
        """The tuples that came this way."""
        return self._count()

    def deliver(self, item: Item) -> None:
        """Take what waited in the queue."""
        if self.node.has_ended:
            self.dropped += isinstance(item, tuple)
        elif isinstance(item, Punctuation):
            self.punctuate()
        else:
            self.receive(item)

    def punctuate(self) -> None:
        """Take a window marker."""
        node = self.node
        try:
            node.runtime.on_window_punctuation(self.port)
        except Exception as error:
            node.failed_alone(error)


def _counted(node: Node, port: int, take: Submit) -> tuple[Submit, Callable[[], int]]:
    count = 0
    failed = node.failed

    def receive(tuple_: Tuple) -> None:
        nonlocal count
        count += 1
        try:
            take(tuple_)
        except Exception as error:
            failed(error, port, tuple_)

    return receive, lambda: count


class StreamState:
    """A stream while it runs.

    Attributes:
        id: As the caller knows it.
        edges: Its subscribers, in order of declaration.
        has_ended: Whether its final punctuation has gone by.
        dropped: The tuples that were submitted after that.
        submit: Sends a tuple to all of them.
    """

    def __init__(self, id_: str, edges: list[Edge], queue: Queue, tap: Callable[[str, Item], None] | None) -> None:
        self.id = id_
        self.edges = edges
        self.queue = queue
        self.tap = tap
        self.has_ended = False
        self.dropped = 0
        self._unheard = 0
        self.submit = self._tapped(self._fan_out())

    @property
    def count(self) -> int:
        """The tuples that the stream has carried."""
        direct = next((e.count for e in self.edges if not e.is_feedback), None)
        return self._unheard if direct is None else direct

    def drop(self, tuple_: Tuple) -> None:
        """What the operator submits after the end of the stream goes nowhere."""
        self.dropped += 1

    def punctuate(self) -> None:
        """Send a window marker."""
        if self.tap is not None:
            self.tap(self.id, Punctuation.WINDOW)
        for edge in self.edges:
            if edge.is_feedback:
                self.queue.append((edge.deliver, Punctuation.WINDOW))
            else:
                edge.punctuate()

    def _fan_out(self) -> Submit:
        calls = [self._enqueue(edge) if edge.is_feedback else edge.receive for edge in self.edges]
        if all(edge.is_feedback for edge in self.edges):
            calls.append(self._count_unheard)
        if len(calls) == 1:
            return calls[0]

        def submit(tuple_: Tuple) -> None:
            for call in calls:
                call(tuple_)

        return submit

    def _enqueue(self, edge: Edge) -> Submit:
        append, deliver = self.queue.append, edge.deliver
        return lambda tuple_: append((deliver, tuple_))

    def _count_unheard(self, tuple_: Tuple) -> None:
        self._unheard += 1

    def _tapped(self, submit: Submit) -> Submit:
        tap, id_ = self.tap, self.id
        if tap is None:
            return submit

        def tapped(tuple_: Tuple) -> None:
            tap(id_, tuple_)
            submit(tuple_)

        return tapped


class Node:
    """An operator instance in the running graph; it is also the instance's context.

    Attributes:
        id: As the caller knows it.
        operator: What it is an instance of.
        application: The name of its application.
        engine: Runs it.
        environment: Its surroundings.
        evaluator: Compiles its expressions.
        runtime: The instance.
        edges: By input port, what it subscribes to.
        streams: By output port, what it makes.
        open_streams: By input port, how many of its streams have not ended; feedback does not count.
        has_ended: Whether it has finished.
    """

    def __init__(
        self,
        id_: str,
        operator: Operator,
        *,
        application: str,
        engine: Engine,
        environment: Environment,
        evaluator: Evaluator,
    ) -> None:
        self.id = id_
        self.application = application
        self.operator = operator
        self.engine = engine
        self.environment = environment
        self.evaluator = evaluator
        self.runtime: Runtime
        self.edges: list[list[Edge]] = [[] for _ in operator.inputs]
        self.streams: list[StreamState] = []
        self.open_streams = [len(port.streams) - len(port.feedback) for port in operator.inputs]
        self.has_ended = False

    @property
    def is_source(self) -> bool:
        """Whether it makes tuples out of nothing that the engine knows of."""
        return not self.operator.inputs and self.operator.kind != "Import"

    @property
    def dropped(self) -> int:
        """The tuples that came over a feedback edge after it had ended, or that it sent after the end of a stream."""
        late = sum(edge.dropped for edges in self.edges for edge in edges)
        return late + sum(stream.dropped for stream in self.streams)

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        """Call back when the clock reaches a time, unless the operator has ended by then."""

        def run() -> None:
            if not self.has_ended:
                self.guard(action)
                self.engine.timer_fired(self)

        self.engine.timers.add(time_ns, run)

    def reject(self, record: str, reason: str) -> None:
        """Set a malformed record aside, or fail, as the operator's error policy says."""
        if self.operator.on_error is ErrorPolicy.FAIL:
            raise OperatorFailed(self.operator, reason, record)
        self.engine.dead_letters.append(DeadLetter(operator=self.id, reason=reason, record=record))

    def export(self, item: Item) -> None:
        """Hand a tuple of an exported stream to the applications that import it; ends take care of themselves."""
        if item is not Punctuation.FINAL:
            self.engine.exchange.export(self, item)

    def failed(self, error: Exception, port: int, tuple_: Tuple) -> None:
        """Deal with an exception that a tuple caused: pass on another operator's, skip or fail for our own."""
        if isinstance(error, OperatorFailed):
            raise error
        record = text_form(self.operator.inputs[port].schema)(tuple_)
        try:
            self.reject(record, reason_of(error))
        except OperatorFailed as failure:
            raise failure from error

    def close(self, stream: StreamState) -> None:
        """One of its streams ends: what it still submits there, a Custom that ended it early, is dropped."""
        stream.has_ended = True
        self.runtime.submit[self.streams.index(stream)] = stream.drop

    def guard(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Call code of the operator that no tuple asked for; its failure always ends the run."""
        try:
            action(*arguments)
        except Exception as error:
            self.failed_alone(error)

    def failed_alone(self, error: Exception) -> NoReturn:
        """Deal with an exception that no tuple caused: the run ends."""
        if isinstance(error, OperatorFailed):
            raise error
        raise OperatorFailed(self.operator, reason_of(error)) from error
