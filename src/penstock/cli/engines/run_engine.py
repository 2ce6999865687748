"""Runs applications on the engine that the user names, with metrics for whoever watches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.engines.relaunch import run_again
from penstock.cli.engines.settings import RunSettings
from penstock.cli.output.summary import Summary

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.running.job_metrics import Metrics
    from penstock.running.run_report import RunReport
    from penstock.toolkit.core.program import Program


def run_on_engine(programs: list[Program], environment: Environment, settings: RunSettings, engine: str) -> Summary:
    """Run applications together; all engines but Spark and the reference take one alone."""
    most = settings.relaunches
    if engine == "spark":
        from penstock.cli.engines.run_together import run_together

        return run_together(programs, environment, settings)
    if engine == "local":
        from penstock.cli.engines.run_local import run_in_process

        return run_again(lambda count: run_in_process(programs[0], environment, settings, count), most, _tell)
    from penstock.cli.engines.run_reference import run_on_reference

    return run_again(lambda count: run_on_reference(programs, environment, settings.seconds, count), most, _tell)


def metrics_at(address: str | None) -> Metrics | None:
    """The metrics of a run, if somebody wants them."""
    if address is None:
        return None
    from penstock.running.job_metrics import Metrics

    return Metrics()


def report_in(path: Path | None) -> RunReport | None:
    """The report of a run, if somebody wants one."""
    if path is None:
        return None
    from penstock.running.run_report import RunReport

    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    return RunReport(path)


@contextmanager
def serve_if(address: str | None, metrics: Metrics | None) -> Iterator[None]:
    """Serve metrics while the block runs, if somebody wants them."""
    if address is None or metrics is None:
        yield
        return
    from penstock.running.metrics_server import serve_metrics

    with serve_metrics(address, metrics) as (host, port):
        _tell(f"metrics are at http://{host}:{port}/metrics")
        yield


def run_supervised(engine: str, checkpoint: Path | None, most: int) -> int:
    """Run this command without `--restart` as often as needed.

    Raises:
        UsageError: There is nothing to go on from.
    """
    from penstock.cli.engines.supervise import supervise, without_restart

    if engine != "spark" or checkpoint is None:
        raise click.UsageError("--restart goes on from a checkpoint: give --checkpoint DIR, and run on Spark")
    return supervise([sys.executable, "-m", "penstock.cli", *without_restart(sys.argv[1:])], checkpoint, most)


def _tell(text: str) -> None:
    click.echo(text, err=True)
