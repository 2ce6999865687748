"""`penstock explain`: show an application at a stage of its compilation."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli import print_json
from penstock.cli.application import AppArguments, takes_application

STAGES = ("logical",)


@click.command()
@takes_application
@click.option("--stage", type=click.Choice(STAGES), default="logical", show_default=True, help="Which stage to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the graph as JSON.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page that draws the graph."
)
def command(arguments: AppArguments, stage: str, as_json: bool, html: Path | None) -> int:
    """Show the graph of APP: its operators, streams, and what the compiler knows of each.

    \b
    Example:
        penstock explain examples/bargains/bargains.spl
        penstock explain examples/bargains/bargains.spl --html graph.html
    """
    from penstock.ir.codec import to_json
    from penstock.ir.pretty import pretty

    application = arguments.program().application
    if html is not None:
        from penstock.draw.page import graph_page

        html.write_text(graph_page(application), encoding="utf-8")
        click.echo(f"wrote {html}", err=True)
    if as_json:
        print_json(to_json(application))
    elif html is None:
        click.echo(pretty(application))
    return 0
