"""The options of every command that asks a service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from penstock.cli import print_json
from penstock.service.client import DEFAULT_URL, URL_VARIABLE, Client


def asks_service(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--server` to a command, which gets a `client`."""

    def take(context: click.Context, parameter: click.Parameter, value: str | None) -> Client:
        return Client(value)

    option = click.option(
        "--server",
        "client",
        metavar="URL",
        callback=take,
        help=f"The service. Default: {DEFAULT_URL}; a token is taken from PENSTOCK_TOKEN. [{URL_VARIABLE}]",
    )
    return option(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")(function)


def ask_for(client: Client, job: str, verb: str, wish: str, *, as_json: bool) -> int:
    """Ask the service for something about a job, and say what it will do; the exit status."""
    answer = client.post("jobs", job, verb)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"job {answer['id']} is {answer['state']}, and is to be {wish}", err=True)
    return 0
