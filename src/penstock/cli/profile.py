"""`penstock profile`: measure what the operators of an application cost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli import print_json
from penstock.cli.options.application_options import AppArguments, takes_application
from penstock.cli.options.option_types import LocalFolder

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.profiler.sampling import Sampling
    from penstock.spark.measure.profiling import ProfileRun
    from penstock.toolkit.core.program import Program

_FEW = 30
"""Below so many observations a mean says little."""


@click.command()
@takes_application
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True, max=1),
    default=0.001,
    show_default=True,
    help="The fraction of tuples to time.",
)
@click.option(
    "--reservoir",
    type=click.IntRange(min=1),
    default=5000,
    show_default=True,
    help="How many values of each metric to keep.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("profile.json"),
    show_default=True,
    metavar="FILE",
    help="Where the profile goes.",
)
@click.option(
    "--fusion",
    type=click.Choice(["none", "all"]),
    default="none",
    show_default=True,
    help="Which operators share a PE while it is taken.",
)
@click.option("--channels", type=click.IntRange(min=1), metavar="N", help="How many channels parallel regions get.")
@click.option("--for", "seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop after this time.")
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@click.option(
    "--out",
    type=LocalFolder(),
    metavar="DIR",
    help="Where sinks write relative file names. Default: nowhere that lasts.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the profile as JSON.")
def command(
    arguments: AppArguments,
    rate: float,
    reservoir: int,
    output: Path,
    fusion: str,
    channels: int | None,
    seconds: float | None,
    master: str,
    out: Path | None,
    as_json: bool,
) -> int:
    """Run APP on Spark with submit signals on, and write down what each operator costs.

    CPU time, rates, selectivities and sizes are measured at every port. What an operator costs does not depend on how
    operators are fused, so a profile serves for every plan. `explain --profile` draws it and tells what a plan would
    sustain; `optimize` and `run --fusion auto` plan with it.

    \b
    Example:
        penstock profile examples/bargains/bargains.spl -o bargains.json
        penstock explain examples/bargains/bargains.spl --profile bargains.json
    """
    from penstock.model import write_profile
    from penstock.model.profile_format import profile_to_json
    from penstock.optimizer.kept_profiles import keep_profile
    from penstock.profiler.sampling import Sampling

    program = arguments.program()
    sampling = Sampling(rate=rate, reservoir=reservoir)
    with tempfile.TemporaryDirectory() as folder:
        place = out or Path(folder) / "out"
        place.mkdir(parents=True, exist_ok=True)
        environment = arguments.environment(program, place)
        found = _profile(program, environment, master, Path(folder) / "job", sampling, fusion, channels, seconds)
    write_profile(found.profile, output)
    keep_profile(found.profile, program.application)
    if as_json:
        print_json(profile_to_json(found.profile))
    else:
        _print(found, program)
    click.echo(f"wrote {output}", err=True)
    return 0


def _profile(
    program: Program,
    environment: Environment,
    master: str,
    checkpoint: Path,
    sampling: Sampling,
    fusion: str,
    channels: int | None,
    seconds: float | None,
) -> ProfileRun:
    from penstock.cli.output.live_progress import live_progress
    from penstock.compiler import Options
    from penstock.runtime.sources.batch_size import TURNS_PER_BATCH
    from penstock.spark.job.session import open_session
    from penstock.spark.measure.profiling import profile_on_spark

    click.echo(f"starting Spark at {master}", err=True)
    spark = open_session(master)
    options = Options(
        environment=environment,
        fusion=fusion,
        loops="inside",
        channels=channels,
        batch=TURNS_PER_BATCH,
        sampling=sampling,
    )
    with live_progress(program.application) as on_progress:
        return profile_on_spark(
            program,
            options,
            spark,
            mips=machine_mips(),
            checkpoint=checkpoint,
            seconds=seconds,
            on_progress=on_progress,
        )


def machine_mips() -> float:
    """The speed of a core: as calibrated, or measured now."""
    from penstock.base.cache_folder import cache_folder
    from penstock.base.diagnostics import UserError
    from penstock.model import read_transfer
    from penstock.optimizer.machine import CALIBRATION
    from penstock.profiler.speed import core_mips

    try:
        return read_transfer(cache_folder() / CALIBRATION).mips
    except UserError:
        return core_mips()


def _print(found: ProfileRun, program: Program) -> None:
    from rich.console import Console

    from penstock.cli.output.cost_table import cost_table

    console = Console()
    console.print(cost_table(found.profile))
    profile, metered = found.profile, found.python_metrics
    operators = sum(o.cpu_fraction for o in profile.operators) * profile.seconds
    console.print(f"operators took {operators:.2f} s of CPU time in {profile.seconds:.2f} s of batches")
    console.print(
        f"Spark metered {metered['run']:.2f} s in Python workers, {metered['sent'] / 1e6:,.1f} MB to them and "
        f"{metered['returned'] / 1e6:,.1f} MB back"
    )
    few = _seldom_observed(found, program)
    if few:
        console.print(f"few observations of {', '.join(few)}: raise --rate, or give it more input")


def _seldom_observed(found: ProfileRun, program: Program) -> list[str]:
    """The operators that were sampled tuple by tuple, and too seldom for their share of the CPU time to be sure."""
    from penstock.cli.output.cost_table import share_of

    few = []
    for operator in program.application.operators:
        metrics = found.run.statistics.metrics
        seen = [metric for key, metric in metrics.items() if key[:2] == ("process", operator.id)]
        counted = sum(tuples for metric in seen for _, _, tuples in metric.values)
        if seen and counted < _FEW and share_of(found.profile.operator[operator.id], found.profile) > 0.02:
            few.append(f"`{operator.id}`")
    return few
