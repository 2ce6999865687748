"""`penstock set-rank`: change how early a job is admitted."""

from __future__ import annotations

from typing import Any

import click

from penstock.cli import print_json
from penstock.cli.options.service_options import asks_service, json_option
from penstock.service.client import Client


@click.command()
@click.argument("job")
@click.argument("rank", type=click.IntRange(min=1))
@click.option("--required/--not-required", default=None, help="Whether it must be admitted.")
@asks_service
@json_option
def command(job: str, rank: int, required: bool | None, client: Client, as_json: bool) -> int:
    """Give JOB another RANK, from 1, the best: no job of a worse rank runs while one of a better rank is left out.

    \b
    Example:
        penstock set-rank alerts 1 --required
    """
    body: dict[str, Any] = {"rank": rank} | ({} if required is None else {"required": required})
    answer = client.put("jobs", job, "rank", body=body)
    if as_json:
        print_json(answer)
    else:
        word = " and is required" if answer["required"] else ""
        click.echo(f"job {answer['id']} has rank {answer['rank']}{word}", err=True)
    return 0
