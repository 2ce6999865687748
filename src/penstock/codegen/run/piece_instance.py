"""An instance of a generated piece of a PE, or of a whole one: its state, batch after batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.base.diagnostics import UserError
from penstock.codegen.kernels.key_tables import AgingState, KeyTable, Outline, Table, TabledState
from penstock.codegen.kernels.time_windows import Firings, Moments, rebased
from penstock.codegen.plan.part import Part, Target
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import Array
from penstock.codegen.rows.timer_places import AFTER_TIMERS
from penstock.codegen.run.arriving import Arriving, arriving
from penstock.codegen.run.leaving import Leaving
from penstock.codegen.run.loaded_module import LoadedModule
from penstock.codegen.transport.placed_frames import PlacedFrame, PlacedFrames
from penstock.expr.vector.frame import Column
from penstock.ir.models import State
from penstock.profiler.clock import cpu_ns
from penstock.profiler.signals import Signals

STATE_VERSION = 4

Counts = dict[str, list[int]]


class Batch:
    """A batch, as the generated function sees it.

    Attributes:
        frames: The frames of the input, by edge.
        states: The states of operators, by id.
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
        signals: The collector that the submit signals of the function call, if it has any.
    """

    def __init__(self, arriving: Arriving, leaving: Leaving, states: dict[str, Any], since_ns: int) -> None:
        self.frames: dict[int, Frame] = arriving.frames
        self.leave = leaving.add
        self._arriving = arriving
        self._leaving = leaving
        self._is_open = True
        self._end: int | None = None
        self._time_ns = np.maximum(arriving.time_ns, since_ns)
        self._since_ns = since_ns
        self.states = states
        self.signals: Signals | None = None
        self.received: Counts = {}
        self.submitted: Counts = {}

    def times(self, frame: Frame) -> Array:
        """The application's time at each row, in ns."""
        return self._time_ns[frame.places.item]

    def ends(self, streams: int) -> None:
        """Learn how many streams of the PE have not ended before this batch."""
        self._is_open = streams > 0
        finals = self._arriving.finals
        self._end = finals[-1][0] if streams and len(finals) == streams else None

    def fire_by_time(self, id_: str, frame: Frame, keys: list[Column], columns: list[Column]) -> Frame:
        """The output of time windows; it descends from no item that came, so nothing else leaves the PE."""
        firings: Firings = self.states[id_].fire(frame, keys, columns, self._moments(frame))
        came = self._arriving
        self._leaving.stand_on(*rebased(firings, came.time_ns, came.number, came.paths))
        return firings.frame

    def _moments(self, frame: Frame) -> Moments:
        came, item = self._arriving, frame.places.item
        until, before = (max(came.latest_ns, self._since_ns) if self._is_open else 0), None
        if self._end is not None:
            until = int(self._time_ns[self._end])
            before = came.paths.at(self._end) if came.number[self._end] == AFTER_TIMERS else None
        return Moments(self._time_ns[item], came.number[item], came.paths.take(item), until, before)


class PieceInstance:
    """The state of a generated piece on one channel, and the module that works on it.

    Attributes:
        received: For each operator, the tuples that came in by each input port with the last batch.
        submitted: Likewise, those that went out.
        expired: For each operator that dropped some, the keys whose time to live was over.
        signals: What its submit signals have collected, if it has any.
    """

    def __init__(self, module: LoadedModule) -> None:
        part = module.code.part
        self._module = module
        self._schemas = part.schemas(part.entering)
        self._leaving = [e.index for e in part.leaving]
        self._merged = frozenset(e.index for e in part.entering if e.senders > 1)
        self._endings = _endings(part)
        self._ended: set[str] = set()
        # Before the states are made: their first values may tell the time, or be drawn.
        module.restore_environment(None)
        self._states = module.fresh_states()
        self._time_ns = 0
        self.received: Counts = {}
        self.submitted: Counts = {}
        self.expired: dict[str, int] = {}
        self.signals = _signals(module)

    def take(self, frames: PlacedFrames, receive_ns: int = 0) -> dict[int, PlacedFrame]:
        """Process a batch; returns what leaves, by edge.

        Args:
            frames: By edge.
            receive_ns: What it took to read them, where they came from outside of the PE.

        Raises:
            OperatorError: An operator failed; the state is then that of no batch, so the instance is of no more use.
        """
        began = cpu_ns()
        came = self.arrived(frames)
        return self.take_arrived(came, receive_ns + cpu_ns() - began)

    def arrived(self, frames: PlacedFrames) -> Arriving:
        """A batch, in order."""
        return arriving(frames, self._schemas, self._merged)

    def take_arrived(self, came: Arriving, receive_ns: int = 0) -> dict[int, PlacedFrame]:
        """Process a batch that is in order."""
        left = Leaving(came, self._leaving)
        batch = Batch(came, left, self._states, self._time_ns)
        batch.ends(sum(self._endings.open.values()))
        lives_on = [id_ for id_ in self._aging if not self._endings.has_ended(id_)]
        until_ns: dict[str, int] = {}
        with np.errstate(all="ignore"):
            self._process(batch, receive_ns)
        streams = {e.index: e.stream for e in self._module.code.part.entering}
        for item, edge in came.finals:
            self._ended.add(streams[edge])
            for rank, subscriber in enumerate(self._endings.end(f"feed {edge}")):
                left.add_final(exit_edge(subscriber), item, rank)
            at_ns = max(int(came.time_ns[item]), self._time_ns)
            until_ns = {id_: at_ns for id_ in lives_on if self._endings.has_ended(id_)} | until_ns
        self._time_ns = max(self._time_ns, came.latest_ns)
        dropped = {id_: self._aging[id_].forget_expired(until_ns.get(id_, self._time_ns)) for id_ in lives_on}
        self.expired = {id_: count for id_, count in dropped.items() if count}
        self.received, self.submitted = batch.received, batch.submitted
        began = cpu_ns()
        frames = left.frames(self._time_ns)
        self.sent(cpu_ns() - began, sum(len(frame.tuples) for frame in frames.values()))
        return frames

    @property
    def _aging(self) -> dict[str, AgingState]:
        return {id_: state for id_, state in self._states.items() if isinstance(state, AgingState)}

    def sent(self, took_ns: int, tuples: int = 0) -> None:
        """Note what it took to give tuples their places, or to encode them for other PEs."""
        if self.signals is not None:
            self.signals.transfer("send", took_ns, tuples)

    def _process(self, batch: Batch, receive_ns: int) -> None:
        batch.signals = self.signals
        if self.signals is None:
            self._module.process(batch)
            return
        self.signals.transfer("receive", receive_ns, sum(map(len, batch.frames.values())))
        for edge in self._module.code.part.entering:
            self.signals.size(edge.stream, batch.frames[edge.index])
        self.signals.begin()
        self._module.process(batch)
        self.signals.end(batch.received, batch.submitted)

    def keep_classes(self) -> None:
        """Let classes of the user's without state, which have done their work, serve another batch."""
        operators = self._module.code.part.plan.application.operator
        for id_ in self._module.code.classes:
            if operators[id_].model.state is State.STATELESS:
                self._module.kept[id_] = self._states[id_]

    def snapshot(self) -> dict[str, Any]:
        """The state, as plain data."""
        return self._snapshot({id_: state.snapshot() for id_, state in self._states.items()})

    def outline(self) -> dict[str, Any]:
        """The state without the rows of tables, as plain data."""
        states = self._states.items()
        return self._snapshot({id_: s.outline() if isinstance(s, TabledState) else s.snapshot() for id_, s in states})

    @property
    def tables(self) -> dict[str, KeyTable]:
        """The tables of operators, by name."""
        tabled = {id_: state for id_, state in self._states.items() if isinstance(state, TabledState)}
        return {table_name(id_, i): table for id_, state in tabled.items() for i, table in enumerate(state.tables)}

    def _snapshot(self, operators: dict[str, Any]) -> dict[str, Any]:
        return {
            "version": STATE_VERSION,
            "time_ns": self._time_ns,
            "ended": sorted(self._ended),
            "environment": self._module.snapshot_environment(),
            "operators": operators,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where an instance that remembered this has stopped; tables of which it is an outline stay as they are.

        Raises:
            UserError: The state was written by another version, or not by generated code.
        """
        check_version(state, STATE_VERSION)
        self._time_ns = state["time_ns"]
        self._ended = set(state["ended"])
        for edge in self._module.code.part.entering:
            if edge.stream in self._ended:
                self._endings.end(f"feed {edge.index}")
        self._module.restore_environment(state["environment"], self._time_ns)
        for aging in self._aging.values():
            aging.stand_at(self._time_ns)
        for id_, remembered in state["operators"].items():
            if isinstance(remembered, Outline):
                self._states[id_].restore_whole(remembered.whole)
            else:
                self._states[id_].restore(remembered)


def fill_outline(outline: Mapping[str, Any], tables: Mapping[str, Table]) -> dict[str, Any]:
    """The state of an instance whose outline and tables these are, as plain data."""
    operators = {
        id_: {"tables": [tables[table_name(id_, i)] for i in range(own.tables)], "whole": own.whole}
        if isinstance(own, Outline)
        else own
        for id_, own in outline["operators"].items()
    }
    return {**outline, "operators": operators}


def table_name(operator: str, number: int) -> str:
    """The name of a table of an operator."""
    return f"{operator} {number}"


def _signals(module: LoadedModule) -> Signals | None:
    made = module.code
    sampling = made.part.plan.signals
    if sampling is None:
        return None
    made_here = {port.stream: port.schema for o in made.part.operators for port in o.outputs}
    entering = {e.stream: made.part.plan.application.streams[e.stream].schema for e in made.part.entering}
    return Signals(sampling, made.stretches, made_here | entering, pe=made.part.pe)


def check_version(state: Mapping[str, Any], wanted: int) -> None:
    """Refuse the state of a generated PE that another version has written.

    Raises:
        UserError: It is of another version, or not by generated code.
    """
    if state.get("version") != wanted:
        found = state.get("version", "that of a container")
        raise UserError(f"the state of a generated PE has version {wanted}, found {found}")


def _endings(part: Part) -> Endings:
    taken = {stream: [_subscriber(t) for t in targets] for stream, targets in part.targets.items()}
    return Endings(taken, {o.id: [port.stream for port in o.outputs] for o in part.operators})


def _subscriber(target: Target) -> str:
    return f"exit {target}" if isinstance(target, int) else f"{target[0]}:{target[1]}"


class Endings:
    """The streams inside a PE that have not ended yet, counted for each port.

    A port ends when all its streams have; an operator when all its ports have; then its streams end. Ends spread depth
    first, as in the reference engine: what ends through a stream's first subscriber ends before the second learns of
    it.

    Example:
        >>> endings = Endings({"feed 0": ["A:0"], "feed 1": ["A:1"], "A": ["exit 2"]}, {"A": ["A"]})
        >>> endings.end("feed 0"), endings.end("feed 1")
        ([], ['exit 2'])

    Args:
        subscribers: For each stream those who take it, in order: `operator:port`, or `exit edge`.
        streams: For each operator the streams that it makes.

    Attributes:
        open: The number of streams of each port that have not ended.
    """

    def __init__(self, subscribers: Mapping[str, Sequence[str]], streams: Mapping[str, Sequence[str]]) -> None:
        self._subscribers = subscribers
        self._streams = streams
        self.open: dict[str, int] = Counter(s for found in subscribers.values() for s in found if not is_exit(s))
        self._ports: dict[str, list[str]] = {}
        for port in self.open:
            self._ports.setdefault(port.rpartition(":")[0], []).append(port)

    def end(self, feed: str) -> list[str]:
        """A stream from outside ends; returns the exits that learn of an end, in order."""
        exits: list[str] = []
        waiting = [*reversed(self._subscribers[feed])]
        while waiting:
            subscriber = waiting.pop()
            if is_exit(subscriber):
                exits.append(subscriber)
            else:
                ended = self._end_of_port(subscriber)
                waiting.extend(reversed([taker for stream in ended for taker in self._subscribers[stream]]))
        return exits

    def has_ended(self, operator: str) -> bool:
        """Whether all streams have ended that an operator takes."""
        return not any(self.open[port] for port in self._ports.get(operator, ()))

    def _end_of_port(self, port: str) -> Sequence[str]:
        self.open[port] -= 1
        operator = port.rpartition(":")[0]
        return () if any(self.open[other] for other in self._ports[operator]) else self._streams[operator]


def is_exit(subscriber: str) -> bool:
    """Whether a subscriber is an edge that leaves the PE."""
    return ":" not in subscriber and subscriber.startswith("exit ")


def exit_edge(subscriber: str) -> int:
    """The number of the edge that an exit stands for."""
    return int(subscriber.removeprefix("exit "))
