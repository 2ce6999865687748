"""`penstock set-weight`: change how much the streams of a job count."""

from __future__ import annotations

import click

from penstock.cli import print_json
from penstock.cli.options.option_types import Number
from penstock.cli.options.service_options import asks_service, json_option
from penstock.service.client import Client


@click.command()
@click.argument("job")
@click.argument("weight", type=Number(min=0.0))
@asks_service
@json_option
def command(job: str, weight: float, client: Client, as_json: bool) -> int:
    """Multiply what the streams of JOB are worth with WEIGHT, from the next decision on.

    \b
    Example:
        penstock set-weight alerts 2.5
    """
    answer = client.put("jobs", job, "weight", body={"weight": weight})
    if as_json:
        print_json(answer)
    else:
        click.echo(f"job {answer['id']} has weight {answer['weight']:g}", err=True)
    return 0
