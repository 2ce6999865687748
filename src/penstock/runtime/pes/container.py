"""A PE at work: section 2 of the SPADE paper.

The container pops items from the PE's inputs, in order, and sends them to the operators inside; a stream between two of
them is a call, so execution is depth first. What leaves the PE is collected with its place in the sequential order.
The operators run in the engine of the reference interpreter, on the part of the graph that the PE holds. Where a stream
enters, a `Feed` stands for its producer; where it leaves, an `Exit` stands for its subscribers, in their place among
the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from penstock.codegen.kernels.key_tables import KeyTable
from penstock.codegen.plan.physical import Edge, PhysicalPlan
from penstock.codegen.rows.timer_places import AFTER_TIMERS
from penstock.codegen.transport.batches import FINAL, LAST_PULSE, PULSE, PULSE_NUMBER, TUPLE, WINDOW, Item
from penstock.expr.environment import Environment, Tuple
from penstock.ir.graph import Application, InputPort, Operator, OutputPort
from penstock.ir.models import UNKNOWN_MODEL
from penstock.profiler.clock import cpu_ns
from penstock.reference.engine import Engine, Limits
from penstock.reference.exchange import Exchange
from penstock.reference.node import Node
from penstock.reference.wiring import wire
from penstock.runtime.pes.container_signals import ContainerSignals
from penstock.runtime.pes.held import held_of
from penstock.runtime.pes.held_keys import completed
from penstock.runtime.pes.placed_timers import PlacedFeedback, PlacedTimers
from penstock.runtime.pes.prints import Prints
from penstock.runtime.pes.reports import Counts, Report, count_late, counts_of
from penstock.toolkit.core.block_runtime import BlockRuntime
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Context, Punctuation, Runtime, Submit


class Container:
    """One instance of a PE.

    Attributes:
        leaving: What has left since it was last taken, by edge.
        prints: What operators have printed since the last report.
        signals: Its submit signals, if it has any.
        held: What lies in tables between batches, by the name of its table.
    """

    def __init__(self, program: Program, plan: PhysicalPlan, pe: int, environment: Environment) -> None:
        self.plan = plan
        self.pe = pe
        self.leaving: dict[int, list[Item]] = {e.index: [] for e in plan.out_of(pe)}
        self._timers = PlacedTimers(has_loop=_has_loop(plan, pe))
        self.prints = Prints(self._take_place)
        environment = replace(environment, stdout=self.prints)
        self._time_ns = 0
        self._has_clock = _has_clock(plan)
        self._pulse = PULSE_NUMBER
        self._reported: tuple[Counts, Counts] = ({}, {})
        self._expired: Counter[str] = Counter()
        registry = program.registry.extended(self._ends())
        self.signals = _signals(plan, pe)
        if self.signals is not None:
            registry = self.signals.registry(registry)
        part = replace(program, application=_part(plan, pe), registry=registry)
        self.engine = Engine(environment, Limits(), self._timers, PlacedFeedback(self._timers))
        self.nodes = wire(part, "", self.engine, environment, lambda stream: None, plan.application.rank)
        self.engine.exchange = Exchange(self.nodes, self.engine.feedback, self.engine.end_node)
        self.node: dict[str, Node] = {n.id: n for n in self.nodes}
        self.held = held_of(self.nodes)
        self._feeds = {e.index: self.node[_feed_id(e)] for e in plan.into(pe)}
        self._began = 0
        if self.signals is not None:
            for edge in plan.into(pe):
                self.signals.connect(self._feeds[edge.index], edge.stream)

    def take(self, arriving: Iterable[tuple[int, Item]]) -> None:
        """Process a batch: items with the edge they came by, sorted by their place."""
        if self.held:
            arriving = list(arriving)
            self._prepare(arriving)
        if self.signals is None:
            self._take(arriving)
            return
        items = list(arriving)
        began = self.signals.begin(sum(item.kind == TUPLE for _, item in items))
        self._take(items)
        self.signals.end(began)

    def _take(self, arriving: Iterable[tuple[int, Item]]) -> None:
        for edge, item in arriving:
            self.at(item.time_ns, item.number, item.path)
            if item.kind != PULSE:
                self._feed(self._feeds[edge], item)
            self._pulse = max(self._pulse, item.number)
        is_over = self._pulse == LAST_PULSE or not self._has_clock
        if is_over and all(node.has_ended for node in self._feeds.values()):
            self._timers.stand_at(self._time_ns, AFTER_TIMERS, b"")
            self.engine.let_waiting_end()

    def _prepare(self, arriving: Sequence[tuple[int, Item]]) -> None:
        """Load the instances that a batch needs; behind the end of a stream time may go on."""
        is_open = not any(item.kind == FINAL or item.number == LAST_PULSE for _, item in arriving)
        until_ns = max((item.time_ns for _, item in arriving), default=0)
        for name, held in self.held.items():
            keys: list[Hashable] = []
            for edge in self.plan.into(self.pe):
                came = [item.tuple_ for number, item in arriving if number == edge.index and item.tuple_ is not None]
                for key_of in (held.key_of(port) for id_, port in edge.subscribers if id_ == name.rpartition(" ")[0]):
                    keys += map(key_of, came)
            held.prepare(keys, max(until_ns, self._time_ns) if is_open else None)

    def at(self, time_ns: int, number: int, path: bytes = b"") -> None:
        """Let time pass, then stand at a place of the sequential order: what leaves from now on comes from there."""
        while self._timers.is_due_before(time_ns, number, path):
            if self.signals is None or self._timers.is_round_next:
                self.engine.fire_next()
            else:
                self.signals.timer(self.engine.fire_next)
        self._began = self._began or cpu_ns()
        self.engine.clock.advance_to(time_ns)
        self._time_ns = max(self._time_ns, time_ns)
        self._timers.stand_at(time_ns, number, path)

    def snapshot(self) -> dict[str, Any]:
        """The state of the engine and of all operators, as plain data; no edge of the plan is named in it."""
        inside = self.plan.pes[self.pe].operators
        streams = {e.stream: self._feeds[e.index].has_ended for e in self.plan.into(self.pe)}
        streams |= {stream.id: stream.has_ended for id_ in inside for stream in self.node[id_].streams}
        return {
            "engine": self.engine.snapshot(),
            "nodes": {id_: self.node[id_].snapshot() for id_ in inside},
            "ended": sorted(id_ for id_, has_ended in streams.items() if has_ended),
        }

    @property
    def tables(self) -> dict[str, KeyTable]:
        """The tables with what is held, by name."""
        return {name: held.table for name, held in self.held.items()}

    def outline(self) -> dict[str, Any]:
        """The state without the rows of tables, as plain data."""
        outlines = {name: held.outline() for name, held in self.held.items()}
        state = self.snapshot()
        for held in self.held.values():
            held.end_outline()
        return {**state, "held": outlines} if outlines else state

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where a container that remembered this has stopped.

        Args:
            state: What it remembered, or an outline of it, with its tables or for those that there are.
        """
        outlines: dict[str, Any] = state.get("held", {})
        taken = {name: own for name, own in outlines.items() if name in self.held and self.held[name].takes(own)}
        state = completed(state, outlines.keys() - taken.keys())
        self.engine.restore(state["engine"])
        self._time_ns = self.engine.clock.now_ns
        for id_, remembered in state["nodes"].items():
            self.node[id_].restore(remembered)
        for name, own in taken.items():
            self.held[name].restore(own, state.get("tables", {}).get(name))
        self._restore_ends(frozenset(state["ended"]))
        self._reported = self._counts()

    def _restore_ends(self, ended: frozenset[str]) -> None:
        """Let the ends of streams that have come in or gone out be known."""
        for edge in self.plan.into(self.pe):
            if edge.stream in ended:
                self._feeds[edge.index].restore_end()
        for edge in self.plan.out_of(self.pe):
            if edge.stream in ended:
                self.node[_exit_id(edge)].restore_end()

    def close(self) -> None:
        """Let go of what operators have open."""
        for node in self.nodes:
            node.runtime.close()

    def rewind(self) -> None:
        """Stand where a fresh container does: at the beginning of time, with nothing drawn and nothing counted."""
        self.engine.rewind()
        self._time_ns = 0
        self._timers.stand_at(0, AFTER_TIMERS, b"")

    def leave(self, edge: int, kind: int, tuple_: Tuple | None = None) -> None:
        """Collect an item that leaves the PE."""
        self.leaving[edge].append(Item(*self._take_place(), kind, tuple_))

    def _take_place(self) -> tuple[int, int, bytes]:
        """The place of the next thing that leaves the PE."""
        timers = self._timers
        time_ns, number, path = timers.place
        timers.left += 1
        return time_ns, number, path + (timers.left - 1).to_bytes(4)

    def flush_blocks(self) -> None:
        """Let operators that take blocks take what has come, where they share a container with others."""
        for node in self.nodes:
            if isinstance(node.runtime, BlockRuntime):
                node.runtime.flush()

    def pulse(self) -> None:
        """Mark on every edge that all items up to the present time have left."""
        for items in self.leaving.values():
            items.append(Item(self._time_ns, self._pulse, b"", PULSE))

    def report(self) -> Report:
        """The report since the last one: counts, dead letters, prints and signals."""
        received, submitted = self._counts()
        letters = tuple(self.engine.dead_letters)
        self.engine.dead_letters.clear()
        left = _difference(submitted, self._reported[1])
        since = Report(
            pe=self.pe,
            received=_difference(received, self._reported[0]),
            submitted=left,
            late=count_late(self.plan.application, left),
            expired=self._count_expired(),
            dead_letters=letters,
            prints=self.prints.take(),
            signals=() if self.signals is None else (self._collected(self.signals),),
        )
        self._reported = (received, submitted)
        return since

    def _count_expired(self) -> dict[str, int]:
        """The keys that operators have dropped since the last report, because their time to live was over."""
        for node in self.nodes:
            if not node.has_ended:
                for held in (own for name, own in self.held.items() if name.rpartition(" ")[0] == node.id):
                    held.forget_expired(self.engine.clock.now_ns)
                node.guard(node.runtime.forget_expired)
        before, self._expired = self._expired, Counter({n.id: n.runtime.expired for n in self.nodes})
        return dict(self._expired - before)

    def _collected(self, signals: ContainerSignals) -> dict[str, Any]:
        """The statistics of the signals since the last report; a source has worked from its first turn until now."""
        pe = self.plan.pes[self.pe]
        if pe.role == "source" and self._began:
            signals.produced(pe.operators[0], cpu_ns() - self._began)
        self._began = 0
        return signals.take().to_json()

    def _counts(self) -> tuple[Counts, Counts]:
        return counts_of(self.nodes, self.plan.pes[self.pe].operators)

    def _feed(self, node: Node, item: Item) -> None:
        if item.kind == TUPLE:
            assert item.tuple_ is not None
            node.runtime.submit[0](item.tuple_)
        elif item.kind == WINDOW:
            node.runtime.punctuate[0](Punctuation.WINDOW)
            self.engine.drain()
        elif item.kind == FINAL:
            self.engine.end_node(node)
            self.engine.drain()

    def _ends(self) -> tuple[OperatorDefinition, OperatorDefinition]:
        return (
            OperatorDefinition(
                name="Feed",
                namespace="pe",
                doc="Stands for the producer of a stream that enters the PE.",
                inputs=(0, 0),
                outputs=(1, 1),
                model=lambda operator: UNKNOWN_MODEL,
                runtime=Runtime,
            ),
            OperatorDefinition(
                name="Exit",
                namespace="pe",
                doc="Stands for the subscribers of a stream that leaves the PE.",
                inputs=(1, 1),
                outputs=(0, 0),
                model=lambda operator: UNKNOWN_MODEL,
                runtime=lambda operator, context: _Exit(operator, context, self),
            ),
        )


class _Exit(Runtime):
    """Hands what comes to the container."""

    def __init__(self, operator: Operator, context: Context, container: Container) -> None:
        super().__init__(operator, context)
        self.edge = int(operator.id.rpartition("#")[2])
        self.container = container

    def receiver(self, port: int) -> Submit:
        """A closure over the edge."""
        edge, leave = self.edge, self.container.leave
        return lambda tuple_: leave(edge, TUPLE, tuple_)

    def on_window_punctuation(self, port: int) -> None:
        """Window markers leave too."""
        self.container.leave(self.edge, WINDOW)

    def on_final_punctuation(self, port: int) -> None:
        """And so does the end."""
        self.container.leave(self.edge, FINAL)


def _signals(plan: PhysicalPlan, pe: int) -> ContainerSignals | None:
    inside = [plan.application.operator[id_] for id_ in plan.pes[pe].operators]
    entering = {e.stream: plan.application.streams[e.stream].schema for e in plan.into(pe)}
    return None if plan.signals is None else ContainerSignals(plan.signals, pe, inside, entering)


def _has_clock(plan: PhysicalPlan) -> bool:
    """Whether one planner tells the time of several sources, so that it knows when the last of them has ended.

    The end of what comes from one source is the end of all; and what Spark reads itself has a time of its own.
    """
    sources = [plan.application.operator[pe.operators[0]] for pe in plan.pes if pe.role == "source"]
    return len(sources) > 1 and not any(source.facts.is_read_by_engine for source in sources)


def _has_loop(plan: PhysicalPlan, pe: int) -> bool:
    inside = (plan.application.operator[id_] for id_ in plan.pes[pe].operators)
    return any(port.feedback for operator in inside for port in operator.inputs)


def _difference(now: Counts, before: Counts) -> Counts:
    return {
        id_: [a - b for a, b in zip(ports, before.get(id_, [0] * len(ports)), strict=True)]
        for id_, ports in now.items()
    }


def _feed_id(edge: Edge) -> str:
    return f"feed#{edge.index}"


def _exit_id(edge: Edge) -> str:
    return f"exit#{edge.index}"


def _part(plan: PhysicalPlan, pe: int) -> Application:
    """The part of the graph that a PE holds, with feeds and exits at its borders."""
    entering, leaving = plan.into(pe), plan.out_of(pe)
    schema = {id_: stream.schema for id_, stream in plan.application.streams.items()}
    feeds = [
        Operator(id=_feed_id(e), kind="pe::Feed", outputs=(OutputPort(stream=_feed_id(e), schema=schema[e.stream]),))
        for e in entering
    ]
    exits: dict[str, list[Operator]] = {}
    for e in leaving:
        port = InputPort(streams=(e.stream,), schema=schema[e.stream])
        exits.setdefault(e.subscribers[0][0], []).append(Operator(id=_exit_id(e), kind="pe::Exit", inputs=(port,)))
    inside = frozenset(plan.pes[pe].operators)
    operators: list[Operator] = [*feeds]
    for operator in plan.application.operators:
        if operator.id in inside:
            operators.append(_with_feeds(operator, entering))
        operators.extend(exits.get(operator.id, ()))
    return replace(plan.application, operators=tuple(operators), constraints=())


def _with_feeds(operator: Operator, entering: tuple[Edge, ...]) -> Operator:
    """The operator with its subscriptions to outside streams turned to the feeds that bring them."""
    feed = {(subscriber, e.stream): _feed_id(e) for e in entering for subscriber in e.subscribers}
    inputs = tuple(
        replace(port, streams=tuple(feed.get(((operator.id, i), s), s) for s in port.streams))
        for i, port in enumerate(operator.inputs)
    )
    return replace(operator, inputs=inputs)
