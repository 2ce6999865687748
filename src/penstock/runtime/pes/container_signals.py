"""Submit signals of a container: section 3.1 of the SPADE paper, as it is printed there.

There is a submit signal for each output port of an operator, and for each input port of the PE. It holds the process
calls of all who subscribe. For a sampled tuple it starts a timer for the submit call as a whole and one for each
process call. Which tuples are sampled is decided where they enter the PE: on the way of a sampled tuple all signals are
on, so the times that equation 1 takes from one another are those of the same tuples.

The signals are in the place of the functions that operators call to submit, so operators know nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from penstock.expr.environment import Tuple
from penstock.ir.graph import Operator
from penstock.ir.types import Schema
from penstock.profiler.clock import cpu_ns
from penstock.profiler.entry_signals import EntrySignals
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.sampling import Sampling
from penstock.profiler.sizes import fixed_bytes
from penstock.profiler.stride import Stride
from penstock.reference.node import Node
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.operator_registry import Registry
from penstock.toolkit.core.runtime import Context, Runtime, Submit


class ContainerSignals:
    """The signals of one container.

    Args:
        sampling: How much to look at.
        pe: The PE's index.
        operators: What it holds.
        entering: The streams that enter.

    Attributes:
        is_on: Whether the tuple in hand is sampled.
    """

    def __init__(
        self, sampling: Sampling, pe: int, operators: Iterable[Operator], entering: Mapping[str, Schema]
    ) -> None:
        inside = tuple(operators)
        self._sampling, self._pe = sampling, pe
        self._stride = Stride(sampling.rate)
        self._statistics = Statistics(sampling.reservoir)
        ports = {port.stream: port.schema for o in inside for port in o.outputs} | dict(entering)
        self._varying = {stream: schema for stream, schema in ports.items() if fixed_bytes(schema) is None}
        takers = [o.id for o in inside if any(stream in entering for port in o.inputs for stream in port.streams)]
        self._takers = takers or [o.id for o in inside]
        timed = [o.id for o in inside if o.model.spontaneous]
        self._spontaneous = timed or [o.id for o in inside]
        self._tuples = EntrySignals(self._stride, 0, sampling.reservoir)
        self._position, self._next = 0, -1
        self._timers_ns = 0
        self.is_on = False

    def registry(self, registry: Registry) -> Registry:
        """The same definitions, of operators with signals."""
        return Registry([replace(d, runtime=self._signalled(d)) for d in registry.definitions()])

    def begin(self, tuples: int) -> int:
        """So many tuples will enter; returns what `end` wants to know."""
        self._tuples = EntrySignals(self._stride, tuples, self._sampling.reservoir, self._varying)
        self._position, self._next = 0, self._tuples.positions.pop()
        self._timers_ns = 0
        return cpu_ns()

    def end(self, began: int) -> None:
        """They have been processed."""
        self._statistics.merge(self._tuples.observed(cpu_ns() - began - self._timers_ns))

    def timer(self, fire: Callable[[], None]) -> None:
        """Let a timer fire: base CPU time of the operators that set any."""
        began = cpu_ns()
        fire()
        took = cpu_ns() - began
        self._timers_ns += took
        for operator in self._spontaneous:
            self._statistics.add_base(operator, took / len(self._spontaneous))

    def produced(self, operator: str, cpu_ns: int) -> None:
        """A source has run: its thread is its own, so that is base CPU time."""
        self._statistics.add_base(operator, cpu_ns)

    def converted(self, took: int) -> None:
        """Tuples became Python objects, or columns again: that is the price of operators without a generated form."""
        for operator in self._takers:
            self._statistics.add_base(operator, took / len(self._takers))

    def transfer(self, kind: str, took: int, tuples: int) -> None:
        """Note what the PE took to `receive`, or to `send`, so many tuples."""
        self._statistics.add((kind, f"PE {self._pe}", 0), took, tuples=tuples)

    def take(self) -> Statistics:
        """The statistics collected since the last call."""
        taken, self._statistics = self._statistics, Statistics(self._sampling.reservoir)
        return taken

    def enter(self, function: Submit, tuple_: Tuple) -> None:
        """A tuple comes into the PE; all signals are on while it is processed, if it is sampled."""
        self._position += 1
        if self._position - 1 != self._next:
            function(tuple_)
            return
        self._next = self._tuples.positions.pop()
        self.is_on = True
        try:
            function(tuple_)
        finally:
            self.is_on = False

    def submit(self, node: Node, port: int, function: Submit, entering: str | None = None) -> Submit:
        """The submit signal of an output port."""
        stream, key = node.streams[port], ("submit", node.id, port)
        calls = [(("process", e.node.id, e.port), e.receive) for e in stream.edges if not e.is_feedback]
        if len(calls) < len(stream.edges):
            # What waits in the queue of a loop is processed after the call, so only the call can be timed.
            calls = [(("queue", node.id, port), function)]
        carried = entering or stream.id
        watched = carried if carried in self._varying else None

        def signal(tuple_: Tuple) -> None:
            if not self.is_on:
                function(tuple_)
                return
            timers = self._tuples
            if watched is not None:
                timers.seen(watched, tuple_)
            timers.start(key)
            for each, call in calls:
                timers.start(each)
                call(tuple_)
                timers.stop()
            timers.stop()

        return signal

    def connect(self, node: Node, entering: str | None = None) -> None:
        """Put signals in the place of the functions by which an operator submits; its streams lead somewhere by now.

        Args:
            node: The operator.
            entering: The stream that enters the PE here, if the node stands for its producer.
        """
        submit = node.runtime.submit
        signals = [self.submit(node, port, function, entering) for port, function in enumerate(submit)]
        # Runtimes hold on to the list, so it is changed, not replaced.
        submit[:] = signals if entering is None else [partial(self.enter, signal) for signal in signals]

    def _signalled(self, definition: OperatorDefinition) -> Callable[[Operator, Context], Runtime]:
        def make(operator: Operator, context: Context) -> Runtime:
            runtime = definition.runtime(operator, context)
            assert isinstance(context, Node)
            runtime.receiver = self._receivers(context, runtime.receiver)  # type: ignore[method-assign, assignment]  # one's own
            return runtime

        return make

    def _receivers(self, node: Node, receiver: Callable[[int], Submit]) -> Callable[[int], Submit]:
        """Receivers are asked for when the outputs are connected, and may be compiled with them."""
        waiting = [node]

        def connected(port: int) -> Submit:
            if waiting:
                self.connect(waiting.pop())
            return receiver(port)

        return connected
