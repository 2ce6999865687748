"""`penstock cancel`: a job of the service is to be ended for good, or forgotten."""

from __future__ import annotations

import click

from penstock.cli import print_json
from penstock.cli.options.service_options import ask_for, asks_service, json_option
from penstock.service.client import Client


@click.command()
@click.argument("job")
@click.option(
    "--forget",
    is_flag=True,
    help="Forget a job that is over, with its folder: its name is free again. What its sinks have written elsewhere "
    "stays, and so do the streams that it has exported.",
)
@asks_service
@json_option
def command(job: str, forget: bool, client: Client, as_json: bool) -> int:
    """Let JOB be ended for good.

    \b
    Example:
        penstock cancel alerts
        penstock cancel alerts --forget
    """
    if not forget:
        return ask_for(client, job, "cancel", "ended for good", as_json=as_json)
    answer = client.delete("jobs", job)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"job {job} is forgotten", err=True)
    return 0
