"""An operator instance in the running graph: its ports, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.expr.environment import Environment, Tuple
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import text_form
from penstock.ir.graph import ErrorPolicy, Operator
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.reference.result import DeadLetter
from penstock.reference.streams import Edge, Item, StreamState
from penstock.toolkit.core.runtime import FatalUserError, Punctuation, Runtime

if TYPE_CHECKING:
    from penstock.reference.engine import Engine


class Node:
    """An operator instance in the running graph; it is also the instance's context.

    Attributes:
        id: As the caller knows it.
        operator: What it is an instance of.
        application: The name of its application.
        rank: Its place among the operators, see `Application.rank`.
        engine: Runs it.
        environment: Files, settings and the clock of the run.
        evaluator: Compiles its expressions.
        runtime: The instance.
        edges: By input port, what it subscribes to.
        streams: By output port, what it makes.
        open_streams: By input port, how many of the streams that it waits for have not ended.
        has_ended: Whether it has finished.
    """

    def __init__(
        self,
        id_: str,
        operator: Operator,
        *,
        application: str,
        rank: int,
        engine: Engine,
        environment: Environment,
        evaluator: Evaluator,
    ) -> None:
        self.id = id_
        self.application = application
        self.rank = rank
        self.operator = operator
        self.engine = engine
        self.environment = environment
        self.evaluator = evaluator
        self.runtime: Runtime
        self.edges: list[list[Edge]] = [[] for _ in operator.inputs]
        self.streams: list[StreamState] = []
        self.open_streams = [0] * len(operator.inputs)
        self.has_ended = False
        self._late = 0

    @property
    def is_source(self) -> bool:
        """Whether it makes tuples out of nothing that the engine knows of."""
        return not self.operator.inputs and not self.operator.facts.imports

    @property
    def dropped(self) -> int:
        """The tuples that came out of the queue too late, or that it sent after the end of a stream."""
        return self._late + sum(stream.dropped for stream in self.streams)

    @property
    def takes_no_more(self) -> bool:
        """Whether what waits in the queue comes too late: the operator has ended, or the user wants it to stop."""
        return self.has_ended or self.engine.is_interrupted

    def drop(self, item: Item) -> None:
        """Count what came too late."""
        self._late += isinstance(item, tuple)

    def at(self, time_ns: int, action: Callable[[], None], ticket: Any = None) -> Any:
        """Call back when the clock reaches a time, unless the operator has ended by then."""

        def run() -> None:
            if not self.has_ended:
                self.guard(action)
                self.engine.timer_fired(self)

        due_ns = max(time_ns, self.engine.clock.now_ns)
        return self.engine.timers.add(due_ns, run, rank=self.rank, ticket=ticket)

    def snapshot(self) -> dict[str, Any]:
        """The state of the node, as plain data: flags, counts, and the state of its runtime.

        To be called between two items of the sources; pickle it before the node continues.
        """
        assert not self.engine.feedback, "an item is being processed"
        return {
            "has_ended": self.has_ended,
            "is_held": self.engine.holds(self),
            "open_streams": list(self.open_streams),
            "streams": [stream.snapshot() for stream in self.streams],
            "received": [[edge.count for edge in edges] for edges in self.edges],
            "late": self._late,
            "runtime": self.runtime.snapshot(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another node stood; to be called once, when the graph is wired and the exchange is set."""
        self.open_streams[:] = state["open_streams"]
        self._late = state["late"]
        for edges, counts in zip(self.edges, state["received"], strict=True):
            for edge, count in zip(edges, counts, strict=True):
                edge.restore(count)
        self.runtime.restore(state["runtime"])
        for stream, (has_ended, dropped, unheard) in zip(self.streams, state["streams"], strict=True):
            stream.restore(dropped, unheard)
            if has_ended:
                self.close(stream)
        self.has_ended = state["has_ended"]
        if self.has_ended:
            self.engine.exchange.restore_end(self)
        if state["is_held"]:
            self.engine.hold(self)

    def restore_end(self) -> None:
        """Have ended, with nothing told to anybody."""
        self.open_streams[:] = [0] * len(self.open_streams)
        for stream in self.streams:
            self.close(stream)
        self.has_ended = True

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
        if isinstance(error, OperatorFailed | FatalUserError):
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
        if isinstance(error, OperatorFailed | FatalUserError):
            raise error
        raise OperatorFailed(self.operator, reason_of(error)) from error
