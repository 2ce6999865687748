"""The state of a stopped job's PEs, out of Spark's state store.

Spark's own reader of state stores (`statestore`) gives the entries of each channel; the head among them says of which
PE and which channel they are, because Spark numbers its operators as it likes.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.runtime.pes.state_log import read
from penstock.runtime.sources.waiting import has_gate
from penstock.spark.checkpoint.spark_files import FOLDER
from penstock.spark.gate.gate_memory import GateMemory, memory_of_gate, read_gate
from penstock.spark.gate.gating import GATE, gated_sources
from penstock.spark.job.hadoop_paths import hadoop_path
from penstock.spark.workers.channel_state import HEAD
from penstock.spark.workers.initial_state import INITIAL, read_initial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

States = dict[int, list[dict[str, Any]]]
"""By PE, the state of each of its channels."""


def read_pes(spark: SparkSession, checkpoint: Path, plan: PhysicalPlan, *, is_first: bool, first_batch: int) -> States:
    """The state of each channel of the PEs behind the last batch that is done.

    Args:
        spark: The session.
        checkpoint: The job's folder.
        plan: That the job has run.
        is_first: Whether no batch of this plan is done.
        first_batch: The number of the first batch of this plan.

    Raises:
        UserError: A channel has none although there were batches.
    """
    has_state = any(pe.role == "stateful" for pe in plan.pes)
    gate = _gate_operator(spark, checkpoint / FOLDER) if has_gate(plan.application) and not is_first else None
    stored = _read_store(spark, checkpoint / FOLDER, gate) if has_state and not is_first else {}
    found: States = {}
    for pe in plan.pes:
        if pe.role != "stateful":
            continue
        for channel in range(pe.channels):
            state = stored.get((pe.index, channel))
            if state is None and first_batch:
                state = read_initial(checkpoint / INITIAL, pe.index, channel)
            if state is None and not is_first:
                raise UserError(
                    f"the state of channel {channel} of PE {pe.index} is not in `{checkpoint / FOLDER}`",
                    hint="put the whole checkpoint back as it was at one time",
                )
            if state is not None:
                found.setdefault(pe.index, []).append(state)
    return found


def read_gate_state(
    spark: SparkSession, checkpoint: Path, plan: PhysicalPlan, environment: Environment, *, is_first: bool
) -> GateMemory | None:
    """What the gate of a job knows and holds back; None if it has none, or nothing has come to it.

    Args:
        spark: The session.
        checkpoint: The job's folder.
        plan: That the job has run.
        environment: Of the program as it ran.
        is_first: Whether no batch of this plan is done.
    """
    initial = checkpoint / INITIAL / GATE
    if not has_gate(plan.application) or (is_first and not initial.exists()):
        return None
    if is_first:
        state, pieces = read_gate(initial)
        waiting = list(pieces.values())
    else:
        folder = checkpoint / FOLDER
        reader = spark.read.format("statestore").option("operatorId", _gate_operator(spark, folder))
        (row,) = reader.option("stateVarName", "gate").load(hadoop_path(folder)).select("value.data").collect()
        state = pickle.loads(row["data"])
        held = reader.option("stateVarName", "waiting").load(hadoop_path(folder))
        rows = held.selectExpr("user_map_value.edge", "user_map_value.channel", "user_map_value.tuples")
        waiting = [(row["edge"], row["channel"], bytes(row["tuples"])) for row in rows.toLocalIterator()]
    evaluator = Evaluator(functions=plan.application.functions, environment=environment)
    return memory_of_gate(state, waiting, list(gated_sources(plan, evaluator)))


def _gate_operator(spark: SparkSession, folder: Path) -> str | None:
    """Spark's number of the gate, which is the one that has something waiting; None if there is none."""
    known = spark.read.format("state-metadata").load(hadoop_path(folder)).select("operatorId", "operatorProperties")
    found = {str(row["operatorId"]) for row in known.collect() if '"waiting"' in row["operatorProperties"]}
    return next(iter(found), None)


def _read_store(spark: SparkSession, folder: Path, leaving_out: str | None) -> dict[tuple[int, int], dict[str, Any]]:
    """The state of each PE and channel that has one."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for operator in sorted(p.name for p in (folder / "state").iterdir() if p.name.isdecimal()):
        if operator == leaving_out:
            continue
        reader = spark.read.format("statestore").option("operatorId", operator)
        entries = reader.option("stateVarName", "entries").load(hadoop_path(folder))
        named = entries.selectExpr("key", "user_map_key.name", "user_map_value.data")
        held: dict[Any, dict[str, bytes]] = {}
        for row in named.toLocalIterator():
            held.setdefault(row["key"], {})[row["name"]] = bytes(row["data"])
        for own in held.values():
            _, _, data = pickle.loads(own[HEAD])
            pe, channel, head = pickle.loads(data)
            found[pe, channel] = read(head, own.__getitem__)
    return found
