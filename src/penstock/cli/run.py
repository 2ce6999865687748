"""`penstock run`: run an application."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli import print_json
from penstock.cli.engines.relaunch import choose_relaunches
from penstock.cli.engines.run_engine import metrics_at, report_in, run_on_engine, run_supervised, serve_if
from penstock.cli.engines.settings import RunSettings
from penstock.cli.engines.termination import stop_on_sigterm
from penstock.cli.options.application_options import AppArguments, takes_application
from penstock.cli.options.option_types import ChannelsType, LocalFolder, RescheduleType, SizeType
from penstock.cli.options.run_checks import check_together, refuse_options_of_spark
from penstock.cli.options.spark_environment import setter_of, takes_spark_environment
from penstock.cli.output.json_log import VARIABLE as LOG_FORMAT
from penstock.cli.output.json_log import choose_log_format
from penstock.cli.output.notices import describe_end
from penstock.cli.output.summary import print_summary
from penstock.compiler.fusion_names import AUTO, FUSIONS, LOOPS
from penstock.expr.configurations import VARIABLE as APP_CONFIG

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.toolkit.core.program import Program

CHECKS = ("none", "some", "all")


class _StartTime(click.ParamType[int]):
    """A time: a date with hours, or seconds since 1970."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The nanoseconds since 1970."""
        text = str(value)
        try:
            return round(float(text) * 1e9) if text.replace(".", "", 1).isdigit() else _nanoseconds(text)
        except ValueError:
            self.fail(f"`{text}` is not a time; give 2026-01-31T12:00:00, or seconds since 1970", param, ctx)


def _nanoseconds(text: str) -> int:
    when = datetime.fromisoformat(text)
    since = (when if when.tzinfo else when.replace(tzinfo=UTC)) - datetime.fromtimestamp(0, UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000


class _Run(click.Command):
    """A command that takes `--verify-models` alone for `--verify-models all`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in the value where none is given; what follows may be the application."""
        for i, argument in enumerate(args):
            if argument == "--verify-models" and args[i + 1 : i + 2] not in ([c] for c in CHECKS):
                args = [*args[:i], "--verify-models=all", *args[i + 1 :]]
        return super().parse_args(ctx, args)


@click.command(cls=_Run)
@takes_application
@click.option(
    "--engine",
    type=click.Choice(["spark", "local", "reference"]),
    default="spark",
    show_default=True,
    help="What runs it: Spark; this process alone, which starts at once; or the sequential interpreter that defines "
    "every program.",
)
@click.option(
    "--with",
    "others",
    multiple=True,
    metavar="APP",
    help="Another application to run together with APP, where one may import what the other exports; "
    "may be given several times.",
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@click.option(
    "--fusion",
    type=click.Choice(FUSIONS),
    default=AUTO,
    show_default=True,
    help="Which operators share a PE on Spark; auto: the fastest by the last profile, on as many channels as gain, and "
    "everything without a profile.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A plan by `penstock optimize`, instead of --fusion.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A profile by `penstock profile` to choose by, instead of the last one.",
)
@click.option(
    "--channels",
    type=ChannelsType(),
    help="How many channels parallel regions get on Spark; auto: as many as gain by the last profile, or a short one "
    "that is taken first. Default: with --fusion auto as many as gain, if there is a profile; otherwise as @parallel "
    "annotations say.",
)
@click.option(
    "--loops",
    type=click.Choice(LOOPS),
    default="auto",
    show_default=True,
    help="Where a loop leads on Spark: inside one PE; through the next batch, so that regions on it get channels and "
    "each round is a batch; auto: whichever is faster by the last profile.",
)
@click.option(
    "--checkpoint",
    type=LocalFolder(),
    metavar="DIR",
    help="Where Spark keeps the state of the job; start again with the same folder to resume.",
)
@click.option(
    "--from",
    "start_from",
    type=LocalFolder(),
    metavar="SAVEPOINT",
    help="Go on from a savepoint by `penstock savepoint`, on Spark with a new checkpoint, or on the local engine.",
)
@click.option(
    "--allow-dropped-state",
    is_flag=True,
    help="Resume a changed program although state is dropped: that of operators that are gone, or have another kind, "
    "key or schema.",
)
@click.option(
    "--key-groups",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many groups keys are divided into: the most channels that the job can ever have. Default: 720, or as the "
    "checkpoint says.",
)
@click.option(
    "--state-limit",
    type=SizeType(),
    metavar="SIZE",
    help="How much state a channel may hold, such as 512MiB or 2GiB: a job that needs more ends with a message, and "
    "goes on with more channels.",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Go on with a checkpoint that another process holds; that one will notice before it writes.",
)
@click.option(
    "--accept-changed-code",
    is_flag=True,
    help="Resume although the Python code of an operator with state has changed.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    default=200_000,
    show_default=True,
    help="How many tuples sources give for one batch, at most; the reference has none.",
)
@click.option("--until-done", is_flag=True, help="Process what the sources have now, then stop.")
@click.option(
    "--continuous",
    is_flag=True,
    help="Go on when the sources have no more for now; time is then the clock on the wall. Not on the reference.",
)
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Stop after this time: of the application on the reference, if any passes in it; of the clock elsewhere.",
)
@click.option(
    "--out",
    type=LocalFolder(),
    metavar="DIR",
    help="Where sinks write relative file names. Default: the data folder.",
)
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="FOLDER=DIR",
    help="Write files whose absolute names begin with FOLDER below DIR, a folder in --out; may be given several times.",
)
@click.option(
    "--start-time",
    "start_ns",
    type=_StartTime(),
    metavar="TIME",
    help="When the application's clock starts: 2026-01-31T12:00:00 (UTC), or seconds since 1970. Default: now.",
)
@click.option(
    "--relaunches",
    type=click.IntRange(min=0),
    metavar="N",
    help="How often to start again, from the last batch, after an operator has failed. Default: 5 if the program says "
    "`restartable: true` or `@consistent`, otherwise 0.",
)
@click.option(
    "--restart",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run in a process of its own, and start it again from its --checkpoint when it fails, whatever the cause, "
    "after 1, 2, 4, ... 60 seconds; give up after N failures in a row without a batch in between.",
)
@click.option(
    "--placement",
    type=click.Choice(("even", "greedy", "metis", "spark")),
    default="spark",
    show_default=True,
    help="On which executors of a cluster the channels of PEs with state run: dealt out evenly, by what they send each "
    "other, or where Spark puts them.",
)
@click.option(
    "--reschedule",
    type=RescheduleType(),
    default="never",
    show_default=True,
    help="How often to see whether channels should run on other executors; they move if it pays.",
)
@click.option(
    "--tables",
    type=click.Choice(("fixed", "measured")),
    default="fixed",
    show_default=True,
    help="With --placement greedy or metis: whether key groups move to other channels, so that those which talk to "
    "each other meet on one host, where that pays.",
)
@click.option(
    "--hosts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The tags, racks and links of the hosts of a cluster, by the names that its executors have; for demands of "
    "the program on hosts, and --placement.",
)
@click.option(
    "--metrics",
    metavar="[HOST:]PORT",
    help="Serve /metrics, for Prometheus, and /health while it runs; on this machine alone unless HOST says otherwise.",
)
@click.option(
    "--log-format",
    type=click.Choice(("text", "json")),
    expose_value=False,
    is_eager=True,
    callback=choose_log_format,
    help=f"How messages and progress are written to standard error: json is a line of JSON for each. [{LOG_FORMAT}]",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep the counts of the run in FILE, as JSON, written anew behind every batch.",
)
@click.option(
    "--verify-models",
    "verified",
    type=click.Choice(CHECKS),
    default="some",
    show_default=True,
    help="Check what the models of operators claim: those of Python operators on their first tuples; all of them on "
    "every tuple, several times slower (also --verify-models alone); or none.",
)
@takes_spark_environment
@click.option(
    "--app-config",
    metavar="FILE",
    expose_value=False,
    callback=setter_of(APP_CONFIG),
    help="Application configurations, a JSON object with the properties of each; for `getApplicationConfiguration`. "
    f"[{APP_CONFIG}]",
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def command(
    arguments: AppArguments,
    engine: str,
    others: tuple[str, ...],
    out: Path | None,
    mapped: tuple[str, ...],
    start_ns: int | None,
    relaunches: int | None,
    restart: int | None,
    metrics: str | None,
    report: Path | None,
    verified: str,
    as_json: bool,
    **given: Any,
) -> int:
    """Run APP and say how many tuples each operator took and gave.

    A run ends when every source has ended; a source that can have more at any time (a growing directory, a hot file, a
    socket, a Kafka topic, an imported stream) goes on until Ctrl-C, which stops at the end of a batch. With the same
    --checkpoint it then goes on where it stopped. SIGTERM does the same, with exit status 0. Files and partitions that
    a Python source reads are read once, unless --continuous or --for says that the run shall go on. The reference
    interpreter keeps a clock of its own: `--for 60` is a minute of the application's time, however quickly it passes.
    The local engine runs what Spark would run, with the same results, in this process: it starts at once, and its state
    is not kept.

    Which operators share a PE on Spark, and on how many channels, is chosen by a profile, if there is one, and said in
    one line. Neither changes results. The first run of an application looks at some of its tuples, and leaves a profile
    for the next.

    Records that cannot be processed are set aside in dead_letters.jsonl where the operator's policy is to skip them;
    otherwise the first one ends the run with exit status 1.

    \b
    Example:
        penstock run examples/bargains/bargains.spl --out results
        penstock run examples/bargains/bargains.py:app --set groups=8
        penstock run examples/bargains/bargains.spl --channels auto --checkpoint c
        penstock run examples/bargains/bargains.spl --engine local
    """
    to_end = {name: given[name] for name in ("until_done", "continuous", "seconds")}
    check_together(engine, others=others, **to_end)
    if engine == "local":
        refuse_options_of_spark()
    watching = "--metrics" if metrics is not None else "--report" if report is not None else None
    if watching is not None and engine == "reference":
        hint = "the reference interpreter has no batches"
        raise click.UsageError(f"{watching} is for Spark and the local engine: {hint}")
    if restart is not None:
        return run_supervised(engine, given["checkpoint"], restart)
    program, *more = (_checking(p, verified) for p in (arguments.program(), *map(arguments.other_program, others)))
    arguments.tell_warnings(program)
    most = choose_relaunches(program.application, relaunches)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    environment = arguments.environment(program, out, time.time_ns() if start_ns is None else start_ns)
    environment = replace(environment, output_map=_output_map(mapped, environment.output_directory))
    if given["seconds"] is None and not given["until_done"] and not more:
        _tell_of_end(program, environment, engine)
    settings = RunSettings(relaunches=most, metrics=metrics_at(metrics), report=report_in(report), **given)
    with stop_on_sigterm() as termination, serve_if(metrics, settings.metrics):
        summary = run_on_engine([program, *more], environment, settings, engine)
    if as_json:
        print_json(summary.to_json())
    else:
        print_summary(summary)
    return 130 if summary.stopped == "interrupted" and not termination.is_asked else 0


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _tell_of_end(program: Program, environment: Environment, engine: str) -> None:
    """Say that a run does not end by itself, and how to stop it."""
    has_more = False
    if engine == "spark":
        from penstock.runtime.sources.following import can_have_more

        has_more = can_have_more(program.application, environment)
    notice = describe_end(program.application, has_more)
    if notice is not None:
        _tell(notice)


def _output_map(given: tuple[str, ...], out: Path) -> tuple[tuple[Path, Path], ...]:
    """The folders that `--map` names, the longest first."""
    found = []
    for item in given:
        folder, equals, other = item.partition("=")
        if not equals or not Path(folder).is_absolute():
            raise click.BadParameter(f"`{item}` is not FOLDER=DIR with an absolute FOLDER", param_hint="--map")
        found.append((Path(folder), out / other))
    return tuple(sorted(found, key=lambda pair: -len(pair[0].parts)))


def _checking(program: Program, verified: str) -> Program:
    """A program whose models are checked as it runs."""
    if verified == "none":
        return program
    from penstock.runtime.verify.verify_models import verify_models, verify_some

    return verify_models(program) if verified == "all" else verify_some(program)
