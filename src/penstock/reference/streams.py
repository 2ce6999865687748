"""Streams while they run: who subscribes to them, how a tuple gets there, what is counted.

A tuple travels by plain calls: `submit` of a stream with one subscriber is that subscriber's `receive`, which counts,
calls the operator and knows whom to blame. A feedback edge puts the tuple in a queue instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.expr.environment import Tuple
from penstock.reference.feedback import Feedback
from penstock.toolkit.core.runtime import Punctuation, Submit

if TYPE_CHECKING:
    from penstock.reference.node import Node

Item = Tuple | Punctuation


class Edge:
    """A stream's subscription by an input port.

    Attributes:
        node: The subscriber.
        port: Its input port.
        is_feedback: Whether its tuples go through the queue.
        is_waited_for: Whether the subscriber waits for its end.
        receive: Takes a tuple.
    """

    def __init__(self, node: Node, port: int, *, is_feedback: bool, is_waited_for: bool = True) -> None:
        self.node = node
        self.port = port
        self.is_feedback = is_feedback
        self.is_waited_for = is_waited_for
        self.receive: Submit
        self._count: Callable[[], int]
        self._earlier = 0

    def connect(self, take: Submit) -> None:
        """Lead to the function that takes the port's tuples."""
        self.receive, self._count = _counted(self.node, self.port, take)

    @property
    def count(self) -> int:
        """The tuples that came this way."""
        return self._earlier + self._count()

    def restore(self, count: int) -> None:
        """Go on counting from there."""
        self._earlier = count

    def deliver(self, item: Item) -> None:
        """Take what waited in the queue."""
        if self.node.takes_no_more:
            self.node.drop(item)
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

    def __init__(
        self, id_: str, edges: list[Edge], feedback: Feedback, tap: Callable[[str, Item], None] | None
    ) -> None:
        self.id = id_
        self.edges = edges
        self.feedback = feedback
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

    def snapshot(self) -> tuple[bool, int, int]:
        """Whether it has ended, and what its edges do not count."""
        return self.has_ended, self.dropped, self._unheard

    def restore(self, dropped: int, unheard: int) -> None:
        """Go on counting from there."""
        self.dropped, self._unheard = dropped, unheard

    def drop(self, tuple_: Tuple) -> None:
        """Drop and count a tuple that the operator submits after the end of the stream."""
        self.dropped += 1

    def punctuate(self) -> None:
        """Send a window marker; one that closed a loop might go round for ever, so it stops there."""
        if self.tap is not None:
            self.tap(self.id, Punctuation.WINDOW)
        for edge in self.edges:
            if not edge.is_feedback:
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
        send, rank, deliver = self.feedback.send, edge.node.rank, edge.deliver
        return lambda tuple_: send(rank, deliver, tuple_)

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
