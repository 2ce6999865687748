"""`penstock savepoint`: take a savepoint of a stopped job."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import print_json
from penstock.cli.options.option_types import LocalFolder
from penstock.cli.options.spark_environment import takes_spark_environment


@click.command()
@click.argument("checkpoint", type=LocalFolder())
@click.option(
    "-o",
    "--output",
    type=LocalFolder(),
    metavar="DIR",
    help="Where to write it: a folder that is not there yet, or empty. Default: CHECKPOINT-savepoint.",
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@takes_spark_environment
@click.option("--json", "as_json", is_flag=True, help="Print what it holds as JSON.")
def command(checkpoint: Path, output: Path | None, master: str, as_json: bool) -> int:
    """Write a savepoint of the stopped job of CHECKPOINT: its whole state, in a form that no plan is part of.

    A job goes on from a savepoint with any fusion, any channels and batches of any size: `penstock run APP --from DIR`.
    What the job has begun and not finished, because it was killed, is finished first. The checkpoint stays as it is.

    \b
    Example:
        penstock savepoint c -o saved
        penstock run clicks.py:app --from saved --checkpoint c2 --channels 8
    """
    from penstock.spark.job.session import open_session
    from penstock.spark.savepoints.stopped_jobs import save_job

    folder = output or checkpoint.with_name(f"{checkpoint.absolute().name}-savepoint")
    savepoint = save_job(open_session(master), checkpoint.absolute(), folder, lambda text: click.echo(text, err=True))
    state = savepoint.state
    if as_json:
        print_json({"savepoint": str(folder), "application": state.application, "batch": state.batch})
    else:
        click.echo(f"{folder}: {state.application} before batch {state.batch}, {len(state.operators)} operators")
    return 0
