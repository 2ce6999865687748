"""`penstock optimize`: profile, fuse, repeat; write the best plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli import print_json
from penstock.cli.options.application_options import AppArguments, takes_application
from penstock.cli.options.option_types import ChannelsType
from penstock.compiler.fusion_names import AUTO

if TYPE_CHECKING:
    from penstock.optimizer import Candidate, Iteration, Measure, Outcome, PlanFile, Setting, Take

_SECONDS_TO_FUSE = 20.0
_CONFIRMATIONS = 2
MODEL = "model"
BY = (MODEL, "greedy", "cola", "advanced-cola")


@click.command()
@takes_application
@click.option("--iterations", type=click.IntRange(min=1), default=6, show_default=True, help="How often to fuse anew.")
@click.option(
    "--by",
    type=click.Choice(BY),
    default=MODEL,
    show_default=True,
    help="What chooses the fusion of an iteration: the throughput model, among the answers of all algorithms and on "
    "several numbers of channels; or one of the papers' algorithms alone, as the COLA paper iterates them.",
)
@click.option(
    "--take",
    type=click.Choice(["first", "first-local", "best"]),
    help="Which iteration becomes the plan: the first; the first one that is followed by a slower one; or the fastest. "
    "No more iterations are run than it takes.  [default: best]",
)
@click.option("--first-maximum", is_flag=True, help="The same as --take first-local.")
@click.option(
    "--confirm",
    "confirmations",
    type=click.IntRange(min=0),
    metavar="N",
    help="How often the fastest fusions are run again, in turns, with --take best; their medians decide.  [default: 2; "
    "0 with --by greedy, cola or advanced-cola]",
)
@click.option(
    "--channels",
    type=ChannelsType(),
    default=AUTO,
    show_default=True,
    help="How many channels parallel regions get; auto: as many as run fastest, up to the cores of the cluster, and "
    "where `@parallel` says a width, that one.",
)
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
    by: str,
    take: Take | None,
    first_maximum: bool,
    confirmations: int | None,
    channels: int | str,
    hosts: Path | None,
    master: str,
    seconds: float | None,
    out: Path,
    as_json: bool,
) -> int:
    """Find the fusion and the channels with which APP runs fastest on Spark, and write them as a plan.

    The application is run without fusion and profiled, fused by that profile, run and profiled again, and so on: early
    profiles are trusted less. Each time fusions for 1, 2, 4, ... channels are compared, unless --channels says a
    number. The fastest are then run again in turns. What it writes in these runs is thrown away. The plan is that of
    the fastest run; use it with `penstock run APP --plan FILE`.

    With --by greedy, cola or advanced-cola it is the experiment of the COLA paper: the algorithm gets the profile of
    the run before, COLA with the capacities of the hosts scaled by gamma, which grows from 0.5 to 1, and its answer is
    run whatever the model thinks of it. These choose no channels: regions have those of `@parallel`, or of --channels
    N.

    An interrupted optimization goes on where it stopped, if the same command is given again: its runs are kept beside
    the plan, in FILE.runs.

    \b
    Example:
        penstock optimize examples/bargains/bargains.spl -o plan.json
        penstock run examples/bargains/bargains.spl --plan plan.json
        penstock optimize examples/bargains/bargains.spl --by cola
    """
    from penstock.optimizer import fingerprint, write_plan
    from penstock.optimizer.kept_profiles import keep_profile
    from penstock.optimizer.loop_state import keep_runs, kept_runs, state_path
    from penstock.parallel.pe_demands import unapplied_demands

    wanted = _wanted(take, first_maximum)
    if confirmations is None:
        confirmations = _CONFIRMATIONS if by == MODEL else 0
    program = arguments.program()
    for warning in unapplied_demands(program.application):
        click.echo(f"warning: {warning}", err=True)
    application, runs_file = program.application, state_path(out)
    print_ = fingerprint(application)
    known = kept_runs(runs_file, print_, channels, by=by)
    if known:
        click.echo(f"going on after {_runs(known)} in {runs_file}; delete the file to start anew", err=True)
    measuring, setting, numbers = _prepared(arguments, program, channels, hosts, master, seconds)
    numbers = numbers if by == MODEL else numbers[:1]
    names = _channel_names(setting, numbers)

    def tell(runs: Sequence[Iteration], last: Iteration) -> None:
        keep_runs(runs_file, print_, channels, runs, by=by)
        click.echo(_line(runs, last, names), err=True)

    def measure(candidate: Candidate) -> Any:
        return measuring.run(candidate.groups, candidate.channels)

    if not known:
        click.echo(f"running `{application.name}` without fusion", err=True)
    loop = Loop(iterations=iterations, take=wanted, confirmations=confirmations, known=known, on_run=tell)
    outcome = loop.by(by, setting, numbers, measure)
    chosen = outcome.take(wanted)
    plan = _plan(setting, outcome, chosen, print_, hosts is not None)
    write_plan(plan, out)
    keep_profile(chosen.profile, application)
    if as_json:
        print_json({"by": by, "take": wanted, **_to_json(outcome, plan, chosen)})
    else:
        _print_table(outcome, chosen, names, out)
    return 0


def _wanted(take: Take | None, first_maximum: bool) -> Take:
    if first_maximum and take not in (None, "first-local"):
        raise click.UsageError(f"--first-maximum and --take {take} exclude each other")
    return take or ("first-local" if first_maximum else "best")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """How often to measure, and what is known already."""

    iterations: int
    take: Take
    confirmations: int
    known: Sequence[Iteration]
    on_run: Callable[[Sequence[Iteration], Iteration], None]

    def by(self, what: str, setting: Setting, numbers: Sequence[int | None], measure: Measure) -> Outcome:
        """Try what the model thinks best, or what one algorithm says."""
        if what == MODEL:
            return self.by_model(setting, numbers, measure)
        return self.by_paper(what, setting, numbers[0], measure)

    def by_model(self, setting: Setting, numbers: Sequence[int | None], measure: Measure) -> Outcome:
        """Try what the model thinks best of all algorithms and numbers of channels."""
        from penstock.optimizer import everything_fused, optimize, ranked_on_channels

        def choose(profile: Any, gamma: float) -> Any:
            at_hand = replace(setting, profile=profile)
            return ranked_on_channels(at_hand, numbers, gamma=gamma, deadline_seconds=_SECONDS_TO_FUSE)

        return optimize(
            _unfused(setting, numbers[0]),
            measure,
            choose,
            iterations=self.iterations,
            take=self.take,
            whatever=everything_fused(setting, numbers),
            confirmations=self.confirmations,
            known=self.known,
            on_run=self.on_run,
        )

    def by_paper(self, algorithm: str, setting: Setting, number: int | None, measure: Measure) -> Outcome:
        """Try what one algorithm says, as the COLA paper does."""
        from penstock.optimizer.paper_loop import fuse_by, gammas_of, iterate

        name: Any = algorithm
        return iterate(
            _unfused(setting, number),
            measure,
            fuse_by(name, replace(setting, channels=number), deadline_seconds=_SECONDS_TO_FUSE),
            gammas_of(name, self.iterations),
            take=self.take,
            confirmations=self.confirmations,
            known=self.known,
            on_run=self.on_run,
        )


def _unfused(setting: Setting, number: int | None) -> Candidate:
    from penstock.compiler.without_costs import fuse_without_costs
    from penstock.optimizer import Candidate

    return Candidate(groups=fuse_without_costs(setting.application, "none", number), channels=number)


def _prepared(
    arguments: AppArguments, program: Any, channels: int | str, hosts: Path | None, master: str, seconds: float | None
) -> tuple[Any, Setting, tuple[int | None, ...]]:
    """The runs to measure, the setting to plan for, and the numbers of channels to try."""
    from penstock.model import read_hosts
    from penstock.optimizer import channel_numbers, without_profile
    from penstock.optimizer.machine import machine_setting
    from penstock.spark.job.session import cores_of, open_session
    from penstock.spark.measure.measured_runs import Measuring

    environment = arguments.environment(program)
    given = read_hosts(hosts) if hosts is not None else None
    click.echo(f"starting Spark at {master}", err=True)
    spark = open_session(master)
    cores = cores_of(spark)
    blank = without_profile(program.application)
    setting = machine_setting(program.application, blank, None, cores)
    if given is not None:
        setting = replace(setting, hosts=given)
    measuring = Measuring(
        program=program,
        environment=environment,
        spark=spark,
        mips=setting.transfer.mips,
        seconds=seconds,
        turns_per_batch=int(setting.batch_tuples),
    )
    numbers = (channels,) if isinstance(channels, int) else channel_numbers(setting, cores)
    return measuring, setting, numbers


def _channel_names(setting: Setting, numbers: Sequence[int | None]) -> dict[int | None, str]:
    """How people read each number of channels; empty where there is but one to try."""
    if len(numbers) == 1:
        return {}
    least = "annotated" if replace(setting, channels=None).regions.region else "1"
    return {number: least if number is None else str(number) for number in numbers}


def _runs(known: Sequence[Iteration]) -> str:
    count = sum(1 + len(run.confirmed_tps) for run in known)
    return "1 run" if count == 1 else f"{count} runs"


def _line(runs: Sequence[Iteration], run: Iteration, names: dict[int | None, str]) -> str:
    groups, channels = run.candidate.groups, names.get(run.candidate.channels)
    pes = "1 PE" if len(groups) == 1 else f"{len(groups)} PEs"
    if channels is not None:
        pes += f" on {channels} {'channel' if channels == '1' else 'channels'}"
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

    groups, channels = chosen.candidate.groups, chosen.candidate.channels
    at_last = replace(setting, profile=chosen.profile, channels=channels)
    model = throughput_model(at_last)
    prediction = predict(model, at_last, groups)
    return PlanFile(
        application=setting.application.name,
        fingerprint=print_,
        fusion=groups,
        channels=channels,
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
            "pes": [list(group) for group in run.candidate.groups],
            "channels": run.candidate.channels,
            "predicted_tps": run.predicted_tps,
            "throughput_tps": run.throughput_tps,
            "confirmed_tps": list(run.confirmed_tps),
        }
        for run in outcome.iterations
    ]
    return {
        "iterations": iterations,
        "chosen": chosen.number,
        "first": outcome.first.number,
        "best": outcome.best.number,
        "first_maximum": outcome.first_maximum.number,
        "plan": plan_to_json(plan),
    }


def _print_table(outcome: Outcome, chosen: Iteration, names: dict[int | None, str], out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    on_channels = ("channels",) if names else ()
    table = Table("iteration", "gamma", "PEs", *on_channels, "predicted", "tuples a second", "to unfused")
    for column in table.columns[1:]:
        column.justify = "right"
    first = outcome.iterations[0].median_tps
    for run in outcome.iterations:
        mark = " *" if run is chosen else ""
        predicted = "" if run.predicted_tps is None else f"{run.predicted_tps:,.0f}"
        gamma = f"{run.gamma:g}" if run.number else ""
        measured = (f"{run.median_tps:,.0f}", f"{run.median_tps / first:.2f}")
        shape = [str(len(run.candidate.groups)), *([names.get(run.candidate.channels, "")] if names else [])]
        table.add_row(f"{run.number or 'unfused'}{mark}", gamma, *shape, predicted, *measured)
    console = Console(markup=False, emoji=False)
    console.print(table)
    console.print(f"the plan of the run with * is in {out}", highlight=False)
