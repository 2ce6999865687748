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
from penstock.cli.application import AppArguments, takes_application

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.codegen.plan.physical import PhysicalPlan
    from penstock.ir.graph import Application
    from penstock.model import Profile
    from penstock.optimizer import Groups
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
    application = program.application
    if profile is None and plan is None and fusion not in ("none", "all"):
        raise click.UsageError(f"--fusion {fusion} wants a --profile")
    wanted = Wanted(
        fusion=fusion, plan=plan, profile=profile, channels=channels, hosts=hosts, cores=cores or os.cpu_count() or 1
    )
    if stage == "generated":
        view = _generated(program, wanted)
    elif stage == "fused":
        view = _fused(application, wanted)
    elif stage == "placed":
        view = _placed(application, wanted)
    elif profile is not None:
        view = _costs(application, profile, wanted)
    elif stage == "parallel":
        view = _parallel(application, beyond)
    else:
        view = _logical(application)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which PEs the user wants to see."""

    fusion: str
    plan: Path | None
    profile: Path | None
    channels: int
    hosts: Path | None
    cores: int

    def groups(self, application: Application) -> Groups:
        """The operators of each PE."""
        from penstock.cli.fusion_choice import by_algorithm, without_costs
        from penstock.optimizer import plan_for
        from penstock.optimizer.kept_profiles import profile_for

        if self.plan is not None:
            return plan_for(application, self.plan).fusion
        if self.fusion in ("none", "all"):
            return without_costs(application, self.fusion, self.channels)
        assert self.profile is not None
        profile = profile_for(application, self.profile)
        return by_algorithm(application, profile, self.fusion, self.channels, self.cores)


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

    kinds = BEYOND if ALL in beyond else beyond
    plan = parallel_regions(application, Extensions(**{kind.replace("-", "_"): True for kind in kinds}))
    notes = {id_: [("not parallel", str(reason)) for reason in reasons] for id_, reasons in plan.refused.items()}
    groups = [Group(label=summary_of(region), operators=region.operators) for region in plan.regions]
    return View(
        text=lambda: pretty_regions(application, plan),
        json=lambda: regions_json(application, plan),
        page=lambda: graph_page(application, groups=groups, notes=notes),
    )


def _costs(application: Application, path: Path, wanted: Wanted) -> View:
    from penstock.cli.costs import cost_page, cost_table, prediction_lines
    from penstock.model.profile_format import profile_to_json
    from penstock.optimizer.kept_profiles import profile_for
    from penstock.optimizer.machine import machine_setting
    from penstock.optimizer.prediction import model_plan, throughput_model

    profile = profile_for(application, path)
    setting = machine_setting(application, profile, wanted.channels, wanted.cores)
    plan = model_plan(setting, wanted.groups(application))
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


def _fused(application: Application, wanted: Wanted) -> View:
    from penstock.codegen.plan.physical import physical_plan
    from penstock.codegen.plan.stage_text import fused_json, fused_text

    plan = physical_plan(application, wanted.groups(application), wanted.channels)
    return View(text=lambda: fused_text(plan), json=lambda: fused_json(plan), page=lambda: _pe_page(plan))


def _placed(application: Application, wanted: Wanted) -> View:
    from penstock.cli.placed_view import placed_json, placed_page, placed_text
    from penstock.model import read_hosts
    from penstock.optimizer.machine import machine_setting
    from penstock.placement.pes import placed

    setting = machine_setting(application, _any_profile(application, wanted.profile), wanted.channels, wanted.cores)
    if wanted.hosts is not None:
        setting = replace(setting, hosts=read_hosts(wanted.hosts))
    found = placed(setting, wanted.groups(application))
    return View(
        text=lambda: placed_text(found, setting.hosts),
        json=lambda: placed_json(found, setting.hosts),
        page=lambda: placed_page(found),
    )


def _any_profile(application: Application, path: Path | None) -> Profile:
    """The profile that is given, or the last one of the application."""
    from penstock.base.diagnostics import UserError
    from penstock.optimizer.kept_profiles import kept_profile, profile_for

    if path is not None:
        return profile_for(application, path)
    kept = kept_profile(application)
    if kept is None:
        hint = "take one: penstock profile APP -o profile.json, and give it with --profile"
        raise UserError("PEs are placed by what they cost, and there is no profile of this application", hint=hint)
    return kept


def _generated(program: Program, wanted: Wanted) -> View:
    from penstock.codegen.plan.physical import physical_plan
    from penstock.codegen.plan.stage_text import generated_json, generated_text

    plan = physical_plan(program.application, wanted.groups(program.application), wanted.channels)
    return View(
        text=lambda: generated_text(program, plan),
        json=lambda: generated_json(program, plan),
        page=lambda: _pe_page(plan),
    )


def _pe_page(plan: PhysicalPlan) -> str:
    from penstock.codegen.plan.stage_text import pe_title
    from penstock.draw.page import Group, graph_page

    groups = [Group(label=pe_title(pe), operators=pe.operators) for pe in plan.pes]
    return graph_page(plan.application, groups=groups)
