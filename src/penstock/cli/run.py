"""`penstock run`: run an application."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli import print_json
from penstock.cli.application import AppArguments, takes_application
from penstock.cli.fusion_names import FUSIONS

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.reference.engine import Engine
    from penstock.reference.result import RunResult
    from penstock.toolkit.program import Program

PROGRESS_SECONDS = 3.0


@click.command()
@takes_application
@click.option(
    "--engine",
    type=click.Choice(["spark", "reference"]),
    default="spark",
    show_default=True,
    help="What runs it: Spark, or the sequential interpreter that defines every program.",
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@click.option(
    "--fusion",
    type=click.Choice(FUSIONS),
    default="all",
    show_default=True,
    help="Which operators share a PE on Spark; auto: the fastest by the last profile.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A plan by `penstock optimize`, instead of --fusion.",
)
@click.option(
    "--channels",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many channels parallel regions get on Spark. Default: as @parallel annotations say.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where Spark keeps the state of the job; start again with the same folder to resume.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    default=200_000,
    show_default=True,
    help="How many tuples sources give for one batch on Spark.",
)
@click.option("--until-done", is_flag=True, help="Process what the sources have now, then stop.")
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Stop after this time: of the clock on Spark, of the application on the reference.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where sinks write relative file names. Default: the data folder.",
)
@click.option(
    "--verify-models",
    "verified",
    is_flag=True,
    help="Check on every tuple what the models of operators claim; several times slower.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def command(
    arguments: AppArguments,
    engine: str,
    master: str,
    fusion: str,
    plan: Path | None,
    channels: int | None,
    checkpoint: Path | None,
    batch: int,
    until_done: bool,
    seconds: float | None,
    out: Path | None,
    verified: bool,
    as_json: bool,
) -> int:
    """Run APP and say how many tuples each operator took and gave.

    A run ends when every source has ended; a source that can have more at any time (a growing directory, a socket, a
    Kafka topic, an imported stream) goes on until Ctrl-C, which stops at the end of a batch. With the same
    --checkpoint it then goes on where it stopped. The reference interpreter keeps a clock of its own: `--for 60` is a
    minute of the application's time, however quickly it passes.

    Records that cannot be processed are set aside in dead_letters.jsonl where the operator's policy is to skip them;
    otherwise the first one ends the run with exit status 1.

    \b
    Example:
        penstock run examples/bargains/bargains.spl --out results
        penstock run examples/bargains/bargains.py:app --set groups=8
        penstock run examples/bargains/bargains.spl --channels 2 --checkpoint c
        penstock run examples/bargains/bargains.spl --engine reference
    """
    if until_done and seconds is not None:
        raise click.UsageError("--until-done and --for exclude each other")
    program = arguments.program()
    if verified:
        from penstock.spark.verify_models import verify_models

        program = verify_models(program)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    environment = arguments.environment(program, out)
    if engine == "spark":
        settings = SparkSettings(
            master=master,
            fusion=fusion,
            plan=plan,
            channels=channels,
            checkpoint=checkpoint,
            batch=batch,
            until_done=until_done,
            seconds=seconds,
        )
        summary = _run_on_spark(program, environment, settings)
    else:
        summary = _run_on_reference(program, environment, seconds)
    if as_json:
        print_json(summary.to_json())
    else:
        _print_summary(summary)
    return 130 if summary.stopped == "interrupted" else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run came to, whatever ran it."""

    application: str
    engine: str
    stopped: str
    seconds: float
    received: Mapping[str, Sequence[int]]
    submitted: Mapping[str, Sequence[int]]
    rejected: Mapping[str, int]
    dead_letters_file: Path | None
    more: Mapping[str, object]

    @property
    def tuples(self) -> int:
        """The tuples received, summed over all operators."""
        return sum(sum(ports) for ports in self.received.values())

    @property
    def operators(self) -> list[str]:
        """The ids of all operators that took or gave tuples."""
        return list(dict.fromkeys([*self.submitted, *self.received]))

    def to_json(self) -> dict[str, object]:
        """The summary as `--json` prints it."""
        return {
            "application": self.application,
            "engine": self.engine,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "tuples": self.tuples,
            "tuples_per_second": self.tuples / self.seconds if self.seconds else 0.0,
            "operators": {
                id_: {
                    "received": list(self.received.get(id_, ())),
                    "submitted": list(self.submitted.get(id_, ())),
                    "rejected": self.rejected.get(id_, 0),
                }
                for id_ in self.operators
            },
            "dead_letters": sum(self.rejected.values()),
            "dead_letters_file": None if self.dead_letters_file is None else str(self.dead_letters_file),
            **self.more,
        }


def _run_on_reference(program: Program, environment: Environment, seconds: float | None) -> Summary:
    from penstock.reference import run

    started = time.perf_counter()
    limit_ns = None if seconds is None else round(seconds * 1e9)
    result = run(program, environment=environment, max_time_ns=limit_ns, watch=_show_progress)
    return Summary(
        application=program.application.name,
        engine="reference",
        stopped=result.stopped.value,
        seconds=time.perf_counter() - started,
        received=result.received,
        submitted=result.submitted,
        rejected=result.rejected,
        dead_letters_file=_write_dead_letters(result, environment.output_directory),
        more={"metrics": dict(result.metrics)},
    )


def _show_progress(engine: Engine) -> None:
    """On a terminal, say every few seconds how far the sources are."""
    if not sys.stderr.isatty():
        return

    def report() -> None:
        while True:
            time.sleep(PROGRESS_SECONDS)
            time_s = engine.clock.now_ns / 1e9
            click.echo(f"{engine.source_tuples:,} tuples from the sources, at {time_s:,.1f} s", err=True)

    threading.Thread(target=report, daemon=True).start()


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """How to run on Spark: the options of the command."""

    master: str
    fusion: str
    plan: Path | None
    channels: int | None
    checkpoint: Path | None
    batch: int
    until_done: bool
    seconds: float | None


def _run_on_spark(program: Program, environment: Environment, settings: SparkSettings) -> Summary:
    from penstock.cli.fusion_choice import chosen_fusion
    from penstock.cli.live import live_progress
    from penstock.cli.short_profile import keep_profile_of
    from penstock.reference.result import DEAD_LETTERS
    from penstock.spark.run import can_have_more, run_on_spark
    from penstock.spark.session import open_session

    click.echo(f"starting Spark at {settings.master}", err=True)
    spark = open_session(settings.master)
    checkpoint = settings.checkpoint
    choice = chosen_fusion(
        program,
        environment,
        spark,
        option=settings.fusion,
        plan=settings.plan,
        channels=settings.channels,
        checkpoint=checkpoint,
        tell=lambda text: click.echo(text, err=True),
    )
    folder: Any = tempfile.TemporaryDirectory() if checkpoint is None else nullcontext(checkpoint)
    with folder as place, live_progress(program.application) as on_progress:
        outcome = run_on_spark(
            program,
            spark,
            fusion=choice.fusion,
            environment=environment,
            checkpoint=Path(place) / "job" if checkpoint is None else checkpoint,
            channels=choice.channels,
            signals=choice.sampling,
            turns_per_batch=settings.batch,
            continuous=not settings.until_done and can_have_more(program.application),
            seconds=settings.seconds,
            on_progress=on_progress,
            notice=lambda text: click.echo(text, err=True),
        )
    if choice.sampling is not None:
        keep_profile_of(outcome, program.application)
    if outcome.stopped != "done":
        click.echo(_how_to_resume(checkpoint), err=True)
    letters = environment.output_directory / DEAD_LETTERS if outcome.totals.rejected else None
    return Summary(
        application=program.application.name,
        engine="spark",
        stopped=outcome.stopped,
        seconds=outcome.seconds,
        received=outcome.totals.received,
        submitted=outcome.totals.submitted,
        rejected=outcome.totals.rejected,
        dead_letters_file=letters,
        more={"batches": outcome.batches, "resumed": outcome.resumed, "pes": [list(pe) for pe in outcome.pes]},
    )


def _how_to_resume(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "it cannot be resumed: its state was not kept; give --checkpoint DIR to keep it"
    return f"to resume, run the same command again, with --checkpoint {checkpoint}"


def _write_dead_letters(result: RunResult, folder: Path) -> Path | None:
    from penstock.reference.result import DEAD_LETTERS

    if not result.dead_letters:
        return None
    path = folder / DEAD_LETTERS
    path.write_bytes(b"".join(letter.line() for letter in result.dead_letters))
    return path


def _print_summary(summary: Summary) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True)
    title = f"{summary.application}: {summary.stopped}"
    table = Table("operator", "in", "out", title=title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for id_ in summary.operators:
        counts = (summary.received.get(id_, ()), summary.submitted.get(id_, ()))
        table.add_row(id_, *(" + ".join(f"{n:,}" for n in ports) for ports in counts))
    console.print(table)
    rate = summary.tuples / summary.seconds if summary.seconds else 0.0
    what = f"{summary.tuples:,} tuples over all operators in {summary.seconds:.2f} s"
    console.print(f"{what} ({rate:,.0f} a second)")
    if summary.dead_letters_file is not None:
        rejected = ", ".join(f"{count:,} by {id_}" for id_, count in summary.rejected.items())
        console.print(f"set aside in {summary.dead_letters_file}: {rejected}")
