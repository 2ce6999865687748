"""`penstock resume`: a job of the service is to be run again when it has a place."""

from __future__ import annotations

import click

from penstock.cli.options.service_options import ask_for, asks_service, json_option
from penstock.service.client import Client


@click.command()
@click.argument("job")
@asks_service
@json_option
def command(job: str, client: Client, as_json: bool) -> int:
    """Let JOB be run again when it has a place.

    \b
    Example:
        penstock resume alerts
    """
    return ask_for(client, job, "resume", "run again when it has a place", as_json=as_json)
