"""`penstock suspend`: a job of the service is to be stopped behind its batch; it can be resumed."""

from __future__ import annotations

import click

from penstock.cli.options.service_options import ask_for, asks_service, json_option
from penstock.service.client import Client


@click.command()
@click.argument("job")
@asks_service
@json_option
def command(job: str, client: Client, as_json: bool) -> int:
    """Let JOB be stopped behind its batch; it can be resumed.

    \b
    Example:
        penstock suspend alerts
    """
    return ask_for(client, job, "suspend", "stopped behind its batch; it can be resumed", as_json=as_json)
