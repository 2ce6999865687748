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
    from penstock.toolkit.program import Program

STAGES = ("logical", "parallel", "generated")
BEYOND = ("prolific", "fan-out", "fan-in")


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
    help="For --stage parallel: also replicate operators of this kind, as `run` does; may be given several times.",
)
@click.option(
    "--fusion",
    type=click.Choice(["none", "all"]),
    default="all",
    show_default=True,
    help="For --stage generated: which operators share a PE.",
)
def command(
    arguments: AppArguments, stage: str, as_json: bool, html: Path | None, beyond: tuple[str, ...], fusion: str
) -> int:
    """Show APP at a stage of its compilation.

    \b
    logical   the graph: operators, streams, and what the compiler knows of each
    parallel  the parallel regions, how their tuples are routed and ordered,
              and why all else is not parallel
    generated the PEs, the streams between them, and the code of each

    \b
    Example:
        penstock explain examples/bargains/bargains.spl
        penstock explain examples/bargains/bargains.spl --stage parallel
        penstock explain examples/bargains/bargains.spl --stage generated
        penstock explain examples/bargains/bargains.spl --html graph.html
    """
    program = arguments.program()
    if stage == "generated":
        view = _generated(program, fusion)
    elif stage == "parallel":
        view = _parallel(program.application, beyond)
    else:
        view = _logical(program.application)
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

    plan = parallel_regions(application, Extensions(**{kind.replace("-", "_"): True for kind in beyond}))
    notes = {id_: [("not parallel", str(reason)) for reason in reasons] for id_, reasons in plan.refused.items()}
    groups = [Group(label=summary_of(region), operators=region.operators) for region in plan.regions]
    return View(
        text=lambda: pretty_regions(application, plan),
        json=lambda: regions_json(application, plan),
        page=lambda: graph_page(application, groups=groups, notes=notes),
    )


def _generated(program: Program, fusion: str) -> View:
    from penstock.codegen.plan import physical_plan
    from penstock.codegen.report import generated_json, generated_text
    from penstock.draw.page import Group, graph_page

    ids = [o.id for o in program.application.operators]
    plan = physical_plan(program.application, [ids] if fusion == "all" else [[id_] for id_ in ids])
    groups = [Group(label=f"PE {pe.index}, {pe.role}", operators=pe.operators) for pe in plan.pes]
    return View(
        text=lambda: generated_text(program, plan),
        json=lambda: generated_json(program, plan),
        page=lambda: graph_page(program.application, groups=groups),
    )
