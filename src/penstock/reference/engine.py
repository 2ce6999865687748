"""Runs the graph: whose turn it is, what the clock says, what has ended."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment, Tuple
from penstock.reference.exchange import Exchange
from penstock.reference.failure import OperatorFailed, Stop, reason_of
from penstock.reference.feedback import Feedback
from penstock.reference.node import Node
from penstock.reference.result import DeadLetter, StopReason
from penstock.reference.streams import Edge, StreamState
from penstock.reference.virtual_time import Timers, Turns
from penstock.toolkit.core.runtime import Punctuation, Submit, Wait

Produced = Iterator[Tuple | Wait | Punctuation | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a run stops although its sources have more.

    Attributes:
        time_ns: The last virtual time at which anything happens.
        tuples: The most tuples that the sources submit.
    """

    time_ns: int | None = None
    tuples: int | None = None


class Engine:
    """One run.

    Attributes:
        environment: Of the run; its clock is the run's.
        limits: When to stop.
        timers: What operators wait for.
        feedback: What waits until the item in hand has been processed.
        dead_letters: What was set aside.
        stopped: Why the run stops, once it does.
        exchange: Who imports what from whom.
    """

    def __init__(
        self,
        environment: Environment,
        limits: Limits,
        timers: Timers | None = None,
        feedback: Feedback | None = None,
    ) -> None:
        self.environment = environment
        self.clock = environment.clock
        self.limits = limits
        self.timers = Timers() if timers is None else timers
        self.feedback = Feedback() if feedback is None else feedback
        self.dead_letters: list[DeadLetter] = []
        self.stopped: StopReason | None = None
        self.exchange: Exchange
        self._waiting: dict[str, Node] = {}
        self._source_tuples = 0
        self._random_at_first = environment.random.getstate()
        self._began_ns = environment.clock.now_ns
        self._is_over = False

    @property
    def source_tuples(self) -> int:
        """How many tuples the sources have sent so far; safe to read from another thread."""
        return self._source_tuples

    @property
    def is_interrupted(self) -> bool:
        """Whether loops are not to go round any more."""
        return self.stopped is StopReason.INTERRUPTED

    def holds(self, node: Node) -> bool:
        """Whether a node would have ended, but waits for a timer."""
        return node.id in self._waiting

    def hold(self, node: Node) -> None:
        """End a node as soon as it no longer waits for a timer."""
        self._waiting[node.id] = node

    def snapshot(self) -> dict[str, Any]:
        """The state of the engine, as plain data, without that of its nodes.

        Raises:
            UserError: A file that an operator's code has opened is still open; a snapshot cannot contain it.
        """
        if self.environment.open_files:
            message = f"{len(self.environment.open_files)} files that `fopen` has opened are still open"
            raise UserError(message, hint="close them in the `onTuple` clause that opens them")
        state = self.environment.random.getstate()
        return {
            "time_ns": self.clock.now_ns,
            "metrics": dict(self.environment.metrics),
            "random": None if state == self._random_at_first else state,
            "source_tuples": self._source_tuples,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another engine stood, even back in time; the nodes recall by themselves."""
        self.clock.now_ns = state["time_ns"]
        self.environment.metrics.clear()
        self.environment.metrics.update(state["metrics"])
        if state["random"] is not None:
            self.environment.random.setstate(state["random"])
        self._source_tuples = state["source_tuples"]

    def rewind(self) -> None:
        """Go back to where a fresh engine stands; the nodes stay as they are."""
        self.clock.now_ns = self._began_ns
        self.environment.metrics.clear()
        self.environment.random.setstate(self._random_at_first)

    def stop(self, reason: StopReason) -> None:
        """Ask the run to stop after the item in hand."""
        if self.stopped is None:
            self.stopped = reason
            self.environment.is_shutdown = True

    def from_source(self, submit: Submit) -> Submit:
        """The submit function of a source: one item, processed completely before the source goes on."""

        def submit_item(tuple_: Tuple) -> None:
            if self.stopped is not None and not self._is_over:
                raise Stop
            self._source_tuples += 1
            submit(tuple_)
            if self.feedback:
                self.drain()
            if self._source_tuples == self.limits.tuples:
                self.stop(StopReason.TUPLES)

        return submit_item

    def drain(self) -> None:
        """Deliver what waits, and what comes to wait meanwhile."""
        self.feedback.drain()

    def run(self, nodes: list[Node]) -> StopReason:
        """Run until the sources are done or a limit is reached, then end every stream."""
        self.environment.is_shutdown = False
        self.exchange.start()
        self.drain()
        sources = [(n, n.runtime.produce()) for n in nodes if n.is_source]
        try:
            self._run_sources(Turns(sources, self.clock.now_ns))
        except Stop:
            pass
        finally:
            for _, items in sources:
                if isinstance(items, Generator):
                    items.close()
        self._is_over = True
        for node, _ in sources:
            self.end_node(node)
        self.let_waiting_end()
        self._end_the_rest(nodes)
        return self.stopped or StopReason.DONE

    def _run_sources(self, turns: Turns[tuple[Node, Produced]]) -> None:
        if self.limits.tuples == 0:
            self.stop(StopReason.TUPLES)
        while turns and self.stopped is None:
            time_ns, (node, items) = turns.next
            if not self.advance_to(time_ns):
                return
            try:
                item = next(items)
            except StopIteration:
                turns.leave()
                self.end_node(node)
            except OperatorFailed:
                raise
            except Exception as error:
                raise OperatorFailed(node.operator, reason_of(error)) from error
            else:
                if item is None and node.runtime.is_live:
                    turns.step_back(self.timers.next_ns)
                else:
                    turns.take(item.nanoseconds if isinstance(item, Wait) else 0)
                self._take(node, item)

    def let_waiting_end(self) -> None:
        """After the sources have ended, let time pass until nobody holds tuples back."""
        while self.stopped is None and self._waiting:
            due = self.timers.next_ns
            if due is None or not self.advance_to(due):
                return

    def _end_the_rest(self, nodes: list[Node]) -> None:
        """End what a limit has left waiting, then applications that import from each other in a circle."""
        while self._waiting:
            self.end_node(next(iter(self._waiting.values())), at_once=True)
            self.drain()
        for node in sorted(nodes, key=lambda n: (not n.operator.facts.imports, n.rank)):
            self.end_node(node, at_once=True)
            self.drain()

    def _take(self, node: Node, item: Tuple | Wait | Punctuation | None) -> None:
        if isinstance(item, tuple):
            node.runtime.submit[0](item)
        elif isinstance(item, Punctuation):
            node.runtime.punctuate[0](item)
        # Code of a source submits its markers by itself, and what they send round waits like all else.
        self.drain()

    def advance_to(self, time_ns: int) -> bool:
        """Let the timers due by then fire; tells whether the time lies within the limit."""
        limit = self.limits.time_ns
        until = time_ns if limit is None else min(time_ns, limit)
        while (due := self.timers.next_ns) is not None and due <= until:
            self.fire_next()
            if self.stopped is not None:
                return False
        self.clock.advance_to(until)
        if until < time_ns:
            self.stop(StopReason.TIME)
        return until == time_ns

    def fire_next(self) -> None:
        """Let time pass to the next timer, and let that one fire."""
        due = self.timers.next_ns
        assert due is not None
        action = self.timers.pop_due(due)
        assert action is not None
        self.clock.advance_to(due)
        action()
        self.drain()
        self.timers.fired()

    def timer_fired(self, node: Node) -> None:
        """An operator may have let go of the last tuple that it held back."""
        if node.id in self._waiting:
            self.end_node(node)

    def end_node(self, node: Node, *, at_once: bool = False) -> None:
        """All that an operator waits for has ended: let it finish, then end its outputs.

        One that holds tuples back for a later time ends then, unless it must end at once.
        """
        if node.has_ended:
            return
        if not at_once and node.runtime.is_waiting():
            self.hold(node)
            return
        self._waiting.pop(node.id, None)
        node.guard(node.runtime.forget_expired)
        node.guard(node.runtime.finish)
        node.has_ended = True
        for stream in node.streams:
            self.end_stream(node, stream)
        self.exchange.export(node, Punctuation.FINAL)
        if node.is_source:
            self.drain()

    def end_stream(self, node: Node, stream: StreamState) -> None:
        """Send the final punctuation of one of a node's streams, and of all that ends with it, depth first."""
        if stream.has_ended:
            return
        node.close(stream)
        if stream.tap is not None:
            stream.tap(stream.id, Punctuation.FINAL)
        for edge in stream.edges:
            if not edge.is_waited_for:
                continue
            if edge.is_feedback:
                # Behind the tuples that wait.
                self.feedback.send(edge.node.rank, self._end_of_edge, edge)
            else:
                self._end_of_edge(edge)

    def _end_of_edge(self, edge: Edge) -> None:
        node, port = edge.node, edge.port
        node.open_streams[port] -= 1
        if node.open_streams[port] == 0:
            node.guard(node.runtime.on_final_punctuation, port)
        if not any(node.open_streams):
            self.end_node(node)
