"""`penstock status`: the jobs of the service, or one of them; or the job of a checkpoint, whoever runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from penstock.base.diagnostics import UserError
from penstock.base.figures import figure
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


def print_jobs(jobs: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each job: its place, what it gets and uses, and why."""
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False)
    if not jobs:
        console.print("there are no jobs; `penstock submit` gives the service one")
        return
    table = Table("job", "rank", "state", "template")
    for title in ("mips", "used", "tuples/s", "importance"):
        table.add_column(title, justify="right")
    for job in sorted(jobs, key=lambda job: (not job["required"], job["rank"], job["submitted_at"])):
        rank = f"{job['rank']} required" if job["required"] else str(job["rank"])
        figures = [figure(job[key], 4) if job["mips"] else "" for key in _FIGURES]
        table.add_row(job["id"], rank, job["state"], job["template"] or "", *figures)
    console.print(table)
    for job in jobs:
        console.print(f"{job['id']}: {_why(job)}", highlight=False)


_FIGURES = ("mips", "mips_used", "ingest_tps", "importance")


def print_job(job: Mapping[str, Any]) -> None:
    """Print a job with its latest events."""
    from rich.console import Console

    print_jobs([job])
    console = Console(markup=False, emoji=False)
    for event in job["events"][-12:]:
        console.print(f"  {event['kind']:<9} {event['text']}", highlight=False)


def _why(job: Mapping[str, Any]) -> str:
    if job["state"] == "failed":
        return f"failed: {job['error']}"
    if job["state"] in ("done", "cancelled") or (job["wanted"] != "run"):
        return str(job["state"])
    return str(job["reason"] or "waits for the next decision")


def show_checkpoint(checkpoint: Path, graph: Path | None, drawing: Path | None, as_json: bool) -> int:
    """Show the job of a checkpoint."""
    from penstock.placement.live.channel_graph import format_metis
    from penstock.spark.placement.job_status import graph_of, read_status

    status = read_status(checkpoint)
    if graph is not None:
        graph.write_text(format_metis(graph_of(status).as_communication_graph()))
        click.echo(f"wrote {graph}", err=True)
    if drawing is not None:
        drawing.write_text(by_host(status), encoding="utf-8")
        click.echo(f"wrote {drawing}", err=True)
    if as_json:
        print_json(status)
    else:
        _print_checkpoint(status)
    return 0


def by_host(status: dict[str, Any]) -> str:
    """The page of a status: where channels were before they have moved, and where they are."""
    from penstock.draw.hosts_page import Picture, Task, hosts_page

    host_of = {executor["id"]: executor["host"] for executor in status["executors"]}
    homes: dict[Task, str] = {(t["pe"], t["channel"]): t["executor"] for t in status["tasks"] if t["executor"]}
    before = dict(homes)
    for move in reversed(status["moves"]):
        before |= {(t["pe"], t["channel"]): t["from"] for t in move["tasks"] if (t["pe"], t["channel"]) in before}
    pictures = [Picture(title="now", host_of=_hosts(homes, host_of))]
    if before != homes:
        title = f"before {len(status['moves'])} moves" if len(status["moves"]) > 1 else "before the move"
        pictures.insert(0, Picture(title=title, host_of=_hosts(before, host_of)))
    labels = {pe: ", ".join(status["pes"][pe]) for pe in sorted({task["pe"] for task in status["tasks"]})}
    flows = {((*f["from"],), (*f["to"],)): f["bytes"] for f in status["flows"]}
    return hosts_page(status["application"], labels, flows, pictures)


def _hosts(homes: Mapping[Any, str], host_of: Mapping[str, str]) -> dict[Any, str]:
    # An executor that has gone is a place of its own.
    return {task: host_of.get(home, f"executor {home}") for task, home in homes.items()}


def _print_checkpoint(status: dict[str, Any]) -> None:
    age = time.time() - status["updated"]
    click.echo(
        f"{status['application']}: {status['state']}, batch {status['batch']}, "
        f"{status['batches']} batches in this run, told {age:.0f} s ago"
    )
    click.echo(f"placement {status['placement']}{'' if status['is_placed'] else ' (tasks run where Spark puts them)'}")
    for demand in status.get("demands", ()):
        click.echo(f"kept: {demand}")
    for executor in status["executors"]:
        rack = f", {executor['rack']}" if executor["rack"] else ""
        click.echo(f"executor {executor['id']} on {executor['host']}{rack}")
        for task in status["tasks"]:
            if task["executor"] == executor["id"]:
                click.echo(f"  {_describe(task, status)}")
    lost = [task for task in status["tasks"] if not task["executor"]]
    if lost:
        click.echo("where it cannot be told")
        for task in lost:
            click.echo(f"  {_describe(task, status)}")
    between = sum(flow["bytes"] for flow in status["flows"])
    click.echo(
        f"channels send each other {figure(between)} bytes a batch, {figure(status['between_hosts'])} of them "
        f"between hosts; sources send {figure(status['source_bytes'])}"
    )
    for move in status["moves"]:
        when = datetime.fromtimestamp(move["at"], UTC).strftime("%H:%M:%S")
        before, after = move["predicted"]["remote_bytes"]
        found = "" if move["remote_bytes"] is None else f", found {figure(move['remote_bytes'])}"
        click.echo(
            f"{when} before batch {move['batch']}: moved {len(move['tasks'])} channels ({move['cause']}); "
            f"between hosts {figure(before)} to {figure(after)} bytes predicted{found}"
        )


def _describe(task: dict[str, Any], status: dict[str, Any]) -> str:
    operators = ", ".join(status["pes"][task["pe"]])
    return (
        f"PE {task['pe']}, channel {task['channel']}: {operators}; {task['cpu_seconds']:.3f} s a batch, "
        f"{figure(task['state_bytes'])} bytes of state"
    )
