"""The part of `penstock run` that runs one or several applications on Spark.

Where everything ends by itself, applications run one after the other, each behind those that feed it: an importer finds
all that it is to get. Otherwise they run at once, as queries of one Spark application, until they are stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from penstock.base.diagnostics import UserError
from penstock.cli.engines.exchanged_streams import Exchange
from penstock.cli.engines.run_spark import Among, run_with
from penstock.cli.engines.settings import RunSettings
from penstock.cli.output.notices import HOW_TO_STOP
from penstock.cli.output.summary import Summary
from penstock.runtime.sources.endless import endless_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.expr.environment import Environment
    from penstock.spark.job.watch import Interrupt
    from penstock.toolkit.core.program import Program

LOOK_SECONDS = 0.2
_STOPPED = ("interrupted", "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """An application of a run, with an environment and settings of its own."""

    program: Program
    environment: Environment
    settings: RunSettings

    @property
    def name(self) -> str:
        return self.program.application.name


def run_together(programs: Sequence[Program], environment: Environment, settings: RunSettings) -> Summary:
    """Run applications on Spark; the first is the one that the command names.

    Raises:
        UserError: An application failed, or two of them have one name.
    """
    if len(programs) == 1:
        return run_with(programs[0], environment, settings)
    started = time.perf_counter()
    jobs = [_job(program, environment, settings) for program in programs]
    _check_names(jobs)
    exchange = Exchange(programs, environment)
    order = exchange.order
    if order is not None and _ends(exchange, settings):
        summaries = _run_in_order([jobs[number] for number in order])
    else:
        if settings.seconds is None:
            click.echo(f"this run goes on as long as there may be more; {HOW_TO_STOP}", err=True)
        summaries = _run_at_once([jobs[number] for number in order or range(len(jobs))], settings)
    seconds = time.perf_counter() - started
    return _merge({job.name: summaries[job.name] for job in jobs if job.name in summaries}, seconds)


def _job(program: Program, environment: Environment, settings: RunSettings) -> _Job:
    name = program.application.name
    return _Job(
        program=program,
        environment=replace(environment.renewed(), dead_letters=f"dead_letters.{name}.jsonl"),
        settings=replace(settings, checkpoint=None if settings.checkpoint is None else settings.checkpoint / name),
    )


def _check_names(jobs: Sequence[_Job]) -> None:
    names = [job.name for job in jobs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        hint = "run them by a command for each, with the same --streams"
        raise UserError(f"two applications of this run are called `{twice}`", hint=hint)


def _ends(exchange: Exchange, settings: RunSettings) -> bool:
    """Whether all applications end by themselves, once those that feed them have."""
    from penstock.runtime.sources.following import can_have_more

    if settings.until_done or settings.continuous or settings.seconds is not None:
        return settings.until_done
    return not exchange.unfed and not any(
        can_have_more(program.application, exchange.environment, but_imports=True)
        or any(endless_sources(program.application))
        for program in exchange.programs
    )


def _run_in_order(jobs: Sequence[_Job]) -> dict[str, Summary]:
    """Run jobs one after the other, until one is stopped."""
    summaries: dict[str, Summary] = {}
    for job in jobs:
        click.echo(f"running {job.name}", err=True)
        settings = replace(job.settings, until_done=True)
        summaries[job.name] = run_with(job.program, job.environment, settings)
        if summaries[job.name].stopped in _STOPPED:
            break
    return summaries


def _run_at_once(jobs: Sequence[_Job], settings: RunSettings) -> dict[str, Summary]:
    """Run jobs at the same time, each started when those before it have; the failure of one stops the others."""
    from penstock.spark.job.child_session import find_session
    from penstock.spark.job.session import ON_PLACES, open_session
    from penstock.spark.job.watch import Interrupt

    click.echo(f"starting Spark at {settings.master}", err=True)
    spark = open_session(settings.master, **({} if settings.placement == "spark" else ON_PLACES))
    interrupt = Interrupt(lambda text: click.echo(text, err=True))
    running: dict[str, Future[Summary]] = {}
    with interrupt.handling(), ThreadPoolExecutor(len(jobs)) as threads:
        for job in jobs:
            among = Among(spark=find_session(spark, settings.master), asked=lambda: interrupt.count)
            running[job.name] = threads.submit(run_with, job.program, job.environment, job.settings, among)
            _wait_for_start(among, running.values())
        _wait_for_all(running.values(), interrupt)
    return {name: future.result() for name, future in running.items()}


def _wait_for_start(among: Among, running: Iterable[Future[Summary]]) -> None:
    """Wait until a job has begun, or one has failed: importers are to find the streams of this run, not of the last."""
    while not among.has_begun.wait(LOOK_SECONDS):
        if any(future.done() for future in running):
            return


def _wait_for_all(running: Iterable[Future[Summary]], interrupt: Interrupt) -> None:
    waiting = set(running)
    while waiting:
        done, waiting = wait(waiting, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        if any(future.exception() is not None for future in done) and waiting and not interrupt.count:
            interrupt.count = 1


def _merge(summaries: Mapping[str, Summary], seconds: float) -> Summary:
    """One summary of several, in which the name of an application stands before the ids of its operators."""

    def merged(counts: Callable[[Summary], Mapping[str, object]]) -> dict[str, object]:
        return {f"{name}.{id_}": n for name, s in summaries.items() for id_, n in counts(s).items()}

    stops = [s.stopped for s in summaries.values()]
    files = [s.dead_letters_file for s in summaries.values() if s.dead_letters_file is not None]
    return Summary(
        application=", ".join(summaries),
        engine="spark",
        stopped=next((stop for stop in _STOPPED if stop in stops), "done"),
        seconds=seconds,
        received=merged(lambda s: s.received),  # type: ignore[arg-type]  # what goes in comes out
        submitted=merged(lambda s: s.submitted),  # type: ignore[arg-type]
        rejected=merged(lambda s: s.rejected),  # type: ignore[arg-type]
        dead_letters_file=files[0] if files else None,
        late=merged(lambda s: s.late),  # type: ignore[arg-type]
        expired=merged(lambda s: s.expired),  # type: ignore[arg-type]
        more={"applications": {name: dict(s.more) for name, s in summaries.items()}},
    )
