"""`penstock logs`: what a job of the service has printed."""

from __future__ import annotations

import click

from penstock.cli.options.service_options import asks_service
from penstock.service.client import Client


@click.command()
@click.argument("job")
@click.option(
    "--bytes",
    "most",
    type=click.IntRange(0, 1 << 20),
    default=10_000,
    show_default=True,
    help="How much of the end is shown.",
)
@asks_service
def command(job: str, most: int, client: Client) -> int:
    """Show the end of what the last process of JOB has printed.

    \b
    Example:
        penstock logs alerts
    """
    click.echo(client.text("jobs", job, "log", bytes=most), nl=False)
    return 0
