"""A job in this process up to its sinks: batches are planned as for Spark, read, and processed by the PEs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.codegen.transport.routes import rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.local.channel import Values
from penstock.local.pes import PEs
from penstock.runtime.sources.batch import PlannedBatch
from penstock.runtime.sources.by_columns import ColumnPE, read_part
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.planner import Planner, make_planner
from penstock.runtime.sources.rounds import Rounds
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBatch:
    """A batch behind the last PE: the (edge, IPC stream) pairs for the sinks, and whether nothing follows."""

    rows: Values
    has_ended: bool


class Line:
    """The sources and the PEs of a job but its sinks.

    Args:
        program: What runs.
        plan: How it is cut into PEs.
        pieces: Their code.
        environment: Of the run.
        continuous: Whether the run goes on when the sources have nothing for now.
        rounds: What batches send round, if the application's loop is open.
    """

    def __init__(
        self,
        program: Program,
        plan: PhysicalPlan,
        pieces: Mapping[int, Pieces],
        environment: Environment,
        *,
        continuous: bool = False,
        rounds: Rounds | None = None,
    ) -> None:
        sources = own_sources(plan)
        self._environment = environment
        self._planner_in = partial(make_planner, program, plan, pes=sources, continuous=continuous, rounds=rounds)
        self._column_pe_in: Callable[[Environment], ColumnPE] = lambda environment: ColumnPE(
            program, plan, sources[0], environment, follows=continuous
        )
        self._planner: Planner = self._planner_in(environment.renewed())
        self._column_pe: ColumnPE | None = None
        self._routing = {edge: route for pe in sources for edge, route in routing_of(plan, pe).items()}
        self._pes = PEs(program, plan, pieces, environment)

    def run_batch(self, turns: int | None = None) -> LineBatch | None:
        """Plan a batch of about so many turns of each source and process it; None if there is nothing for now.

        Raises:
            OperatorFailed: An operator failed.
        """
        planned = self._planner.next_batch(turns)
        if planned is None:
            return None
        return LineBatch(rows=self._pes.process(self._read(planned)), has_ended=planned.has_ended)

    def snapshot(self) -> dict[str, Any]:
        """Where the sources stand, and the state of the PEs, as plain data."""
        return {"sources": self._planner.snapshot(), "pes": self._pes.snapshot()}

    def restore(self, state: dict[str, Any] | None) -> None:
        """Resume where a line stood when this was its snapshot, or at the beginning."""
        self._planner = self._planner_in(self._environment.renewed())
        if state is not None:
            self._planner.restore(state["sources"])
        self._pes.restore({} if state is None else state["pes"])

    def close(self) -> None:
        """Let go of what operators have open."""
        self._pes.close()

    def _read(self, planned: PlannedBatch) -> Iterator[pa.RecordBatch]:
        """The rows of a batch, by channel."""
        for rows in planned.rows:
            yield from rerouted(self._routing, rows)
        for part in planned.parts:
            self._column_pe = self._column_pe or self._column_pe_in(self._environment.renewed())
            yield from read_part(self._column_pe, part)
