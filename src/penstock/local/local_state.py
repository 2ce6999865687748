"""The state of a job in this process: taken between two batches, and given to a run of any plan of its program."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.local.line import Line
from penstock.runtime.savepoints.collect_state import collect_state
from penstock.runtime.savepoints.deal_state import deal_pes, deal_sinks
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.sinks.writer import SinkWriter


def take_state(plan: PhysicalPlan, pieces: Mapping[int, Pieces], line: Line, sinks: SinkWriter, batch: int) -> JobState:
    """The state behind the last batch; it shares data with the run, so store it before the run continues.

    Raises:
        UserError: An operator holds what cannot be stored.
    """
    own = line.snapshot()
    return collect_state(plan, pieces, sources=own["sources"], pes=own["pes"], sinks=sinks.snapshot(), batch=batch)


def restore_state(
    state: JobState, plan: PhysicalPlan, pieces: Mapping[int, Pieces], line: Line, sinks: SinkWriter
) -> None:
    """Let a run that has not begun go on from a state.

    Raises:
        UserError: The plan cannot take it over.
    """
    line.restore({"sources": state.sources, "pes": deal_pes(state, plan, pieces)})
    sinks.restore(deal_sinks(state, plan))
