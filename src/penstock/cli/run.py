"""`penstock run`: run an application."""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli import print_json
from penstock.cli.application import AppArguments, takes_application

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.reference.result import RunResult
    from penstock.toolkit.program import Program

DEAD_LETTERS = "dead_letters.jsonl"


@click.command()
@takes_application
@click.option(
    "--engine",
    type=click.Choice(["spark", "reference"]),
    default="reference",
    show_default=True,
    help="What runs it: the sequential interpreter that defines every program, or Spark.",
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@click.option(
    "--fusion",
    type=click.Choice(["none", "all"]),
    default="all",
    show_default=True,
    help="Which operators share a PE on Spark.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where Spark keeps the state of the job; start again with the same folder to resume.",
)
@click.option("--until-done", is_flag=True, help="Run until every source has ended. This is the default.")
@click.option(
    "--for",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Stop when this much of the application's time has passed (reference only).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where sinks write relative file names. Default: the data folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
def command(
    arguments: AppArguments,
    engine: str,
    master: str,
    fusion: str,
    checkpoint: Path | None,
    until_done: bool,
    seconds: float | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Run APP and say how many tuples each operator took and gave.

    The reference interpreter keeps a clock of its own: `--for 60` is a minute of the application's time, however
    quickly it passes. Records that cannot be processed are set aside in dead_letters.jsonl where the operator's policy
    is to skip them; otherwise the first one ends the run with exit status 1.

    \b
    Example:
        penstock run examples/bargains/bargains.spl --out results
        penstock run examples/bargains/bargains.py:app --set groups=8
        penstock run examples/bargains/bargains.spl --engine spark --checkpoint job1
    """
    if until_done and seconds is not None:
        raise click.UsageError("--until-done and --for exclude each other")
    if engine == "spark" and seconds is not None:
        raise click.UsageError("--for goes with --engine reference")
    program = arguments.program()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    environment = arguments.environment(program, out)
    if engine == "spark":
        return _run_on_spark(program, environment, master, fusion, checkpoint, as_json)
    return _run_on_reference(program, environment, seconds, as_json)


def _run_on_reference(program: Program, environment: Environment, seconds: float | None, as_json: bool) -> int:
    from penstock.reference import run

    started = time.perf_counter()
    result = run(program, environment=environment, max_time_ns=None if seconds is None else round(seconds * 1e9))
    elapsed = time.perf_counter() - started
    letters = _write_dead_letters(result, environment.output_directory)
    if as_json:
        print_json(_summary(program.application.name, result, elapsed, letters))
    else:
        _print_summary(program.application.name, result, elapsed, letters)
    return 130 if result.stopped.value == "interrupted" else 0


def _run_on_spark(
    program: Program, environment: Environment, master: str, fusion: str, checkpoint: Path | None, as_json: bool
) -> int:
    from penstock.spark.run import run_on_spark
    from penstock.spark.session import open_session

    click.echo(f"starting Spark at {master}", err=True)
    spark = open_session(master)
    ids = [o.id for o in program.application.operators]
    folder: Any = tempfile.TemporaryDirectory() if checkpoint is None else nullcontext(checkpoint)
    with folder as place:
        outcome = run_on_spark(
            program,
            spark,
            fusion=[ids] if fusion == "all" else [[id_] for id_ in ids],
            environment=environment,
            checkpoint=Path(place) / "job" if checkpoint is None else checkpoint,
            on_progress=lambda p: click.echo(f"batch {p['batchId']}: {p['batchDuration']} ms", err=True),
        )
    if as_json:
        print_json(
            {
                "application": program.application.name,
                "engine": "spark",
                "stopped": outcome.stopped,
                "seconds": outcome.seconds,
                "batches": outcome.batches,
                "resumed": outcome.resumed,
                "pes": [list(pe) for pe in outcome.pes],
            }
        )
    else:
        what = f"{outcome.batches} batches by {len(outcome.pes)} PEs in {outcome.seconds:.1f} s"
        click.echo(f"{program.application.name}: {outcome.stopped}, {what}", err=True)
    if outcome.stopped == "interrupted" and checkpoint is not None:
        click.echo(f"to resume, run the same command with --checkpoint {checkpoint}", err=True)
    return 130 if outcome.stopped == "interrupted" else 0


def _write_dead_letters(result: RunResult, folder: Path) -> Path | None:
    if not result.dead_letters:
        return None
    path = folder / DEAD_LETTERS
    with path.open("w", encoding="utf-8") as file:
        for letter in result.dead_letters:
            record = {"operator": letter.operator, "reason": letter.reason, "record": letter.record}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def _summary(name: str, result: RunResult, elapsed: float, letters: Path | None) -> dict[str, object]:
    ids = dict.fromkeys([*result.submitted, *result.received])
    return {
        "application": name,
        "engine": "reference",
        "stopped": result.stopped.value,
        "seconds": elapsed,
        "tuples": result.tuples,
        "tuples_per_second": result.tuples / elapsed if elapsed else 0.0,
        "operators": {
            id_: {
                "received": list(result.received.get(id_, ())),
                "submitted": list(result.submitted.get(id_, ())),
                "rejected": result.rejected.get(id_, 0),
            }
            for id_ in ids
        },
        "dead_letters": len(result.dead_letters),
        "dead_letters_file": None if letters is None else str(letters),
        "metrics": dict(result.metrics),
    }


def _print_summary(name: str, result: RunResult, elapsed: float, letters: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True)
    table = Table("operator", "in", "out", title=f"{name}: {result.stopped.value}", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for id_ in dict.fromkeys([*result.submitted, *result.received]):
        counts = (result.received.get(id_, ()), result.submitted.get(id_, ()))
        table.add_row(id_, *(" + ".join(f"{n:,}" for n in ports) for ports in counts))
    console.print(table)
    rate = result.tuples / elapsed if elapsed else 0.0
    console.print(f"{result.tuples:,} tuples over all operators in {elapsed:.2f} s ({rate:,.0f} a second)")
    if letters is not None:
        rejected = ", ".join(f"{count:,} by {id_}" for id_, count in result.rejected.items())
        console.print(f"set aside in {letters}: {rejected}")
