"""`penstock remove`: the service is to forget a job that is over."""

from __future__ import annotations

import click

from penstock.cli import print_json
from penstock.cli.options.service_options import asks_service, json_option
from penstock.service.client import Client


@click.command()
@click.argument("job")
@asks_service
@json_option
def command(job: str, client: Client, as_json: bool) -> int:
    """Forget JOB, which is done or cancelled, with its folder; its name is free again.

    What its sinks have written elsewhere stays, and so do the streams that it has exported.

    \b
    Example:
        penstock remove alerts
    """
    answer = client.delete("jobs", job)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"job {job} is forgotten", err=True)
    return 0
