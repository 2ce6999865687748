"""Plans the batches of a job whose loop is open: one item of a source, then round after round of what it sends.

A batch holds what the batch before has sent round, and nothing else; where that is nothing, it holds the next item of
the sources, in their sequential order. So an engine must be done with a batch before the next one is planned.

The loop's stream ends when the last of the sources has ended from which its operator gets tuples: in the sequential
program a feedback edge keeps no operator alive, and what comes round after that is dropped.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.plan.physical import PhysicalPlan, Route
from penstock.codegen.transport.batches import FINAL
from penstock.ir.arrow import arrow_schema
from penstock.ir.graph import Application
from penstock.runtime.sources.batch import PlannedBatch, check_form
from penstock.runtime.sources.column_run import ColumnRun
from penstock.runtime.sources.outside_rows import Items, SourcePE, source_pe
from penstock.runtime.sources.rounds import START, Rounds
from penstock.runtime.sources.stored_items import items_of
from penstock.runtime.sources.turns import SourceRun

FORM = "loop"
_BEFORE_ALL = -1
"""Sorts before every item of its time: the loop's stream ends first, and its operator where its last other one does."""


class LoopPlanner:
    """Lets the sources take turns one by one, and the loop go round in between.

    Args:
        plan: Of the job.
        runs: The sources by their PEs, the loop's start left out.
        rounds: What batches have sent round.
    """

    def __init__(self, plan: PhysicalPlan, runs: dict[int, SourceRun | ColumnRun], rounds: Rounds) -> None:
        pe = start_of_loop(plan)
        assert pe is not None, "the plan has an open loop"
        self._runs = runs
        self._source = _unrouted(source_pe(plan, pe))
        self._schema = plan.application.streams[plan.out_of(pe)[0].stream].schema
        feeding = _upstream(plan.application, plan.pes[pe].operators[0])
        self._feeding = [run for index, run in runs.items() if plan.pes[index].operators[0] in feeding]
        self._rounds = rounds
        self._batch = 0
        self._time_ns = 0
        self._has_loop_ended = False

    @property
    def has_ended(self) -> bool:
        """Whether nothing follows."""
        return self._has_loop_ended and all(run.has_ended for run in self._runs.values())

    def next_batch(self, turns: int | None = None) -> PlannedBatch:
        """The next batch: the round of the last one, or the next item of the sources, whatever `turns` asks for."""
        items = self._round()
        if not len(items.kind):
            self._take_turns()
            if not self._has_loop_ended and all(run.has_ended for run in self._feeding):
                self._has_loop_ended = True
                items = self._marked(FINAL)
        own = chain.from_iterable(run.take_rows(self._time_ns) for run in self._runs.values())
        rows = (*own, *self._source.rows(items, at_least_ns=self._time_ns))
        self._batch += 1
        return PlannedBatch(rows=rows, has_ended=self.has_ended)

    def snapshot(self) -> dict[str, Any]:
        """Where it stands."""
        return {
            "form": FORM,
            "runs": [run.snapshot() for run in self._runs.values()],
            "batch": self._batch,
            "time_ns": self._time_ns,
            "has_loop_ended": self._has_loop_ended,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another stood."""
        check_form(state, FORM)
        for run, remembered in zip(self._runs.values(), state["runs"], strict=True):
            run.restore(remembered)
        self._batch, self._time_ns = state["batch"], state["time_ns"]
        self._has_loop_ended = state["has_loop_ended"]

    def _round(self) -> Items:
        """The items that the last batch sent round; none once the loop has ended."""
        if self._has_loop_ended:
            return self._marked()
        return items_of(self._rounds.read(self._batch - 1, self._schema), self._schema, None)

    def _marked(self, *marks: int) -> Items:
        """Marks without tuples."""
        return Items(
            time_ns=np.full(len(marks), self._time_ns, np.int64),
            kind=np.array(marks, np.uint8),
            tuples=pa.RecordBatch.from_pylist([], schema=arrow_schema(self._schema)),
            number=np.full(len(marks), _BEFORE_ALL, np.int64),
        )

    def _take_turns(self) -> None:
        """Let the sources take turns in their order until something has left, or one has ended."""
        for each in self._runs.values():
            each.is_resting = False
        while (run := self._next()) is not None:
            self._time_ns = max(self._time_ns, run.time_ns)
            run.advance_to(run.turn + 1)
            if run.has_left or run.has_ended:
                return

    def _next(self) -> SourceRun | ColumnRun | None:
        """Whose turn it is."""
        open_ = [run for run in self._runs.values() if not run.has_ended]
        # One that has nothing for now is asked again when the others have nothing, either.
        ready = [run for run in open_ if not run.is_resting] or open_
        return min(ready, key=lambda run: (run.time_ns, run.turn), default=None)


def start_of_loop(plan: PhysicalPlan) -> int | None:
    """The PE that stands for what comes round, if the plan has an open loop."""
    operator = plan.application.operator
    return next((pe.index for pe in plan.pes if operator[pe.operators[0]].kind == START), None)


def _unrouted(source: SourcePE) -> SourcePE:
    """A source whose rows go to a log: they are routed when tasks read them."""
    routing = {index: (replace(edge, route=Route.ONE), schema) for index, (edge, schema) in source.routing.items()}
    return replace(source, routing=routing)


def _upstream(application: Application, start: str) -> frozenset[str]:
    """The operators from which tuples come to the one that takes what goes round, in any way but that."""
    before: dict[str, set[str]] = {o.id: set() for o in application.operators}
    for producer, consumer, _, _ in application.edges():
        before[consumer].add(producer)
    (stream,) = (port.stream for port in application.operator[start].outputs)
    found = {operator for operator, _ in application.subscribers[stream]}
    ready = list(found)
    for id_ in ready:
        new = before[id_] - found - {start}
        found |= new
        ready += new
    return frozenset(found)
