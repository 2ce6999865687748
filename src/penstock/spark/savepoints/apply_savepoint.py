"""Makes a savepoint the start of a plan: the files of a checkpoint, from which a new query of Spark's begins.

Every step may be done again, after a crash in the middle of it, and the record of the plan is written last. Batches
keep their numbers: the first of the new query has that of the next one of the savepoint, for the sinks and the sources.
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.base.durable_files import make_folder, write_durably, write_sealed
from penstock.codegen.build import Build
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.runtime.savepoints.deal_state import deal_pes, deal_sinks
from penstock.runtime.savepoints.savepoint_files import Savepoint
from penstock.runtime.sources.batch import PlannedBatch
from penstock.runtime.sources.rounds import rounds_folder
from penstock.spark.checkpoint.plan_record import BEGAN, record_of, write_record
from penstock.spark.checkpoint.spark_files import FOLDER
from penstock.spark.gate.gate_memory import GateMemory, gate_of_memory, write_gate
from penstock.spark.gate.gating import GATE, STARTED, gated_sources
from penstock.spark.savepoints.take_savepoint import PROGRAM
from penstock.spark.sinks.sink_pe import JOB_ID
from penstock.spark.sources.data_source import dump
from penstock.spark.sources.log import SourceLog
from penstock.spark.workers.initial_state import INITIAL, write_initial
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What goes on from a savepoint: a program, how it is cut into PEs, their code, and its environment."""

    program: Program
    plan: PhysicalPlan
    build: Build
    environment: Environment


def apply_savepoint(
    savepoint: Savepoint,
    target: Target,
    code: Mapping[str, str],
    checkpoint: Path,
    *,
    meanwhile: Mapping[str, Any],
    notes: Mapping[str, Any],
) -> None:
    """Let a checkpoint begin with a savepoint; the caller holds the lock.

    Args:
        savepoint: What to go on from.
        target: What is to run.
        code: The fingerprint of each operator that is written in Python.
        checkpoint: The folder.
        meanwhile: The record of the checkpoint until all of it is there: it says where the savepoint lies.
        notes: What the record of the plan says besides.

    Raises:
        UserError: The plan cannot take the state over; nothing is changed.
    """
    state, plan = savepoint.state, target.plan
    dealt = deal_pes(state, plan, target.build.pieces)
    sinks = deal_sinks(state, plan)
    write_record(checkpoint, meanwhile)
    for name in (FOLDER, INITIAL, "sources"):
        # What is left of the plan before would be taken for this one's, so a failure ends the change.
        if (checkpoint / name).exists():
            shutil.rmtree(checkpoint / name)
    if state.batch:
        for pe, channels in dealt.items():
            for channel, own in enumerate(channels):
                write_initial(checkpoint / INITIAL, pe, channel, own)
        if state.sources is not None:
            planned = PlannedBatch(has_ended=state.has_ended)
            SourceLog(checkpoint / "sources").write(state.batch - 1, planned, state.sources)
        make_folder(checkpoint / "sinks")
        path = checkpoint / "sinks" / f"{state.batch - 1:020d}.state"
        write_sealed(path, pickle.dumps(sinks, protocol=5))
    if "gate" in savepoint.engine:
        _write_gate(savepoint.engine["gate"], target, checkpoint)
    _write_engine_notes(savepoint.engine, checkpoint, state.batch)
    dump(target.program, plan, target.environment, target.build, checkpoint / PROGRAM)
    write_record(
        checkpoint,
        {**record_of(plan, code, state.batch), "has_ended": state.has_ended, BEGAN: savepoint.positions, **notes},
    )


def _write_gate(memory: GateMemory, target: Target, checkpoint: Path) -> None:
    """Store what the gate behind the sources begins with."""
    evaluator = Evaluator(functions=target.program.application.functions, environment=target.environment)
    state, pieces = gate_of_memory(memory, list(gated_sources(target.plan, evaluator)))
    write_gate(checkpoint / INITIAL / GATE, state, pieces)


def _write_engine_notes(engine: Mapping[str, Any], checkpoint: Path, batch: int) -> None:
    make_folder(checkpoint / "sinks")
    if "job" in engine:
        write_sealed(checkpoint / "sinks" / JOB_ID, engine["job"])
    if "started" in engine:
        write_sealed(checkpoint / STARTED, engine["started"])
    if "round" in engine:
        folder = rounds_folder(checkpoint / "sinks")
        make_folder(folder)
        write_durably(folder / f"{batch - 1:020d}.arrow", engine["round"])
