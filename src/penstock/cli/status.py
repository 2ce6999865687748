"""`penstock status`: the jobs of the service, or one of them; or the job of a checkpoint, whoever runs it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from penstock.base.diagnostics import UserError
from penstock.cli import print_json
from penstock.cli.options.option_types import Number
from penstock.cli.options.service_options import asks_service, json_option
from penstock.service.client import Client
from penstock.service.states.job_state import FINAL, JobState

_LOOK_SECONDS = 0.5


@click.command()
@click.argument("job", required=False, metavar="[JOB|CHECKPOINT]")
@click.option(
    "--graph",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Of a checkpoint: write what the channels send each other as a METIS graph, for `penstock place`.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Of a checkpoint: write a page that shows which host runs what, and what crosses between hosts.",
)
@click.option(
    "--until",
    type=click.Choice([state.value for state in JobState]),
    metavar="STATE",
    help="Wait until JOB is in it, such as running or done.",
)
@click.option(
    "--wait",
    type=Number(min=0.0),
    metavar="SECONDS",
    help="How long to wait for a service that does not answer yet, and for --until. Default: 0; with --until for ever.",
)
@asks_service
@json_option
def command(
    job: str | None,
    graph: Path | None,
    html: Path | None,
    until: str | None,
    wait: float | None,
    client: Client,
    as_json: bool,
) -> int:
    """Show the jobs of the service: what each gets, uses and earns, and why it runs or does not. With JOB, that one.

    With CHECKPOINT, the folder of a job that `penstock run` has started: how far it is, which executor runs which
    channels, what these cost and send each other in the mean of the last 20 batches, and the moves that were made. A
    running job writes it about once a second.

    \b
    Example:
        penstock status
        penstock status alerts --until done --wait 600
        penstock status ./c --graph job.graph
    """
    if until is not None and job is None:
        raise click.UsageError("--until is of one job: name it")
    if job and ("/" in job or Path(job).is_dir()):
        from penstock.cli.output.checkpoint_status import show_checkpoint

        if until is not None or wait is not None:
            raise click.UsageError("--until and --wait are of a job of the service, not of a checkpoint")
        return show_checkpoint(Path(job), graph, html, as_json)
    if graph is not None or html is not None:
        raise click.UsageError("--graph and --html are of a job by its checkpoint: name the folder")
    patience = wait if wait is not None else float("inf") if until is not None else 0.0
    answer = _ask(lambda: client.get("jobs") if job is None else client.get("jobs", job), until, patience)
    if as_json:
        print_json(answer)
        return 0
    from penstock.cli.output.job_table import print_job, print_jobs

    if job is None:
        print_jobs(answer)
    else:
        print_job(answer)
    return 0


def _ask(ask: Callable[[], Any], until: str | None, patience: float) -> Any:
    """The answer, when the service answers and the job is where it is waited for.

    Raises:
        UserError: It takes too long, or the job has ended elsewhere.
    """
    began = time.monotonic()
    while True:
        is_over = time.monotonic() - began >= patience
        try:
            answer = ask()
        except UserError as error:
            if is_over or "no service answers" not in str(error):
                raise
        else:
            if until is None or answer["state"] == until:
                return answer
            if answer["state"] in FINAL or answer["state"] == JobState.FAILED:
                message = f"job `{answer['id']}` is {answer['state']}, and will not be {until}"
                raise UserError(message, hint=answer["error"] or None)
            if is_over:
                raise UserError(f"job `{answer['id']}` is still {answer['state']} after {patience:g} s")
        time.sleep(_LOOK_SECONDS)
