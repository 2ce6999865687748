"""The status of one job, as its checkpoint tells it, for people and for programs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from penstock.base.figures import figure
from penstock.cli import print_json


def show_checkpoint(checkpoint: Path, graph: Path | None, page: Path | None, as_json: bool) -> int:
    """Show the job of a checkpoint."""
    from penstock.placement.live.channel_graph import format_metis
    from penstock.spark.placement.job_status import graph_of, read_status

    status = read_status(checkpoint)
    if graph is not None:
        graph.write_text(format_metis(graph_of(status).as_communication_graph()))
        click.echo(f"wrote {graph}", err=True)
    if page is not None:
        page.write_text(by_host(status), encoding="utf-8")
        click.echo(f"wrote {page}", err=True)
    if as_json:
        print_json(status)
    else:
        _print(status)
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


def _print(status: dict[str, Any]) -> None:
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
