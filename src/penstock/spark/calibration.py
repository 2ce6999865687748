"""Calibration: what moving tuples costs on this machine, measured on Spark.

Introduction:
    The mapping v of the SPADE paper, section 3.4: what it costs to send and to receive at a rate and a tuple size,
    whatever the application. Here small jobs run through our own transport, rows of (edge, channel, blob), and a plane
    is fitted to what they took.

Formulation:
    A job is a source, a chain of PEs that pass everything on, and a last one that lets nothing through. With k PEs, n
    tuples of b bytes, and m batches, the CPU time of the JVM is

        run + m k pe + n (source + k crossing), each of the last two with a part by tuple and a part by byte.

    What receiving and sending cost in Python the signals in the PEs tell. Batches of a few tuples, over chains with and
    without PEs that keep state, give by the clock what a batch, a stage and a PE take in any case. An exchange is the
    difference between a query with one and without.

Example:
    `penstock calibrate` runs eight small jobs and six queries.

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

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.codegen.transport import ARROW_SCHEMA, SPARK_SCHEMA
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.model.transfer import Cost, Transfer
from penstock.model.transfer_fit import TransferSample, fit_costs
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.sampling import Sampling
from penstock.profiler.speed import core_mips
from penstock.spark.cpu_time import jvm_seconds
from penstock.spark.run import run_on_spark
from penstock.toolkit.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tell = Callable[[str], None]

_SMALL, _LARGE = 8, 200
_TINY = 4
_BLOBS, _BLOB_BYTES = 60, 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job to measure.

    Attributes:
        pes: How many PEs pass tuples on.
        stateful: How many of them keep state.
        tuples: How many tuples go through.
        text_bytes: The size of the text in each.
        batches: In how many batches they come.
    """

    pes: int
    stateful: int = 0
    tuples: int
    text_bytes: int = _SMALL
    batches: int

    @property
    def tuple_bytes(self) -> float:
        """The size of a tuple: a number, a text and its offset."""
        return 8.0 + 4.0 + self.text_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a job took.

    Attributes:
        case: The job.
        jvm_seconds: CPU time of the JVM in the whole run.
        batches: How many batches there were.
        batch_seconds: By the clock, the median of its batches.
        statistics: What signals have collected.
    """

    case: Case
    jvm_seconds: float
    batches: int
    batch_seconds: float
    statistics: Statistics


def cases(tuples: int = 400_000) -> tuple[Case, ...]:
    """The jobs of a calibration."""
    return (
        Case(pes=1, tuples=tuples, batches=4),
        Case(pes=5, tuples=tuples, batches=4),
        Case(pes=1, tuples=tuples, batches=4, text_bytes=_LARGE),
        Case(pes=5, tuples=tuples, batches=4, text_bytes=_LARGE),
        Case(pes=1, tuples=_TINY, batches=_TINY),
        Case(pes=5, tuples=_TINY, batches=_TINY),
        Case(pes=3, stateful=2, tuples=_TINY, batches=_TINY),
    )


def calibrate(spark: SparkSession, *, tell: Tell = lambda text: None, tuples: int = 400_000) -> Transfer:
    """Measure this machine.

    Args:
        spark: A session on it, which nothing else uses.
        tell: Is told what is being done.
        tuples: How many tuples the larger jobs take.
    """
    tell("warming up")
    measure(spark, Case(pes=2, tuples=tuples // 4, batches=2))
    found = []
    for case in cases(tuples):
        tell(f"{case.pes} PEs, {case.stateful} with state, {case.tuples:,} tuples of {case.tuple_bytes:.0f} bytes")
        found.append(measure(spark, case))
    tell("an exchange")
    return transfer_of(found, exchange_cost(spark), mips=core_mips())


def transfer_of(found: Sequence[Measured], exchange: Cost, *, mips: float) -> Transfer:
    """The calibration that fits what was measured."""
    large = [m for m in found if m.case.tuples > _TINY]
    jvm, half = _times(_jvm_crossing(found), 0.5), _times(exchange, 0.5)
    fixed = _fixed_seconds([m for m in found if m.case.tuples == _TINY])
    return Transfer(
        mips=mips,
        jvm_feed=jvm,
        jvm_drain=jvm,
        python_receive=_python_side(large, "receive"),
        python_send=_python_side(large, "send"),
        exchange_write=half,
        exchange_read=half,
        **fixed,  # type: ignore[arg-type]  # keys do not overlap
    )


def measure(spark: SparkSession, case: Case) -> Measured:
    """Run a job and take its accounts."""
    program = chain(case)
    durations: list[float] = []
    before = jvm_seconds(spark)
    with tempfile.TemporaryDirectory() as folder:
        run = run_on_spark(
            program,
            spark,
            fusion=[[o.id] for o in program.application.operators],
            environment=Environment(data_directory=Path(folder), output_directory=Path(folder)),
            checkpoint=Path(folder) / "job",
            turns_per_batch=max(1, case.tuples // case.batches),
            on_progress=lambda progress: durations.append(progress["batchDuration"] / 1000.0),
            signals=Sampling(),
        )
    median = sorted(durations)[len(durations) // 2]
    return Measured(
        case=case,
        jvm_seconds=jvm_seconds(spark) - before,
        batches=run.batches,
        batch_seconds=median,
        statistics=run.statistics,
    )


def chain(case: Case) -> Program:
    """The program of a job: every PE passes everything on, the last lets nothing through."""
    lines = [
        f"stream<int64 n, rstring s> S0 = Beacon() {{ param iterations: {case.tuples}u; "
        f'output S0: n = (int64)IterationCount(), s = "{"x" * case.text_bytes}"; }}'
    ]
    for i in range(1, case.pes):
        if i <= case.stateful:
            logic = f"logic state: mutable int64 seen = 0l; onTuple S{i - 1}: {{ seen += 1l; submit(S{i - 1}, S{i}); }}"
            lines.append(f"stream<int64 n, rstring s> S{i} = Custom(S{i - 1}) {{ {logic} }}")
        else:
            lines.append(f"stream<int64 n, rstring s> S{i} = Functor(S{i - 1}) {{ }}")
    lines.append(f"stream<int64 n, rstring s> Last = Filter(S{case.pes - 1}) {{ param filter: n < 0l; }}")
    lines.append('() as Sink = FileSink(Last) { param file: "nothing"; }')
    return compile_text(f"composite Calibration {{ graph {' '.join(lines)} }}")


def _jvm_crossing(found: Sequence[Measured]) -> Cost:
    """What a tuple costs the JVM on its way to a PE and back."""
    samples = [
        TransferSample(
            seconds=m.jvm_seconds,
            tuples={
                "crossing": float(m.case.pes * m.case.tuples),
                "source": float(m.case.tuples),
                "pe": float(m.case.pes * m.batches),
                "run": 1.0,
            },
            tuple_bytes=m.case.tuple_bytes,
        )
        for m in found
        if not m.case.stateful
    ]
    return fit_costs(samples).costs["crossing"]


def _python_side(found: Sequence[Measured], kind: str) -> Cost:
    """What PEs took to `receive`, or to `send`, a tuple, by their own signals."""
    samples = [
        TransferSample(seconds=ns * 1e-9, tuples={kind: 1.0}, tuple_bytes=m.case.tuple_bytes)
        for m in found
        for key in m.statistics.metrics
        if key[0] == kind and (ns := m.statistics.mean(key)) > 0
    ]
    return fit_costs(samples).costs[kind]


def _fixed_seconds(tiny: Sequence[Measured]) -> dict[str, float]:
    """What a batch, each PE, and each stage behind the first take by the clock, however little they carry."""
    one, several = sorted((m for m in tiny if not m.case.stateful), key=lambda m: m.case.pes)
    pe = max(0.0, several.batch_seconds - one.batch_seconds) / (several.case.pes - one.case.pes)
    batch = max(0.0, one.batch_seconds - pe * one.case.pes)
    staged = next(m for m in tiny if m.case.stateful)
    stage = max(0.0, staged.batch_seconds - batch - pe * staged.case.pes) / staged.case.stateful
    return {"batch_seconds": batch, "stage_seconds": stage, "pe_seconds": pe}


def exchange_cost(spark: SparkSession) -> Cost:
    """What a byte costs to write to an exchange and to read from it: a query with one, less the same without."""
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


def _times(cost: Cost, factor: float) -> Cost:
    return Cost(seconds_per_tuple=cost.seconds_per_tuple * factor, seconds_per_byte=cost.seconds_per_byte * factor)
