"""Runs programs in pieces: stop between two items, remember everything, go on with new instances, as after a crash."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from penstock.expr.environment import Environment
from penstock.reference.engine import Engine, Limits
from penstock.reference.exchange import Exchange
from penstock.reference.node import Node
from penstock.reference.result import DeadLetter
from penstock.reference.virtual_time import Turns
from penstock.reference.wiring import wire
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Punctuation, Wait

Seen = list[tuple[int, str, Any]]
"""When, on which stream, what."""


class Session:
    """A program at work, one source item, or one timer after the last of them, at a time.

    Attributes:
        seen: The items of all streams.
    """

    def __init__(self, program: Program, environment: Environment) -> None:
        self.seen: Seen = []
        self.environment = environment
        self.engine = Engine(environment, Limits())
        self.nodes = wire(program, "", self.engine, environment, lambda stream: self._see)
        self.engine.exchange = Exchange(self.nodes, self.engine.feedback, self.engine.end_node)
        self._sources = [n for n in self.nodes if n.is_source]
        self._items = {n.id: n.runtime.produce() for n in self._sources}
        self._turns = Turns(list(self._sources), environment.clock.now_ns)

    def start(self) -> Session:
        self.engine.exchange.start()
        self.engine.drain()
        return self

    def step(self) -> bool:
        """Take one item; tells whether there was one."""
        if self._turns:
            time_ns, node = self._turns.next
            self.engine.advance_to(time_ns)
            self._take(node, self._items[node.id])
            return True
        if any(self.engine.holds(n) for n in self.nodes):
            assert self.engine.timers.next_ns is not None
            self.engine.advance_to(self.engine.timers.next_ns)
            return True
        return False

    def _take(self, node: Node, items: Iterator[Any]) -> None:
        try:
            item = next(items)
        except StopIteration:
            self._turns.leave()
            self.engine.end_node(node)
            return
        self._turns.take(item.nanoseconds if isinstance(item, Wait) else 0)
        if isinstance(item, tuple):
            node.runtime.submit[0](item)
        elif isinstance(item, Punctuation):
            node.runtime.punctuate[0](item)
            self.engine.drain()

    def snapshot(self) -> bytes:
        """Everything, pickled."""
        turns = [(time_ns, turn, order) for time_ns, turn, order, _ in self._turns._heap]
        return pickle.dumps((self.engine.snapshot(), turns, {n.id: n.snapshot() for n in self.nodes}))

    def restore(self, data: bytes) -> None:
        engine, turns, nodes = pickle.loads(data)
        self.engine.restore(engine)
        for node in self.nodes:
            node.restore(nodes[node.id])
        self._turns._heap = [(time_ns, turn, order, self._sources[order]) for time_ns, turn, order in turns]

    def close(self) -> None:
        for node in self.nodes:
            node.runtime.close()

    def counts(self) -> dict[str, Any]:
        """What has been counted."""
        return {
            n.id: ([[e.count for e in edges] for edges in n.edges], [s.count for s in n.streams], n.dropped)
            for n in self.nodes
        }

    def all_seen(self) -> Seen:
        """The items of all streams, and behind them what was set aside."""
        return [*self.seen, *((0, letter.operator, letter) for letter in self.engine.dead_letters)]

    def _see(self, stream: str, item: Any) -> None:
        self.seen.append((self.environment.clock.now_ns, stream, item))


def run_whole(program: Program, environment: Environment) -> Session:
    """Run a program without a stop."""
    session = Session(program, environment).start()
    while session.step():
        pass
    session.close()
    return session


def run_cut(program: Program, make: Callable[[], Environment], random: Random, often: float) -> Session:
    """Run a program that is stopped and continued by new instances, now and then; the last of them.

    What the old instances do after they were remembered, as they may before a crash, must make no difference. As a
    batch is repeated whole, it is repeated before anything is remembered again.
    """
    session = Session(program, make()).start()
    seen: Seen = []
    letters: list[DeadLetter] = []
    owed = 0
    while session.step():
        owed -= 1
        if owed >= 0 or random.random() >= often:
            continue
        data, before, rejected = session.snapshot(), list(session.seen), list(session.engine.dead_letters)
        owed = random.randrange(4)
        for _ in range(owed):
            session.step()
        session.close()
        seen, letters = seen + before, letters + rejected
        session = Session(program, make())
        session.restore(data)
    session.close()
    session.seen[:0], session.engine.dead_letters[:0] = seen, letters
    return session
