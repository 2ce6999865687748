"""`penstock bench model`: the throughput model against reality, on Spark.

Four steps, in one session:

1. Calibrate the machine; with `--quick`, take typical costs.
2. Profile three applications, unfused: bargain detection, network monitoring, and a chain of light and heavy operators.
3. Run each with different fusions and channel counts, and predict each from its profile, the calibration and the plan
   alone. Measured throughput is that of the batches between the first and the last.
4. Ask the model, with the calibration, for the two facts of the design: what fusing 16 light operators gains, and what
   splitting two heavy ones gains.

Predicted and measured throughput must rank plans alike, and differ little.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import App, agg, col, map_
from penstock.bench import Bench
from penstock.bench.measure.on_spark import ROOT, load_file, open_bench_session, run_timed
from penstock.bench.workloads.spark_data import log_lines, write_csv
from penstock.codegen.transport.batches import ITEMS_PER_VALUE
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.lang import compile_file
from penstock.model import OperatorProfile, Profile, StreamProfile, Transfer, equal_hosts
from penstock.model.transfer import FIXED, PARTS
from penstock.optimizer import Setting
from penstock.optimizer.machine import TYPICAL
from penstock.optimizer.prediction import predict, throughput_model
from penstock.optimizer.spark_problem import inner_operators
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Groups = tuple[tuple[str, ...], ...]

_LIGHT, _HEAVY = 1e-8, 2e-5
"""Seconds a tuple: an operator worked by columns, and one with 20 microseconds of Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An application to run.

    Attributes:
        name: What it is called.
        program: The application.
        data: Its input.
        per_batch: Tuples of a batch.
        plans: The fusions and channel counts to try.
    """

    name: str
    program: Program
    data: Path
    per_batch: int
    plans: tuple[tuple[Groups, int], ...]


def run(bench: Bench) -> None:
    """Run the four steps."""
    from penstock.spark.measure.calibration import calibrate

    spark = open_bench_session()
    bench.progress("calibrating")
    transfer = TYPICAL if bench.quick else calibrate(spark, tell=bench.progress)
    _show(bench, transfer)
    found: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for make in (chain_subject,) if bench.quick else (bargains_subject, monitoring_subject, chain_subject):
            subject = make(Path(folder) / make.__name__, quick=bench.quick)
            found += _compare(bench, spark, subject, transfer)
    _judge(bench, found)
    _facts(bench, transfer)


def _show(bench: Bench, transfer: Transfer) -> None:
    """Report the calibration."""
    for part in PARTS:
        cost = transfer.part(part)
        per_tuple, per_byte = cost.seconds_per_tuple * 1e9, cost.seconds_per_byte * 1e9
        bench.row(calibrated=part, ns_a_tuple=per_tuple, ns_a_byte=per_byte)
    for fixed in FIXED:
        bench.row(calibrated=fixed, seconds=getattr(transfer, fixed))


def _compare(
    bench: Bench, spark: SparkSession, subject: Subject, transfer: Transfer
) -> Iterator[tuple[str, float, float]]:
    """Name, predicted and measured throughput of every plan of an application."""
    profile = _profile(bench, spark, subject, transfer)
    for groups, channels in subject.plans:
        setting = Setting(
            application=subject.program.application,
            profile=profile,
            transfer=transfer,
            hosts=equal_hosts(1, cores=os.cpu_count() or 1, core_mips=transfer.mips),
            channels=channels,
            batch_tuples=subject.per_batch,
        )
        prediction = predict(throughput_model(setting), setting, groups)
        predicted = sum(prediction.sustained_rates.values())
        with tempfile.TemporaryDirectory() as out:
            timed = run_timed(
                spark,
                subject.program,
                data=subject.data,
                out=Path(out),
                turns_per_batch=subject.per_batch,
                fusion=groups,
                channels=channels,
            )
        measured = timed.steady_tps(subject.per_batch)
        bench.progress(
            f"{subject.name}: {len(groups)} PEs, {channels} channels: "
            f"{predicted:,.0f} tuples/s predicted, {measured:,.0f} measured"
        )
        bench.row(
            application=subject.name,
            pes=len(groups),
            channels=channels,
            predicted_tps=predicted,
            measured_tps=measured,
            error=predicted / measured - 1.0,
            bottleneck=str(prediction.bottleneck),
        )
        yield subject.name, predicted, measured


def _profile(bench: Bench, spark: SparkSession, subject: Subject, transfer: Transfer) -> Profile:
    from penstock.profiler.sampling import Sampling
    from penstock.spark.measure.profiling import profile_on_spark

    bench.progress(f"{subject.name}: profile")
    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            environment=Environment(data_directory=subject.data, output_directory=Path(folder)),
            fusion="none",
            channels=1,
            batch=subject.per_batch,
            sampling=Sampling(rate=0.01),
        )
        found = profile_on_spark(subject.program, options, spark, mips=transfer.mips, checkpoint=Path(folder) / "job")
    return found.profile


def _judge(bench: Bench, found: Sequence[tuple[str, float, float]]) -> None:
    from scipy.stats import spearmanr

    predicted, measured = [p for _, p, _ in found], [m for _, _, m in found]
    errors = [abs(p / m - 1.0) for p, m in zip(predicted, measured, strict=True)]
    rank, error = float(spearmanr(predicted, measured).statistic), statistics.median(errors)
    bench.row(application="all of them", plans=len(found), rank_correlation=rank, error=error)
    bench.check("plans compared", len(found), at_least=4 if bench.quick else 30)
    if not bench.quick:
        # A few small batches say more of what Spark does around them than of plans.
        bench.check("rank correlation of predicted and measured", rank, at_least=0.9)
        bench.check("median error of a prediction", error, at_most=0.25)
    title = "Predicted and measured throughput"
    with bench.figure("model", title=title, xlabel="measured, tuples/s", ylabel="predicted, tuples/s") as axes:
        for name in dict.fromkeys(name for name, _, _ in found):
            mine = [(m, p) for other, p, m in found if other == name]
            axes.scatter([m for m, _ in mine], [p for _, p in mine], label=name, s=18)
        span = [min(*predicted, *measured), max(*predicted, *measured)]
        axes.plot(span, span, color="grey", linewidth=0.8)
        axes.set(xscale="log", yscale="log")
        axes.legend()


def _facts(bench: Bench, transfer: Transfer) -> None:
    """Check the model's predictions of the two facts, for batches of the size that `bench crossings` has."""
    light, heavy = [f"l{i}" for i in range(16)], ["h0", "h1"]
    gain = _gain(light, [light], [[o] for o in light], _LIGHT, transfer, 2_000_000)
    bench.check("model: fusing 16 light operators gains, at least", gain, at_least=6.0)
    split = _gain(heavy, [["h0"], ["h1"]], [heavy], _HEAVY, transfer, 240_000)
    bench.check("model: splitting two heavy operators gains, at least", split, at_least=1.5)
    bench.check("model: splitting two heavy operators gains, at most", split, at_most=2.0)


def _gain(
    operators: Sequence[str],
    better: Sequence[Sequence[str]],
    worse: Sequence[Sequence[str]],
    seconds: float,
    transfer: Transfer,
    batch_tuples: int,
) -> float:
    """How many times as fast one fusion of a chain is as another."""
    from penstock.model import PlacedPE, Plan, ThroughputModel

    names = ["in", *operators]
    costs = [_LIGHT, *[seconds] * len(operators)]
    made = tuple(
        OperatorProfile(id=n, rate_tps=1000.0, cpu_seconds=c, selectivity=(1.0,) if n != names[-1] else ())
        for n, c in zip(names, costs, strict=True)
    )
    streams = tuple(
        StreamProfile(id=a, producer=a, consumers=(b,), rate_tps=1000.0, tuple_bytes=24.0) for a, b in pairwise(names)
    )
    profile = Profile(mips=transfer.mips, operators=made, streams=streams)
    hosts = equal_hosts(1, cores=2, core_mips=transfer.mips)
    model = ThroughputModel(profile, hosts, transfer, batch_tuples=batch_tuples, piece_tuples=ITEMS_PER_VALUE)
    plans = [[PlacedPE(operators=tuple(g), hosts=("h0",)) for g in [["in"], *groups]] for groups in (better, worse)]
    one, other = (model.evaluate(Plan(pes=tuple(pes), is_line=True)).scale for pes in plans)
    return one / other


def plans_of(
    application: Application, count: int, channels: Sequence[int], seed: int = 1
) -> tuple[tuple[Groups, int], ...]:
    """Fusions from all to none with others between them, each with some numbers of channels.

    A fusion is a cut of the operators in topological order at random places, so its PEs form no cycle.
    """
    inner = set(inner_operators(application))
    order = [id_ for id_ in application.rank if id_ in inner]
    rng = random.Random(seed)
    fusions: list[Groups] = [(tuple(order),), tuple((id_,) for id_ in order)]
    while len(fusions) < count:
        cuts = sorted(rng.sample(range(1, len(order)), rng.randint(1, min(6, len(order) - 1))))
        bounds = [0, *cuts, len(order)]
        groups = tuple(tuple(order[a:b]) for a, b in pairwise(bounds))
        if groups not in fusions:
            fusions.append(groups)
    return tuple((groups, n) for n in channels for groups in fusions)


def chain_subject(folder: Path, *, quick: bool) -> Subject:
    """Eight operators, light and heavy by turns, and few results."""
    per_batch, batches = (5_000, 4) if quick else (40_000, 5)

    @map_
    def heavy(t: object) -> dict[str, float]:
        x: float = t.x  # type: ignore[attr-defined]
        for _ in range(150):
            x = x * 1.0000001 + 0.5
        return {"n": t.n, "x": x}  # type: ignore[attr-defined]

    folder.mkdir(parents=True, exist_ok=True)
    app = App("Chain")
    total = per_batch * batches
    made = app.beacon("uint64 n, float64 x", iterations=total, n=agg.IterationCount(), x=1.0, name="Numbers")
    for i in range(4):
        made = made.with_columns(x=col.x * 1.0001, name=f"Light{i}")
        made = made.map(heavy, "uint64 n, float64 x", name=f"Heavy{i}")
    made.filter(col.n % 1000 == 0, name="Few").write_file("few.csv", name="Sink")
    program = app.program()
    plans = plans_of(program.application, 4 if quick else 7, (1,) if quick else (1, 2))
    return Subject(name="chain", program=program, data=folder, per_batch=per_batch, plans=plans)


def bargains_subject(folder: Path, *, quick: bool) -> Subject:
    """Bargain detection with two groups of symbols; not fused at all it runs on one channel only, to save a minute."""
    per_batch, batches = (5_000, 4) if quick else (100_000, 5)
    folder.mkdir(parents=True, exist_ok=True)
    examples = ROOT / "examples" / "bargains"
    load_file(examples / "generate.py").generate(folder / "ticks.csv", ticks=per_batch * batches, symbols=256)
    program = load_file(examples / "bargains.py").app(groups=2).program()
    plans = tuple((g, n) for g, n in plans_of(program.application, 6, (1, 2)) if n == 1 or len(g) < 16)
    return Subject(name="bargain detection", program=program, data=folder, per_batch=per_batch, plans=plans)


def monitoring_subject(folder: Path, *, quick: bool) -> Subject:
    """Network monitoring: lines are parsed, counted by user over time, and filtered."""
    per_batch, batches = (5_000, 4) if quick else (50_000, 5)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(log_lines(per_batch * batches, 500), folder / "logs1.com")
    example = ROOT / "examples" / "network_monitoring"
    program = compile_file(example / "network_monitoring.spl", toolkits=(example / "toolkit",))
    order = inner_operators(program.application)
    fusions: list[Groups] = [(tuple(order),), tuple((id_,) for id_ in order)]
    plans = tuple((groups, channels) for groups in fusions for channels in (1, 2, 3))
    return Subject(name="network monitoring", program=program, data=folder, per_batch=per_batch, plans=plans)
