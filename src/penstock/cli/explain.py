"""`penstock explain`: show an application at a stage of its compilation."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.base.redaction import redact
from penstock.cli import print_json
from penstock.cli.options.application_options import AppArguments, takes_application

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.codegen.plan.physical import PhysicalPlan
    from penstock.compiler import Options
    from penstock.ir.graph import Application
    from penstock.toolkit.core.program import Program

STAGES = ("logical", "parallel", "fused", "placed", "generated")
FUSIONS = ("none", "all", "greedy", "cola", "advanced-cola", "throughput")
BEYOND = ("prolific", "by-time", "fan-out", "fan-in")
ALL = "all"


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
    type=click.Choice([*BEYOND, ALL]),
    help="For --stage parallel: also replicate operators of this kind; `run` does so with all of them.",
)
@click.option(
    "--fusion",
    type=click.Choice(FUSIONS),
    default="all",
    show_default=True,
    help="From fused on, and for --profile: which operators share a PE; all but the first two want a profile.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The PEs as `penstock optimize` has found them, instead of --fusion.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="What operators cost; without --stage, what the throughput model says of the PEs.",
)
@click.option(
    "--channels",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="From fused on, and for --profile: channels of parallel regions.",
)
@click.option(
    "--hosts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="For placed: the hosts of the cluster; docs/formats/hosts.md. Default: this machine.",
)
@click.option(
    "--cores", type=click.IntRange(min=1), metavar="N", help="For --profile: cores of the host. Default: ours."
)
def command(
    arguments: AppArguments,
    stage: str,
    as_json: bool,
    html: Path | None,
    beyond: tuple[str, ...],
    fusion: str,
    plan: Path | None,
    profile: Path | None,
    channels: int,
    hosts: Path | None,
    cores: int | None,
) -> int:
    """Show APP at a stage of its compilation.

    \b
    logical   the graph: operators, streams, and what the compiler knows of each
    parallel  the parallel regions, how their tuples are routed and ordered,
              and why all else is not parallel
    fused     the PEs and the streams between them
    placed    the hosts of the PEs, and what crosses between them
    generated the PEs with the code of each

    \b
    Example:
        penstock explain examples/bargains/bargains.spl
        penstock explain examples/bargains/bargains.spl --stage parallel
        penstock explain examples/bargains/bargains.spl --stage fused --channels 2
        penstock explain examples/bargains/bargains.spl --stage generated
        penstock explain examples/bargains/bargains.spl --stage placed \\
            --profile profile.json --hosts hosts.json
        penstock explain examples/bargains/bargains.spl --html graph.html
        penstock explain examples/bargains/bargains.spl --profile profile.json
    """
    program = arguments.program()
    if profile is None and plan is None and fusion not in ("none", "all"):
        raise click.UsageError(f"--fusion {fusion} wants a --profile")
    from penstock.compiler import Options

    options = Options(
        fusion=fusion, plan=plan, loops="inside", profile=profile, channels=channels, cores=cores or os.cpu_count() or 1
    )
    view = _view(program, stage, options, beyond, profile, hosts)
    if html is not None:
        html.write_text(redact(view.page()), encoding="utf-8")
        click.echo(f"wrote {html}", err=True)
    if as_json:
        print_json(view.json())
    elif html is None:
        click.echo(redact(view.text()))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The three forms in which a stage is shown."""

    text: Callable[[], str]
    json: Callable[[], object]
    page: Callable[[], str]


def _view(
    program: Program,
    stage: str,
    options: Options,
    beyond: tuple[str, ...],
    profile: Path | None,
    hosts: Path | None,
) -> View:
    """What is shown: a profile goes before the stages that need none."""
    if stage == "generated":
        return _generated(program, options)
    if stage == "fused":
        return _fused(program, options)
    if stage == "placed":
        return _placed(program, options, hosts)
    if profile is not None:
        return _costs(program, profile, options)
    return _parallel(program, options, beyond) if stage == "parallel" else _logical(program.application)


def _logical(application: Application) -> View:
    from penstock.draw.page import graph_page
    from penstock.ir.codec import to_json
    from penstock.ir.pretty import pretty

    return View(
        text=lambda: pretty(application),
        json=lambda: to_json(application),
        page=lambda: graph_page(application),
    )


def _parallel(program: Program, options: Options, beyond: tuple[str, ...]) -> View:
    from penstock.compiler.pipeline import run_stages
    from penstock.draw.page import Group, graph_page
    from penstock.parallel.extensions import Extensions
    from penstock.parallel.report import pretty_regions, regions_json, summary_of

    kinds = BEYOND if ALL in beyond else beyond
    extensions = Extensions(**{kind.replace("-", "_"): True for kind in kinds})
    plan = run_stages(program, replace(options, extensions=extensions), until="find regions").parallel
    assert plan is not None
    notes = {id_: [("not parallel", str(reason)) for reason in reasons] for id_, reasons in plan.refused.items()}
    groups = [Group(label=summary_of(region), operators=region.operators) for region in plan.regions]
    return View(
        text=lambda: pretty_regions(program.application, plan),
        json=lambda: regions_json(program.application, plan),
        page=lambda: graph_page(program.application, groups=groups, notes=notes),
    )


def _costs(program: Program, path: Path, options: Options) -> View:
    from penstock.cli.output.cost_table import cost_page, cost_table, prediction_lines
    from penstock.compiler.pipeline import run_stages
    from penstock.model.profile_format import profile_to_json
    from penstock.optimizer.kept_profiles import profile_for
    from penstock.optimizer.machine import machine_setting
    from penstock.optimizer.prediction import as_model_plan, throughput_model

    application = program.application
    profile = profile_for(application, path)
    draft = run_stages(program, options, until="cut into PEs")
    assert draft.plan is not None
    setting = machine_setting(application, profile, draft.channels, options.cores)
    plan = as_model_plan(draft.plan, setting)
    prediction = throughput_model(setting).evaluate(plan)
    return View(
        text=lambda: f"{_drawn(cost_table(profile))}\n" + "\n".join(prediction_lines(prediction, plan)),
        json=lambda: {
            "profile": profile_to_json(profile),
            "pes": [list(pe.operators) for pe in plan.pes],
            "prediction": prediction.to_json(),
        },
        page=lambda: cost_page(application, profile, plan, prediction),
    )


def _drawn(table: Table) -> str:
    from rich.console import Console

    console = Console()
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip("\n")


def _fused(program: Program, options: Options) -> View:
    from penstock.compiler.pipeline import run_stages
    from penstock.compiler.stage_text import fused_json, fused_text

    plan = run_stages(program, options, until="cut into PEs").plan
    assert plan is not None
    return View(text=lambda: fused_text(plan), json=lambda: fused_json(plan), page=lambda: _pe_page(plan))


def _placed(program: Program, options: Options, file: Path | None) -> View:
    from penstock.compiler.pipeline import run_stages
    from penstock.model import read_hosts
    from penstock.optimizer.machine import machine_hosts
    from penstock.running.placed_view import placed_json, placed_page, placed_text

    hosts = machine_hosts(options.cores) if file is None else read_hosts(file)
    found = run_stages(program, replace(options, hosts=hosts), until="place").placed
    assert found is not None
    return View(
        text=lambda: placed_text(found, hosts),
        json=lambda: placed_json(found, hosts),
        page=lambda: placed_page(found),
    )


def _generated(program: Program, options: Options) -> View:
    from penstock.compiler import compile
    from penstock.compiler.stage_text import generated_json, generated_text

    job = compile(program, options)
    return View(
        text=lambda: generated_text(job.plan, job.build),
        json=lambda: generated_json(job.plan, job.build),
        page=lambda: _pe_page(job.plan),
    )


def _pe_page(plan: PhysicalPlan) -> str:
    from penstock.compiler.stage_text import pe_title
    from penstock.draw.page import Group, graph_page

    groups = [Group(label=pe_title(pe), operators=pe.operators) for pe in plan.pes]
    return graph_page(plan.application, groups=groups)
