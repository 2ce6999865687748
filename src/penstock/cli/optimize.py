"""`penstock optimize`: profile, fuse, repeat; write the best plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli import print_json
from penstock.cli.application import AppArguments, takes_application

if TYPE_CHECKING:
    from penstock.optimizer import Iteration, Outcome, PlanFile, Setting

_SECONDS_TO_FUSE = 20.0


@click.command()
@takes_application
@click.option("--iterations", type=click.IntRange(min=1), default=6, show_default=True, help="How often to fuse anew.")
@click.option(
    "--first-maximum",
    is_flag=True,
    help="Stop when the throughput falls, instead of taking the best of all iterations.",
)
@click.option(
    "--confirm",
    "confirmations",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="N",
    help="How often the fastest fusions are run again, in turns; their medians decide.",
)
@click.option("--channels", type=click.IntRange(min=1), metavar="N", help="How many channels parallel regions get.")
@click.option(
    "--hosts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The hosts to fuse for; docs/formats/hosts.md. Default: this machine.",
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@click.option("--for", "seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="How long a run takes at most.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("plan.json"),
    show_default=True,
    help="The plan file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the iterations and the plan as JSON.")
def command(
    arguments: AppArguments,
    iterations: int,
    first_maximum: bool,
    confirmations: int,
    channels: int | None,
    hosts: Path | None,
    master: str,
    seconds: float | None,
    out: Path,
    as_json: bool,
) -> int:
    """Find the fusion with which APP runs fastest on Spark, and write it as a plan.

    The application is run without fusion and profiled, fused by that profile, run and profiled again, and so on: early
    profiles are trusted less. The fastest are then run again in turns. What it writes in these runs is thrown away. The
    plan is that of the fastest fusion; use it with `penstock run APP --plan FILE`.

    An interrupted optimization goes on where it stopped, if the same command is given again: its runs are kept beside
    the plan, in FILE.runs.

    \b
    Example:
        penstock optimize examples/bargains/bargains.spl -o plan.json
        penstock run examples/bargains/bargains.spl --plan plan.json
    """
    from penstock.optimizer import fingerprint, fused_by, inner_operators, optimize, ranked, write_plan
    from penstock.optimizer.kept_profiles import keep_profile
    from penstock.optimizer.loop_state import keep_runs, kept_runs, state_path

    program = arguments.program()
    application, runs_file = program.application, state_path(out)
    print_ = fingerprint(application)
    known = kept_runs(runs_file, print_, channels)
    if known:
        click.echo(f"going on after {_runs(known)} in {runs_file}; delete the file to start anew", err=True)
    measuring, setting = _prepared(arguments, program, channels, hosts, master, seconds)

    def tell(runs: Sequence[Iteration], last: Iteration) -> None:
        keep_runs(runs_file, print_, channels, runs)
        click.echo(_line(runs, last), err=True)

    def choose(profile: Any, gamma: float) -> Any:
        return ranked(replace(setting, profile=profile), gamma=gamma, deadline_seconds=_SECONDS_TO_FUSE)

    if not known:
        click.echo(f"running `{application.name}` without fusion", err=True)
    outcome = optimize(
        tuple((id_,) for id_ in inner_operators(application)),
        measuring.run,
        choose,
        iterations=iterations,
        until_maximum=first_maximum,
        whatever=(fused_by("all", setting),),
        confirmations=confirmations,
        known=known,
        on_run=tell,
    )
    chosen = outcome.first_maximum if first_maximum else outcome.best
    plan = _plan(setting, outcome, chosen, print_, hosts is not None)
    write_plan(plan, out)
    keep_profile(chosen.profile, application)
    if as_json:
        print_json(_to_json(outcome, plan, chosen))
    else:
        _print_table(outcome, chosen, out)
    return 0


def _prepared(
    arguments: AppArguments, program: Any, channels: int | None, hosts: Path | None, master: str, seconds: float | None
) -> tuple[Any, Setting]:
    from penstock.cli.fusion_choice import cores_of
    from penstock.model import read_hosts
    from penstock.optimizer import without_profile
    from penstock.optimizer.machine import machine_setting
    from penstock.spark.measured_runs import Measuring
    from penstock.spark.session import open_session

    environment = arguments.environment(program)
    given = read_hosts(hosts) if hosts is not None else None
    click.echo(f"starting Spark at {master}", err=True)
    spark = open_session(master)
    setting = machine_setting(program.application, without_profile(program.application), channels, cores_of(spark))
    if given is not None:
        setting = replace(setting, hosts=given)
    measuring = Measuring(
        program=program,
        environment=environment,
        spark=spark,
        channels=channels,
        mips=setting.transfer.mips,
        seconds=seconds,
    )
    return measuring, setting


def _runs(known: Sequence[Iteration]) -> str:
    count = sum(1 + len(run.confirmed_tps) for run in known)
    return "1 run" if count == 1 else f"{count} runs"


def _line(runs: Sequence[Iteration], run: Iteration) -> str:
    pes = "1 PE" if len(run.groups) == 1 else f"{len(run.groups)} PEs"
    if run.number == 0:
        return f"unfused: {pes}, {run.throughput_tps:,.0f} tuples a second"
    if run.confirmed_tps:
        return f"iteration {run.number} again: {run.confirmed_tps[-1]:,.0f} tuples a second"
    gain = run.throughput_tps / runs[0].throughput_tps
    predicted = "" if run.predicted_tps is None else f" (predicted {run.predicted_tps:,.0f})"
    measured = f"{run.throughput_tps:,.0f} tuples a second{predicted}, {gain:.2f} times unfused"
    return f"iteration {run.number}, gamma {run.gamma:g}: {pes}, {measured}"


def _plan(setting: Setting, outcome: Outcome, chosen: Iteration, print_: str, with_hosts: bool) -> PlanFile:
    from penstock.optimizer import PlanFile, predict, throughput_model

    at_last = replace(setting, profile=chosen.profile)
    model = throughput_model(at_last)
    prediction = predict(model, at_last, chosen.groups)
    return PlanFile(
        application=setting.application.name,
        fingerprint=print_,
        fusion=chosen.groups,
        channels=setting.channels,
        hosts=tuple(host.id for host in setting.hosts.hosts) if with_hosts else (),
        predicted_tps=prediction.scale * sum(model.source_rates.values()),
        bottleneck=str(prediction.bottleneck),
        measured_tps=chosen.median_tps,
        unfused_tps=outcome.iterations[0].median_tps,
    )


def _to_json(outcome: Outcome, plan: PlanFile, chosen: Iteration) -> dict[str, object]:
    from penstock.optimizer.plan_format import plan_to_json

    iterations = [
        {
            "iteration": run.number,
            "gamma": run.gamma,
            "pes": [list(group) for group in run.groups],
            "predicted_tps": run.predicted_tps,
            "throughput_tps": run.throughput_tps,
            "confirmed_tps": list(run.confirmed_tps),
        }
        for run in outcome.iterations
    ]
    return {
        "iterations": iterations,
        "chosen": chosen.number,
        "best": outcome.best.number,
        "first_maximum": outcome.first_maximum.number,
        "plan": plan_to_json(plan),
    }


def _print_table(outcome: Outcome, chosen: Iteration, out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("iteration", "gamma", "PEs", "predicted", "tuples a second", "to unfused")
    for column in table.columns[1:]:
        column.justify = "right"
    first = outcome.iterations[0].median_tps
    for run in outcome.iterations:
        mark = " *" if run is chosen else ""
        predicted = "" if run.predicted_tps is None else f"{run.predicted_tps:,.0f}"
        gamma = f"{run.gamma:g}" if run.number else ""
        measured = (f"{run.median_tps:,.0f}", f"{run.median_tps / first:.2f}")
        table.add_row(f"{run.number or 'unfused'}{mark}", gamma, str(len(run.groups)), predicted, *measured)
    console = Console(markup=False, emoji=False)
    console.print(table)
    console.print(f"the plan of the run with * is in {out}", highlight=False)
