"""A source at work where batches are planned: one turn after the other, as in the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import PULSE, PULSE_NUMBER, REPORT, Item, rows, values_as_rows
from penstock.expr.environment import Environment
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.container import Container
from penstock.runtime.sources.batch import check_form
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Punctuation, Wait


class SourceRun:
    """A source PE while it runs: what leaves it, batch by batch.

    Attributes:
        turns: How many turns it has taken.
        time_ns: When its next turn is.
        turn: How many turns it has had at that time.
        has_ended: Whether it has no more items.
        is_resting: Whether it has said that there is nothing for now.
    """

    def __init__(
        self, program: Program, plan: PhysicalPlan, pe: int, environment: Environment, *, follows: bool = False
    ) -> None:
        self.container = Container(program, plan, pe, environment)
        (operator,) = plan.pes[pe].operators
        self.node = self.container.node[operator]
        if follows and hasattr(self.node.runtime, "follows"):
            self.node.runtime.follows = True
        sources = [p.index for p in plan.pes if p.role == "source"]
        self._order, self._sources = sources.index(pe), len(sources)
        self._items: Iterator[Any] | None = None
        self._is_live = self.node.runtime.is_live
        self.time_ns = environment.clock.now_ns
        self.turn = 0
        self.turns = 0
        self.has_ended = False
        self.is_resting = False
        self._taken = 0

    @property
    def has_left(self) -> bool:
        """Whether anything has left, was printed or set aside, that has not been taken."""
        engine = self.container.engine
        told = bool(engine.dead_letters) or bool(self.container.prints)
        return engine.source_tuples > self._taken or told or any(self.container.leaving.values())

    def advance(self, turns: int) -> None:
        """Take up to so many turns."""
        for _ in range(turns):
            if self.has_ended:
                return
            self._take_turn()

    def advance_to(self, turn: int, deadline: Deadline | None = None) -> None:
        """Take turns until it has had so many at the present time, time passes, or there is nothing for now.

        Args:
            turn: How many turns.
            deadline: When to stop.
        """
        now_ns = self.time_ns
        self.is_resting = False
        while self.turn < turn and self.time_ns == now_ns and not self.has_ended and not self.is_resting:
            self._take_turn()
            if deadline is not None and deadline.has_passed():
                return

    def catch_up(self, time_ns: int) -> None:
        """Let the next turn be at a time, if it would be earlier."""
        if self.time_ns < time_ns:
            self.time_ns, self.turn = time_ns, 0

    def take_rows(self, time_ns: int, pulse: int = PULSE_NUMBER) -> Iterator[pa.RecordBatch]:
        """The output since the last call, as rows of the transport: a report, the items, and a pulse of that number."""
        streams = self.container.plan.application.streams
        edges = {e.index: e for e in self.container.plan.out_of(self.container.pe)}
        self._taken = self.container.engine.source_tuples
        yield values_as_rows(REPORT, self.container.report().encode())
        for edge, items in self.container.leaving.items():
            items.append(Item(time_ns, pulse, b"", PULSE))
            yield rows(edge, items, streams[edges[edge].stream].schema)
            items.clear()

    def snapshot(self) -> dict[str, Any]:
        """Where it stands, as plain data; to be called when what has left has been taken."""
        try:
            state = self.container.snapshot()
        except UserError:
            # What it has open cannot be stored. A fresh instance has to take the same turns again.
            state = None
        return {
            "form": "turns",
            "container": state,
            "time_ns": self.time_ns,
            "turn": self.turn,
            "turns": self.turns,
            "has_ended": self.has_ended,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another stood; to be called on a fresh instance."""
        check_form(state, "turns")
        if state["container"] is None:
            self.advance(state["turns"])
            self.container.report()
            for items in self.container.leaving.values():
                items.clear()
        else:
            self.container.restore(state["container"])
        self.time_ns, self.turn, self.turns = state["time_ns"], state["turn"], state["turns"]
        self.has_ended = state["has_ended"]
        self._taken = self.container.engine.source_tuples

    def _take_turn(self) -> None:
        self.container.at(self.time_ns, self.turn * self._sources + self._order)
        if self._items is None:
            self._items = self.node.runtime.produce()
        self.turns += 1
        item = self._next(self._items)
        if item is StopIteration:
            self.container.engine.end_node(self.node)
            self.container.engine.drain()
            self.has_ended = True
            return
        wait_ns = item.nanoseconds if isinstance(item, Wait) else 0
        self.turn = 0 if wait_ns > 0 else self.turn + 1
        self.time_ns += max(0, wait_ns)
        self.is_resting = item is None and self._is_live
        if isinstance(item, tuple):
            self.node.runtime.submit[0](item)
        elif isinstance(item, Punctuation):
            self.node.runtime.punctuate[0](item)
            self.container.engine.drain()

    def _next(self, items: Iterator[Any]) -> Any:
        try:
            return next(items, StopIteration)
        except OperatorFailed:
            raise
        except Exception as error:
            raise OperatorFailed(self.node.operator, reason_of(error)) from error
