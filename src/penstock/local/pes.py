"""The PEs of a job in this process, one behind the other: the same code and the same bytes between them as on Spark.

PE after PE takes its rows of a batch, channel after channel. The last channel works first: order must not depend on
when a channel runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.codegen.transport.routes import Router, Routing, routing_of
from penstock.expr.environment import Environment
from penstock.local.channel import Channel, Values
from penstock.runtime.pes.instances import instance_maker
from penstock.toolkit.core.program import Program

State = dict[int, list[dict[str, Any]]]
"""By PE, the state of each of its channels, as plain data."""


class PEs:
    """All PEs of a job but its sources and its sinks.

    Args:
        program: What runs.
        plan: How it is cut into PEs.
        pieces: The code of the PEs.
        environment: Of the run.
    """

    def __init__(
        self, program: Program, plan: PhysicalPlan, pieces: Mapping[int, Pieces], environment: Environment
    ) -> None:
        self._pes = {pe: _LocalPE(program, plan, code, environment) for pe, code in pieces.items()}

    def process(self, rows: Iterable[pa.RecordBatch]) -> Values:
        """Take a batch, as rows by edge and channel; returns what is left for the sinks, and reports.

        Raises:
            OperatorFailed: An operator failed.
        """
        arrived = _Arrived()
        for some in rows:
            arrived.add(some)
        for pe in self._pes.values():
            pe.take(arrived)
        return arrived.rest()

    def snapshot(self) -> State:
        """The state of all channels of PEs that have any."""
        return {index: pe.snapshot() for index, pe in self._pes.items() if pe.is_stateful}

    def restore(self, state: State) -> None:
        """Resume with fresh instances where PEs stood when this was their snapshot, or at the beginning without one."""
        for index, pe in self._pes.items():
            pe.restore(state.get(index, ()))

    def close(self) -> None:
        """Let go of what operators have open."""
        for pe in self._pes.values():
            pe.close()


class _Arrived:
    """The rows of a batch that are on their way, by edge and channel."""

    def __init__(self) -> None:
        self._values: dict[int, dict[int, list[bytes]]] = defaultdict(lambda: defaultdict(list))

    def add(self, rows: pa.RecordBatch) -> None:
        for edge, channel, value in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            self._values[edge][channel].append(value)

    def take(self, edges: Iterable[int], channels: int) -> list[Values]:
        """Take the values that came by some edges, for each channel."""
        taken: list[Values] = [[] for _ in range(channels)]
        for edge in edges:
            for channel, values in self._values.pop(edge, {}).items():
                taken[channel] += [(edge, value) for value in values]
        return taken

    def rest(self) -> Values:
        """The values left when all PEs have taken theirs."""
        return [(e, value) for e, channels in self._values.items() for values in channels.values() for value in values]


class _LocalPE:
    """A PE with all its channels."""

    def __init__(self, program: Program, plan: PhysicalPlan, code: Pieces, environment: Environment) -> None:
        pe = plan.pes[code.pe]
        operators = [plan.application.operator[id_] for id_ in pe.operators]
        self.is_stateful = pe.role == "stateful"
        self._repeats = self.is_stateful and not any(o.model.side_effects for o in operators)
        self._edges = [edge.index for edge in plan.into(pe.index)]
        self._routing: Routing = routing_of(plan, pe.index)
        self._make = instance_maker(program, plan, code, environment.renewed())
        self._width = pe.channels
        self._channels = self._fresh()

    def take(self, arrived: _Arrived) -> None:
        """Let every channel take its rows."""
        given = list(enumerate(arrived.take(self._edges, self._width)))
        for channel, values in reversed(given):
            for rows in Router(self._routing, channel).rows(self._channels[channel].process(values)):
                arrived.add(rows)

    def snapshot(self) -> list[dict[str, Any]]:
        return [channel.snapshot() for channel in self._channels]

    def restore(self, states: Iterable[dict[str, Any]]) -> None:
        self.close()
        self._channels = self._fresh()
        for channel, state in zip(self._channels, states, strict=False):
            channel.restore(state)

    def close(self) -> None:
        for channel in self._channels:
            channel.close()

    def _fresh(self) -> list[Channel]:
        return [Channel(self._make, repeats=self._repeats) for _ in range(self._width)]
