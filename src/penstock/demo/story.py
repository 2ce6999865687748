"""The steps of the demo, one function each, over the functions that the commands call too."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.base.diagnostics import UserError
from penstock.compiler import CompiledJob, Options
from penstock.demo import cluster, example
from penstock.demo.facts import Facts, Groups, Run
from penstock.demo.narrator import Narrator
from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.model import equal_hosts
from penstock.model.profile import Profile
from penstock.optimizer import Setting, fused_by
from penstock.optimizer.machine import machine_transfer
from penstock.parallel.extensions import BEYOND
from penstock.parallel.region_plan import ParallelRegions
from penstock.parallel.regions import parallel_regions
from penstock.parallel.report import summary_of
from penstock.profiler.sampling import Sampling
from penstock.profiler.speed import core_mips
from penstock.scheduler.pipeline import Placement
from penstock.scheduler.problem.answer import Answer
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.spark.job.run import SparkRun

STEPS = 10
TICKS = "ticks.csv"
BARGAINS = "bargains.csv"

_SHOWN_REGIONS, _SHOWN_OPERATORS, _SHOWN_BARGAINS = 4, 5, 5
_PROFILED_PART = 8
"""The profile run sees one part in so many of the ticks."""

BATCH = 50_000
"""Ticks in a micro-batch, of both runs."""

_UNFUSED_SECONDS = 40.0
"""When the unfused run stops, at the end of a batch; nobody wants to wait for all of it."""

_SECONDS_TO_FUSE = 5.0


def tell(out: Path, *, ticks: int, master: str, narrator: Narrator) -> Facts:
    """Run all steps but the report; what is to be kept is written to a folder, all else is gone when it ends."""
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as scratch:
        work = Path(scratch)
        program = compiled(work, ticks, narrator)
        regions = shown_regions(program, narrator)
        with narrator.step("start Spark"):
            spark = _session(master)
        try:
            profile = profiled(program, spark, work, ticks // _PROFILED_PART, narrator)
            groups = fused(program, profile, spark.sparkContext.defaultParallelism, narrator)
            run = _Runner(program, spark, work, narrator)
            alone = tuple((o.id,) for o in program.application.operators)
            unfused, _, _ = run("unfused, a PE for each operator", alone, "unfused", at_most=_UNFUSED_SECONDS)
            optimized, outcome, job = run("optimized", groups, "optimized")
        finally:
            spark.stop()
        found, bargains = shown_bargains(work, out, narrator)
        with narrator.step("place the operators on three machines"):
            traffic = cluster.traffic(program.application, outcome.totals.submitted)
            for algorithm, cost in traffic.items():
                narrator.say(f"  {algorithm:<8} {cost:>12,.0f} tuples cross between machines")
        answer, nodes = admitted(profile, narrator)
    return Facts(
        application=program.application,
        regions=regions,
        profile=profile,
        code=_longest_code(job),
        unfused=unfused,
        optimized=optimized,
        bargains=bargains,
        found=found,
        traffic=traffic,
        answer=answer,
        nodes=nodes,
        seconds=narrator.seconds,
    )


def compiled(work: Path, ticks: int, narrator: Narrator) -> Program:
    """Write the input, compile the program in SPL, and see that Python makes the same graph."""
    with narrator.step("compile bargain detection"):
        example.module("generate").generate(work / TICKS, ticks=ticks)
        program = compile_file(example.folder() / "bargains.spl")
        application = program.application
        same = application == example.module("bargains").app().program().application
        narrator.say(f"  {ticks:,} trades and quotes, generated from a seed")
        narrator.say(f"  {len(application.operators)} operators, {sum(1 for _ in application.edges())} streams")
        narrator.say(f"  SPL and Python make {'equal graphs' if same else 'DIFFERENT graphs'}")
    return program


def shown_regions(program: Program, narrator: Narrator) -> ParallelRegions:
    """The parallel regions, the first of them in words."""
    with narrator.step("find its parallel regions"):
        regions = parallel_regions(program.application, BEYOND)
        for region in regions.regions[:_SHOWN_REGIONS]:
            narrator.say(f"  {summary_of(region)}: {', '.join(region.operators)}")
        _more(len(regions.regions) - _SHOWN_REGIONS, "regions", narrator)
    return regions


def profiled(program: Program, spark: SparkSession, work: Path, ticks: int, narrator: Narrator) -> Profile:
    """The costs of each operator, from a run with submit signals over a part of the ticks."""
    from penstock.spark.measure.profiling import profile_on_spark

    data = work / "part"
    data.mkdir()
    with (work / TICKS).open() as every, (data / TICKS).open("w") as part:
        part.writelines(islice(every, ticks))
    with narrator.step("profile it: a run with submit signals"):
        options = Options(
            environment=_environment(data, data), fusion="all", channels=1, batch=BATCH, sampling=Sampling()
        )
        outcome = profile_on_spark(program, options, spark, mips=core_mips(), checkpoint=work / "profile-checkpoint")
        _stop_if_interrupted(outcome.run)
        profile = outcome.profile
        costly = sorted(profile.operators, key=lambda o: o.cpu_fraction, reverse=True)
        whole = sum(operator.cpu_fraction for operator in costly) or 1.0
        for operator in costly[:_SHOWN_OPERATORS]:
            each = f"{operator.cpu_seconds * 1e6:.2f} µs a tuple"
            narrator.say(f"  {operator.id:<16} {operator.kind:<10} {operator.cpu_fraction / whole:6.1%}, {each}")
        _more(len(costly) - _SHOWN_OPERATORS, "operators", narrator)
    return profile


def fused(program: Program, profile: Profile, cores: int, narrator: Narrator) -> Groups:
    """Which operators share a PE: the fusion with the highest throughput that the search finds under the model."""
    transfer = machine_transfer()
    with narrator.step("fuse it"):
        setting = Setting(
            application=program.application,
            profile=replace(profile, mips=transfer.mips),
            transfer=transfer,
            hosts=equal_hosts(1, cores=cores, core_mips=transfer.mips),
            batch_tuples=BATCH,
        )
        groups = fused_by("throughput", setting, deadline_seconds=_SECONDS_TO_FUSE)
        inner = sum(len(group) for group in groups)
        narrator.say(
            f"  {inner} operators in {len(groups)} {'PE' if len(groups) == 1 else 'PEs'}; source and sink apart"
        )
    return groups


class _Runner:
    """Runs the program on Spark with one fusion and another."""

    def __init__(self, program: Program, spark: SparkSession, work: Path, narrator: Narrator) -> None:
        self._program, self._spark, self._work, self._narrator = program, spark, work, narrator

    def __call__(
        self, title: str, groups: Groups, name: str, *, at_most: float | None = None
    ) -> tuple[Run, SparkRun, CompiledJob]:
        """One run, to the end of its input or of its time."""
        from penstock.spark.job.rescaling import run_program

        out = self._work / name
        out.mkdir()
        with self._narrator.step(f"run it {title}"):
            options = Options(environment=_environment(self._work, out), pes=groups, channels=1, batch=BATCH)
            job, outcome = run_program(
                self._program,
                options,
                self._spark,
                checkpoint=self._work / f"{name}-checkpoint",
                seconds=at_most,
                on_progress=lambda p: self._narrator.say(f"  batch {p['batchId']}: {p['batchDuration'] / 1000:.1f} s"),
                notice=self._narrator.say,
            )
            _stop_if_interrupted(outcome)
            ticks = sum(outcome.totals.submitted[self._program.application.operators[0].id])
            run = Run(title=title, pes=outcome.pes, ticks=ticks, seconds=outcome.seconds, batches=outcome.batches)
            self._narrator.say(
                f"  {len(run.pes)} PEs, {run.ticks:,} ticks in {run.seconds:.1f} s: "
                f"{run.ticks_per_second:,.0f} ticks a second"
            )
        return run, outcome, job


def shown_bargains(work: Path, out: Path, narrator: Narrator) -> tuple[int, tuple[str, ...]]:
    """Both runs found the same; the first bargains, and how many there are."""
    one, other = work / "unfused" / BARGAINS, work / "optimized" / BARGAINS
    with narrator.step("compare what they found"):
        few, all_ = one.read_bytes(), other.read_bytes()
        if not all_.startswith(few):
            raise UserError("the two runs found different bargains", hint="this is a bug in penstock")
        lines = other.read_text().splitlines()
        extent = "the same" if few == all_ else "the same as far as the unfused run came"
        narrator.say(f"  {len(lines):,} bargains, {extent}: symbol, ask, VWAP, size, time, score, market level")
        for line in lines[:_SHOWN_BARGAINS]:
            narrator.say(f"  {line}")
    out.mkdir(parents=True, exist_ok=True)
    (out / BARGAINS).write_bytes(other.read_bytes())
    return len(lines), tuple(lines[:_SHOWN_BARGAINS])


def admitted(profile: Profile, narrator: Narrator) -> tuple[Answer, Placement]:
    """Which jobs a small cluster takes, and where it puts them."""
    with narrator.step("admit it to a small cluster, beside other jobs"):
        answer, nodes = cluster.admit(cluster.admission(profile))
        for id_, verdict in answer.jobs.items():
            where = ", ".join(
                sorted({n for pe in verdict.pes for n, mips in nodes.mips.get(pe, {}).items() if mips > 0})
            )
            text = f"{verdict.mips:,.0f} mips on {where}" if verdict.admitted else "not admitted"
            narrator.say(f"  {id_:<10} {text}")
    return answer, nodes


def _stop_if_interrupted(outcome: SparkRun) -> None:
    """After Ctrl-C a run ends properly, at the end of a batch; the story ends with it."""
    if outcome.stopped == "interrupted":
        raise click.exceptions.Abort


def _session(master: str) -> SparkSession:
    from penstock.spark.job.session import open_session

    return open_session(master)


def _environment(data: Path, out: Path) -> Environment:
    return Environment(data_directory=data, output_directory=out)


def _longest_code(job: CompiledJob) -> str:
    """The generated code of the PE with the most of it, if one has any."""
    codes = ("\n\n".join(m.text for m in pieces.modules.values()) for pieces in job.build.pieces.values())
    return max(codes, key=len, default="")


def _more(count: int, what: str, narrator: Narrator) -> None:
    if count > 0:
        narrator.say(f"  and {count} more {what}")
