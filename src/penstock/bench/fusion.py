"""`penstock bench fusion`: figures 10 and 11 of the SPADE paper and table 2 of COLA, measured on Spark.

Two applications, outlier detection in radio astronomy and bargain detection, each with six fusions:

- none: every operator a PE by itself (NONE);
- all: one PE between sources and sinks (FALL);
- manual: what a developer would do, a PE for each station or group of symbols (FMAN);
- greedy: GreedyFuse, the paper's automatic fusion (FATM; FINT in the COLA paper);
- cola: with the profile of the unfused run;
- throughput: ours, by the loop of `penstock optimize`, which measures as it goes and chooses the channels, too.

The first five are the papers' fusions, with one process for a PE: they run on one channel. Ours may run the parallel
regions that the compiler finds on as many channels as there are cores; nothing in the programs says so.

Both applications have an operator in Python that works on one tuple after the other, as jobs in Python do: a running
spectrum for each antenna, a Kalman filter for each symbol. Without it they are so light that on two cores, in batches
of this size, one PE on one channel is faster than channels are.

The fusions take turns in one session, and the median of each is reported, with what the throughput model predicts
beside it, both relative to none. Fusions that are equal are measured as one, and their rows say so. None takes minutes,
so it has one run, of three batches: the first starts a process for each PE, the second is measured. The paper gives
each fusion its nodes; here all have the cores of this machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench import Bench
from penstock.bench.measure.on_spark import in_turns, open_bench_session, run_timed
from penstock.bench.workloads.fusion_subjects import SUBJECTS, Subject, by_composite
from penstock.expr.environment import Environment
from penstock.model import Profile
from penstock.optimizer import (
    Candidate,
    Iteration,
    Setting,
    channel_numbers,
    everything_fused,
    fused_by,
    optimize,
    predict,
    ranked_on_channels,
    throughput_model,
    unfused,
)
from penstock.optimizer.machine import machine_setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDER = ("none", "all", "manual", "greedy", "cola", "throughput")
_PAPER = {"radio astronomy": {"none": 1.0, "manual": 0.85, "all": 0.92, "throughput": 1.7}}
"""Figure 10: automatic fusion is 70, 100 and 85 % better than none, manual and all; relative to none."""

_UNFUSED_BATCHES = 3
_PROFILED_SECONDS = 20.0
"""After which a run of the loop ends with its batch: of the unfused run it needs the profile, and the first has it."""

Same = dict[str, str]
"""For each fusion the first of `ORDER` that is equal to it."""


def run(bench: Bench) -> None:
    """Measure both applications; only the first where it must be quick."""
    spark = open_bench_session()
    gains = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in islice(SUBJECTS.items(), 1 if bench.quick else None):
            bench.progress(f"{name}: making input")
            subject = make(Path(folder) / name.replace(" ", "-"), quick=bench.quick)
            gains[name] = _measure(bench, spark, subject)
    _draw(bench, gains)


def _measure(bench: Bench, spark: SparkSession, subject: Subject) -> dict[str, float]:
    """The throughput of each fusion, relative to none."""
    profile, automatic = _by_the_loop(bench, spark, subject)
    setting = _setting(spark, subject, profile)
    fusions = {name: _fused(name, setting, automatic) for name in ORDER}
    predicted = {name: _predicted(setting, candidate) for name, candidate in fusions.items()}
    bench.progress(f"{subject.name}: {', '.join(ORDER)} in turns")
    same = equals(fusions)
    measured = _in_turns(spark, subject, {name: fusions[name] for name in ORDER if same[name] == name})
    tps = {name: measured[same[name]] for name in ORDER}
    for name in ORDER:
        bench.row(
            part=subject.name,
            fusion=name,
            pes=len(fusions[name].groups),
            channels=fusions[name].channels,
            equal_to=same[name] if same[name] != name else "",
            tuples_per_second=tps[name],
            to_none=tps[name] / tps["none"],
            predicted_to_none=predicted[name] / predicted["none"],
            paper_to_none=_PAPER.get(subject.name, {}).get(name, ""),
        )
    others = max(tps[name] for name in ORDER if name != "throughput")
    bench.check(
        f"{subject.name}: throughput to the best of the others", tps["throughput"] / others, at_least=1.05, timed=True
    )
    bench.check(f"{subject.name}: throughput to none", tps["throughput"] / tps["none"], at_least=3.0, timed=True)
    return {name: tps[name] / tps["none"] for name in ORDER}


def _by_the_loop(bench: Bench, spark: SparkSession, subject: Subject) -> tuple[Profile, Candidate]:
    """The profile of the unfused run, and the fusion and channels that the loop ends with."""
    from penstock.spark.measure.measured_runs import Measuring

    size, blank = subject.size, _setting(spark, subject, None)
    numbers = channel_numbers(blank, spark.sparkContext.defaultParallelism)
    measuring = Measuring(
        program=subject.program,
        environment=Environment(data_directory=subject.data),
        spark=spark,
        mips=blank.transfer.mips,
        seconds=_PROFILED_SECONDS,
        rate=0.01,
        turns_per_batch=size.per_batch,
    )
    outcome = optimize(
        Candidate(groups=unfused(subject.application)),
        lambda candidate: measuring.run(candidate.groups, candidate.channels),
        lambda profile, gamma: ranked_on_channels(
            _setting(spark, subject, profile), numbers, gamma=gamma, deadline_seconds=10.0
        ),
        iterations=size.iterations,
        whatever=everything_fused(blank, numbers),
        on_run=lambda runs, last: bench.progress(f"{subject.name}: {_line(last)}"),
    )
    best = outcome.best.candidate
    # Nothing is annotated, so what is left to annotations runs on one channel, as the others do.
    return outcome.iterations[0].profile, replace(best, channels=best.channels or 1)


def _setting(spark: SparkSession, subject: Subject, profile: Profile | None) -> Setting:
    from penstock.optimizer import without_profile

    cores = spark.sparkContext.defaultParallelism
    known = profile or without_profile(subject.application)
    return machine_setting(subject.application, known, 1, cores, turns_per_batch=subject.size.per_batch)


def _fused(name: str, setting: Setting, automatic: Candidate) -> Candidate:
    application = setting.application
    if name == "throughput":
        return automatic
    if name in ("none", "manual"):
        groups = unfused(application) if name == "none" else by_composite(application)
    else:
        groups = fused_by(name, setting)  # type: ignore[arg-type] # of ORDER
    return Candidate(groups=groups, channels=1)


def _predicted(setting: Setting, candidate: Candidate) -> float:
    there = replace(setting, channels=candidate.channels)
    return predict(throughput_model(there), there, candidate.groups).scale


def _line(run: Iteration) -> str:
    """One run of the loop, for people."""
    tps = (run.throughput_tps, *run.confirmed_tps)[-1]
    predicted = "" if run.predicted_tps is None else f", predicted {run.predicted_tps:,.0f}"
    pes, channels = len(run.candidate.groups), run.candidate.channels or 1
    return f"iteration {run.number}, PEs: {pes}, channels: {channels}, {tps:,.0f} tuples a second{predicted}"


def equals(fusions: Mapping[str, Candidate]) -> Same:
    """Which fusions are the same, on the same number of channels.

    Example:
        >>> none, all_, cola = (Candidate(groups=groups, channels=1)
        ...                     for groups in ((("a",), ("b",)), (("a", "b"),), (("b", "a"),)))
        >>> equals({"none": none, "all": all_, "cola": cola, "throughput": replace(all_, channels=2)})
        {'none': 'none', 'all': 'all', 'cola': 'all', 'throughput': 'throughput'}
    """
    return {
        name: next(other for other, given in fusions.items() if given.is_same(candidate))
        for name, candidate in fusions.items()
    }


def _in_turns(spark: SparkSession, subject: Subject, fusions: Mapping[str, Candidate]) -> dict[str, float]:
    """The median rate of each fusion."""
    size = subject.size

    def rate(candidate: Candidate, data: Path) -> float:
        with tempfile.TemporaryDirectory() as out:
            timed = run_timed(
                spark,
                subject.program,
                data=data,
                out=Path(out),
                turns_per_batch=size.per_batch,
                fusion=candidate.groups,
                channels=candidate.channels,
            )
        return timed.steady_tps(size.per_batch)

    fused = {name: partial(rate, fusion, subject.data) for name, fusion in fusions.items() if name != "none"}
    return {"none": rate(fusions["none"], _beginning(subject)), **in_turns(size.rounds, fused)}


def _beginning(subject: Subject) -> Path:
    """The input of the unfused run."""
    folder = subject.data / "beginning"
    folder.mkdir()
    for path in subject.data.glob("*.csv"):
        with path.open() as every, (folder / path.name).open("w") as part:
            part.writelines(islice(every, _UNFUSED_BATCHES * subject.size.per_batch))
    return folder


def _draw(bench: Bench, gains: Mapping[str, Mapping[str, float]]) -> None:
    title = "Throughput of fusions, relative to none"
    with bench.figure("fusion", title=title, xlabel="fusion", ylabel="times the throughput of none") as axes:
        for number, (name, gain) in enumerate(gains.items()):
            places = [place + 0.4 * number - 0.2 for place in range(len(ORDER))]
            bars = axes.bar(places, [gain[fusion] for fusion in ORDER], width=0.38, label=name)
            axes.bar_label(bars, fmt="%.1f", fontsize=7)
        axes.set_xticks(range(len(ORDER)), ORDER)
        axes.legend()
