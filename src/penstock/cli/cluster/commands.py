"""`penstock cluster`: a real standalone cluster of Spark's on this machine, for trying things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from penstock.base.diagnostics import UserError
from penstock.cli import print_json
from penstock.cli.options.option_types import LocalFolder

_FOLDER = click.option(
    "--folder",
    type=LocalFolder(),
    metavar="DIR",
    help="Where the cluster keeps its logs and the folders of its executors. Default: `cluster` in Penstock's cache.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group()
def command() -> None:
    """Start, look at and end a cluster on loopback addresses of this machine: a master, and workers that Spark takes
    for different hosts.

    \b
    Example:
        penstock cluster up --hosts 4 --racks 2
        penstock cluster status
        penstock cluster down
    """


@command.command()
@click.option("--hosts", type=click.IntRange(1, 200), default=2, show_default=True, help="How many workers it has.")
@click.option("--racks", type=click.IntRange(min=1), default=1, show_default=True, help="Over how many racks.")
@click.option("--cores", type=click.IntRange(min=1), default=1, show_default=True, help="Of each worker.")
@click.option(
    "--memory",
    "memory_mib",
    type=click.IntRange(min=512),
    metavar="MIB",
    default=1024,
    show_default=True,
    help="Of each worker; executors take 1024 unless Spark's settings say otherwise.",
)
@click.option(
    "--tag",
    "tagged",
    multiple=True,
    metavar="HOST=TAG",
    help="What a worker offers, for demands of programs on hosts; may be given several times.",
)
@_FOLDER
@_JSON
def up(
    hosts: int,
    racks: int,
    cores: int,
    memory_mib: int,
    tagged: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
) -> int:
    """Start a cluster, and say its URL for --master.

    Workers have the addresses 127.0.0.2, 127.0.0.3 and so on. Nothing is offered to the network.

    \b
    Example:
        penstock cluster up --hosts 4 --racks 2
    """
    from penstock.spark.cluster.local_cluster import start_cluster

    started = start_cluster(
        _folder(folder),
        hosts,
        racks=racks,
        cores=cores,
        memory_mib=memory_mib,
        tags=_tags(tagged),
        notice=lambda text: click.echo(text, err=True),
    )
    if as_json:
        workers = [{"host": worker.host, "rack": worker.rack} for worker in started.workers]
        print_json({"master": started.master, "workers": workers, "cores": cores, "memory_mib": memory_mib})
        return 0
    click.echo(f"{hosts} workers are up; run applications with --master {started.master}")
    return 0


@command.command()
@_FOLDER
@_JSON
def down(folder: Path | None, as_json: bool) -> int:
    """End the cluster with all that runs on it; nothing is left behind.

    \b
    Example:
        penstock cluster down
    """
    from penstock.spark.cluster.local_cluster import stop_cluster

    there_was = stop_cluster(_folder(folder))
    if as_json:
        print_json({"ended": there_was})
    else:
        click.echo("the cluster has ended" if there_was else "there is no cluster")
    return 0


@command.command()
@_FOLDER
@_JSON
def status(folder: Path | None, as_json: bool) -> int:
    """Show the workers, their executors, and what runs on them.

    \b
    Example:
        penstock cluster status
    """
    from penstock.spark.cluster.cluster_record import read_cluster
    from penstock.spark.cluster.cluster_status import find_workers

    place = _folder(folder)
    cluster = read_cluster(place)
    if cluster is None:
        raise UserError("there is no cluster", hint="`penstock cluster up --hosts 4` starts one")
    workers = find_workers(cluster)
    is_running = cluster.process.is_running
    if as_json:
        found = [asdict(worker) for worker in workers]
        print_json({"master": cluster.master, "is_running": is_running, "workers": found})
        return 0
    click.echo(f"{cluster.master} {'is running' if is_running else 'has ended: `penstock cluster down` cleans up'}")
    for worker in workers:
        state = f"{worker.cores_used} of {worker.cores} cores in use" if worker.is_alive else "does not answer"
        click.echo(f"{worker.host}  {worker.rack}  {state}")
        for executor in worker.executors:
            click.echo(
                f"  executor {executor.id} of {executor.name} ({executor.application}), {executor.memory_mib} MiB"
            )
    return 0


def _folder(given: Path | None) -> Path:
    from penstock.spark.cluster.cluster_record import default_folder

    return (given or default_folder()).absolute()


def _tags(given: Sequence[str]) -> dict[str, list[str]]:
    """By host the tags of `--tag`."""
    found: dict[str, list[str]] = {}
    for item in given:
        host, _, tag = item.partition("=")
        if not host or not tag:
            raise click.BadParameter(f"`{item}` is not HOST=TAG", param_hint="--tag")
        found.setdefault(host, []).append(tag)
    return found
