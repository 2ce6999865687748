"""The options of `penstock run` that engines with batches share, and the summary of such a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output.summary import Summary, in_order_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.compiler import Options
    from penstock.expr.environment import Environment
    from penstock.local.run import LocalRun
    from penstock.running.job_metrics import Metrics
    from penstock.running.run_report import RunReport
    from penstock.runtime.progress import Progress
    from penstock.spark.job.run import SparkRun
    from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How to run: the options of the command. Those of a cluster and of a checkpoint are Spark's alone."""

    master: str
    fusion: str
    plan: Path | None
    channels: int | str | None
    checkpoint: Path | None
    batch: int
    until_done: bool
    continuous: bool
    seconds: float | None
    profile: Path | None
    loops: str
    take_over: bool
    accept_changed_code: bool
    relaunches: int
    start_from: Path | None
    allow_dropped_state: bool
    key_groups: int | None
    state_limit: int | None = None
    metrics: Metrics | None = None
    placement: str = "spark"
    reschedule: float | None = None
    hosts: Path | None = None
    tables: str = "fixed"
    report: RunReport | None = None

    def tell_all(self, application: str, shown: Progress) -> Progress:
        """What is to be told of every batch: what shows it to the user, the metrics and the report."""
        kept = [keeper.watch(application) for keeper in (self.metrics, self.report) if keeper is not None]

        def tell(progress: dict[str, Any]) -> None:
            for keep in (*kept, shown):
                keep(progress)

        return tell if kept else shown

    def for_compiler(self, program: Program, environment: Environment, **more: Any) -> Options:
        """What the compiler is told; `more` is what one engine alone tells it."""
        from penstock.compiler import Options
        from penstock.runtime.sources.following import goes_on

        continuous = goes_on(
            program, environment, until_done=self.until_done, continuous=self.continuous, seconds=self.seconds
        )
        return Options(
            environment=environment,
            channels=self.channels,
            fusion=self.fusion,
            plan=self.plan,
            loops=self.loops,
            batch=self.batch,
            continuous=continuous,
            **more,
        )


def summarize(
    program: Program, environment: Environment, engine: str, run: LocalRun | SparkRun, **more: Any
) -> Summary:
    """The summary of a run in batches; `more` is what one engine alone tells."""
    totals = run.totals
    return Summary(
        application=program.application.name,
        engine=engine,
        stopped=run.stopped,
        seconds=run.seconds,
        received=in_order_of(program.application, totals.received),
        submitted=in_order_of(program.application, totals.submitted),
        rejected=totals.rejected,
        dead_letters_file=environment.output_directory / environment.dead_letters if totals.rejected else None,
        late=totals.late,
        expired=totals.expired,
        more={"batches": run.batches, **_state(totals.held), **more},
    )


def _state(held: Mapping[str, list[int]]) -> dict[str, Any]:
    """What operators hold at the end, if it is known."""
    return {"state": {id_: {"keys": keys, "bytes": bytes_} for id_, (keys, bytes_) in held.items()}} if held else {}
