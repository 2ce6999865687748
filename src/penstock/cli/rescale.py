"""`penstock rescale`: give a job other channels."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import print_json
from penstock.cli.options.option_types import LocalFolder
from penstock.cli.options.spark_environment import takes_spark_environment


@click.command()
@click.argument("checkpoint", type=LocalFolder())
@click.option("--channels", type=click.IntRange(min=1), required=True, metavar="N", help="How many channels it gets.")
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@takes_spark_environment
@click.option("--json", "as_json", is_flag=True, help="Print the seconds of each phase as JSON.")
def command(checkpoint: Path, channels: int, master: str, as_json: bool) -> int:
    """Give the parallel regions of the job of CHECKPOINT other channels; its state is dealt out by key group.

    A job that runs stops between two batches, goes on with the new channels, and this command tells how long that took.
    A job that is stopped goes on with them when it is started again.

    \b
    Example:
        penstock rescale c --channels 8
    """
    from penstock.spark.savepoints.rescale_requests import is_running, request_rescale

    checkpoint = checkpoint.absolute()
    if is_running(checkpoint):
        phases, widths = request_rescale(checkpoint, channels)
    else:
        from penstock.spark.job.session import open_session
        from penstock.spark.savepoints.stopped_jobs import rescale_job

        phases, widths = rescale_job(open_session(master), checkpoint, channels, lambda text: None)
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


def _listed(widths: list[int]) -> str:
    return ", ".join(map(str, widths))
