"""`penstock rescale`: give a job other channels."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.base.diagnostics import UserError
from penstock.base.json_source import read_json
from penstock.cli import print_json
from penstock.cli.options.option_types import LocalFolder
from penstock.cli.options.spark_environment import takes_spark_environment


@click.command()
@click.argument("checkpoint", type=LocalFolder())
@click.option(
    "--channels", type=click.IntRange(min=1), metavar="N", help="How many channels it gets; as many as now without."
)
@click.option(
    "--tables",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="JSON: for a region, or an operator in it, the channel of each key group.",
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@takes_spark_environment
@click.option("--json", "as_json", is_flag=True, help="Print the seconds of each phase as JSON.")
def command(checkpoint: Path, channels: int | None, tables: Path | None, master: str, as_json: bool) -> int:
    """Give the parallel regions of the job of CHECKPOINT other channels; its state is dealt out by key group.

    With --tables key groups go to the channels that a file names, whatever these are: {"Sums": [0, 1, 1, 0, ...]}.
    They stay there when the job is started again. Without, each channel holds equally many.

    A job that runs stops between two batches, goes on with the new channels, and this command tells how long that took.
    A job that is stopped goes on with them when it is started again.

    \b
    Example:
        penstock rescale c --channels 8
    """
    if channels is None and tables is None:
        raise click.UsageError("say what is to change: --channels N, --tables FILE, or both")
    from penstock.spark.savepoints.rescale_requests import is_running, request_rescale

    checkpoint = checkpoint.absolute()
    wanted = None if tables is None else read_tables(tables)
    if is_running(checkpoint):
        phases, widths = request_rescale(checkpoint, channels, wanted)
    else:
        from penstock.spark.job.session import open_session
        from penstock.spark.savepoints.stopped_jobs import rescale_job

        phases, widths = rescale_job(open_session(master), checkpoint, channels, lambda text: None, wanted)
    if as_json:
        print_json({"channels": widths, "seconds": phases})
        return 0
    if not phases:
        click.echo(f"nothing to do: its PEs have {_listed(widths)} channels")
        return 0
    click.echo(f"its PEs have {_listed(widths)} channels now")
    for name, seconds in phases.items():
        click.echo(f"  {name:<18} {seconds:6.2f} s")
    return 0


def read_tables(path: Path) -> dict[str, list[int]]:
    """The tables of key groups in a file, by region or operator.

    Raises:
        UserError: It is no JSON object of lists of channels.
    """
    found = read_json(path)
    if not isinstance(found, dict) or not all(isinstance(table, list) for table in found.values()):
        raise UserError(
            f"{path}: it is no table of key groups",
            hint='write an object that has a list of channels for a region or an operator: {"Sums": [0, 1, 1, 0]}',
        )
    return found


def _listed(widths: list[int]) -> str:
    return ", ".join(map(str, widths))
