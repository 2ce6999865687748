"""`penstock explain`: show an application at a stage of its compilation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli import print_json
from penstock.cli.application import AppArguments, takes_application

if TYPE_CHECKING:
    from penstock.ir.graph import Application

STAGES = ("logical", "parallel")
BEYOND = ("prolific", "fan-out")


@click.command()
@takes_application
@click.option("--stage", type=click.Choice(STAGES), default="logical", show_default=True, help="Which stage to show.")
@click.option("--json", "as_json", is_flag=True, help="Print the graph as JSON.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page that draws the graph."
)
@click.option(
    "--beyond",
    multiple=True,
    type=click.Choice(BEYOND),
    help="For --stage parallel: also replicate operators of this kind; may be given several times.",
)
def command(arguments: AppArguments, stage: str, as_json: bool, html: Path | None, beyond: tuple[str, ...]) -> int:
    """Show APP at a stage of its compilation.

    \b
    logical   the graph: operators, streams, and what the compiler knows of each
    parallel  the parallel regions, how their tuples are routed and ordered, and why all else is not parallel

    \b
    Example:
        penstock explain examples/bargains/bargains.spl
        penstock explain examples/bargains/bargains.spl --stage parallel
        penstock explain examples/bargains/bargains.spl --html graph.html
    """
    application = arguments.program().application
    view = _parallel(application, beyond) if stage == "parallel" else _logical(application)
    if html is not None:
        html.write_text(view.page(), encoding="utf-8")
        click.echo(f"wrote {html}", err=True)
    if as_json:
        print_json(view.json())
    elif html is None:
        click.echo(view.text())
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The three forms in which a stage is shown."""

    text: Callable[[], str]
    json: Callable[[], object]
    page: Callable[[], str]


def _logical(application: Application) -> View:
    from penstock.draw.page import graph_page
    from penstock.ir.codec import to_json
    from penstock.ir.pretty import pretty

    return View(
        text=lambda: pretty(application),
        json=lambda: to_json(application),
        page=lambda: graph_page(application),
    )


def _parallel(application: Application, beyond: tuple[str, ...]) -> View:
    from penstock.draw.page import Group, graph_page
    from penstock.parallel.extensions import Extensions
    from penstock.parallel.regions import parallel_regions
    from penstock.parallel.report import pretty_regions, regions_json, summary_of

    plan = parallel_regions(application, Extensions(prolific="prolific" in beyond, fan_out="fan-out" in beyond))
    notes = {id_: [("not parallel", str(reason)) for reason in reasons] for id_, reasons in plan.refused.items()}
    groups = [Group(label=summary_of(region), operators=region.operators) for region in plan.regions]
    return View(
        text=lambda: pretty_regions(application, plan),
        json=lambda: regions_json(application, plan),
        page=lambda: graph_page(application, groups=groups, notes=notes),
    )
