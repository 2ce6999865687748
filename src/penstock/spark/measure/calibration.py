"""Calibration: what moving tuples costs on this machine, measured on Spark.

Introduction:
    The mapping v of the SPADE paper, section 3.4: what it costs to send and to receive at a rate and a tuple size,
    whatever the application. Here small jobs run through our own transport, rows of (edge, channel, blob), and a plane
    is fitted to what they took.

Formulation:
    A job is a source, a chain of PEs that pass everything on, and a last one that lets nothing through. With k PEs and
    a batch of n tuples of b bytes, the CPU time of a batch, of the JVM and of all workers, is

        batch + k pe + n (source + k crossing), each of the last two with a part by tuple and a part by byte.

    What receiving and sending cost in Python the signals in the PEs tell; what workers take beside that is `pass`, half
    of it on the way in. Batches of one tuple give by the clock what a batch, a PE, a stage, state and a further task
    with state take in any case (`_fixed_seconds`). An exchange is the difference between a query with one and without.

Example:
    `penstock calibrate` runs eleven small jobs and six queries.

When it does not apply:
    Other machines: their times are these, times the ratio of speeds (`profiler.speed`). Networks: an exchange here
    stays on the machine; the links of hosts come with the list of hosts.

Algorithm:
    Non-negative least squares (`model.transfer_fit`).

Reference:
    Gedik et al., CIKM 2009, section 3.4. The paper keeps a table; we fit a plane. CPU time is what is fitted, not time
    on the clock, so that other work on the machine matters little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.codegen.transport.batches import ARROW_SCHEMA, SPARK_SCHEMA
from penstock.model.transfer import Cost, Transfer
from penstock.model.transfer_fit import TransferSample, fit_costs
from penstock.profiler.speed import core_mips
from penstock.spark.measure.calibration_jobs import TUPLES, Measured, cases, measure, warm_up
from penstock.spark.measure.cpu_time import jvm_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tell = Callable[[str], None]

_TICK = 0.01
"""The step in which a system counts CPU time."""

_BLOBS, _BLOB_BYTES = 60, 1_000_000


def calibrate(spark: SparkSession, *, tell: Tell = lambda text: None, tuples: int = TUPLES) -> Transfer:
    """Measure this machine.

    Args:
        spark: A session on it, which nothing else uses.
        tell: Is told what is being done.
        tuples: How many tuples the larger jobs take.
    """
    tell("warming up")
    warm_up(spark, tuples)
    found = []
    for case in cases(tuples):
        tell(
            f"{case.pes} PEs, {case.stateful} with state, {case.channels} channels, "
            f"{case.tuples:,} tuples of {case.tuple_bytes:.0f} bytes"
        )
        found.append(measure(spark, case))
    tell("an exchange")
    return transfer_of(found, exchange_cost(spark), mips=core_mips())


def transfer_of(found: Sequence[Measured], exchange: Cost, *, mips: float) -> Transfer:
    """The calibration that fits what was measured."""
    large = [m for m in found if not m.case.is_tiny]
    jvm, half = _times(_crossing(found, lambda m: m.jvm_seconds), 0.5), _times(exchange, 0.5)
    receive, send = _python_side(large, "receive"), _python_side(large, "send")
    return Transfer(
        mips=mips,
        jvm_feed=jvm,
        jvm_drain=jvm,
        python_receive=receive,
        python_send=send,
        python_pass=_times(_less(_crossing(found, lambda m: m.worker_seconds), receive, send), 0.5),
        exchange_write=half,
        exchange_read=half,
        **_fixed_seconds([m for m in found if m.case.is_tiny]),  # type: ignore[arg-type]  # keys do not overlap
    )


def _crossing(found: Sequence[Measured], seconds: Callable[[Measured], float]) -> Cost:
    """The cost of a tuple on its way to a PE and back."""
    samples = [
        TransferSample(
            seconds=max(seconds(m), _TICK),
            tuples={
                "crossing": float(m.case.pes * m.case.per_batch),
                "source": float(m.case.per_batch),
                "pe": float(m.case.pes),
                "batch": 1.0,
            },
            tuple_bytes=m.case.tuple_bytes,
        )
        for m in found
        if not m.case.stateful and m.case.channels == 1
    ]
    return fit_costs(samples).costs["crossing"]


def _python_side(found: Sequence[Measured], kind: str) -> Cost:
    """The cost to `receive`, or to `send`, a tuple in a PE, by the signals of the PEs."""
    samples = [
        TransferSample(seconds=ns * 1e-9, tuples={kind: 1.0}, tuple_bytes=m.case.tuple_bytes)
        for m in found
        for key in m.statistics.metrics
        if key[0] == kind and (ns := m.statistics.mean(key)) > 0
    ]
    return fit_costs(samples).costs[kind]


def _fixed_seconds(tiny: Sequence[Measured]) -> dict[str, float]:
    """The seconds by the clock of the parts of a micro-batch without load; `model.line` adds them up again."""
    took = {(m.case.pes, m.case.stateful, m.case.channels): m.batch_seconds for m in tiny}
    pe = max(0.0, took[5, 0, 1] - took[1, 0, 1]) / 4
    batch = max(0.0, took[1, 0, 1] - pe)
    without = batch + 3 * pe
    stage = max(0.0, took[3, 0, 2] - without)
    # Two PEs with state take two stages, and on two channels each of them has a task more.
    state = max(0.0, took[3, 2, 1] - without - 2 * stage) / 2
    task = max(0.0, took[3, 2, 2] - took[3, 2, 1]) / 2
    return {
        "batch_seconds": batch,
        "stage_seconds": stage,
        "state_seconds": state,
        "task_seconds": task,
        "pe_seconds": pe,
    }


def exchange_cost(spark: SparkSession) -> Cost:
    """The cost of a byte written to an exchange and read from it: a query with one, less the same without."""
    without = _best([_query_seconds(spark, exchanged=False) for _ in range(3)])
    exchanged = _best([_query_seconds(spark, exchanged=True) for _ in range(3)])
    return Cost(seconds_per_byte=max(0.0, exchanged - without) / (_BLOBS * _BLOB_BYTES))


def _query_seconds(spark: SparkSession, *, exchanged: bool) -> float:
    """CPU time of the JVM for a query that makes blobs and drops them."""
    before = jvm_seconds(spark)
    frame: Any = spark.range(0, 1, 1, 1).mapInArrow(_blobs, SPARK_SCHEMA)
    if exchanged:
        frame = frame.repartition(1)
    frame.write.format("noop").mode("overwrite").save()
    return jvm_seconds(spark) - before


def _blobs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        for i in range(_BLOBS):
            # Text that compresses no better than tuples do.
            blob = (b"%d" % (i * 2654435761)) * (_BLOB_BYTES // 12)
            columns: list[Any] = [pa.array([0], pa.int32()), pa.array([0], pa.int32()), pa.array([blob], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def _best(seconds: Sequence[float]) -> float:
    return min(seconds)


def _less(whole: Cost, *parts: Cost) -> Cost:
    """A cost less some of its parts, and never below zero."""
    return Cost(
        seconds_per_tuple=max(0.0, whole.seconds_per_tuple - sum(p.seconds_per_tuple for p in parts)),
        seconds_per_byte=max(0.0, whole.seconds_per_byte - sum(p.seconds_per_byte for p in parts)),
    )


def _times(cost: Cost, factor: float) -> Cost:
    return Cost(seconds_per_tuple=cost.seconds_per_tuple * factor, seconds_per_byte=cost.seconds_per_byte * factor)
