"""`penstock check`: parse and type-check an application."""

from __future__ import annotations

import click

from penstock.cli import print_json
from penstock.cli.options.application_options import AppArguments, takes_application


@click.command()
@takes_application
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(arguments: AppArguments, as_json: bool) -> int:
    """Parse and type-check APP; report every error with its place.

    APP is a .spl file, or MODULE:app or FILE.py:app for the Python API.

    \b
    Example:
        penstock check examples/bargains/bargains.spl
    """
    program = arguments.program()
    arguments.tell_warnings(program)
    application = program.application
    # The papers count a stream once for each operator that subscribes to it.
    counts = {
        "operators": len(application.operators),
        "streams": len(application.streams),
        "subscriptions": sum(1 for _ in application.edges()),
    }
    if as_json:
        print_json({"application": application.name, **counts, "errors": []})
    else:
        click.echo(f"{application.name}: {', '.join(f'{n} {what}' for what, n in counts.items())}, no errors")
    return 0
