"""`penstock cancel`: a job of the service is to be ended for good."""

from __future__ import annotations

import click

from penstock.cli.options.service_options import ask_for, asks_service, json_option
from penstock.service.client import Client


@click.command()
@click.argument("job")
@asks_service
@json_option
def command(job: str, client: Client, as_json: bool) -> int:
    """Let JOB be ended for good.

    \b
    Example:
        penstock cancel alerts
    """
    return ask_for(client, job, "cancel", "ended for good", as_json=as_json)
