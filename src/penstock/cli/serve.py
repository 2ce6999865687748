"""`penstock serve`: the service that decides which jobs run on a cluster, and with how much."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.base.cache_folder import cache_folder
from penstock.base.figures import figure
from penstock.base.json_reader import load_object
from penstock.base.redaction import protect
from penstock.cli import print_json
from penstock.cli.options.option_types import LocalFolder, Number
from penstock.scheduler.io.nodes_reader import cluster_from_json
from penstock.scheduler.problem.nodes import Node
from penstock.service.jobs.submission import LARGEST

if TYPE_CHECKING:
    from penstock.service.simulate.simulate import Epoch

CORE_MIPS = 1000.0
"""What a core gives, as `penstock optimize` counts."""

_LONGEST_EPOCH = 86_400.0
_MASTER = re.compile(r"local(\[[^\]]+\])?|yarn|spark://.+|k8s://.+")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8600,
    show_default=True,
    help="The port to listen on; 0 takes one that is free.",
)
@click.option("--master", metavar="URL", default="local", show_default=True, help="The Spark cluster; `local`: here.")
@click.option(
    "--home",
    type=LocalFolder(),
    metavar="DIR",
    help="Where jobs, their checkpoints and all decisions are kept. Default: `service` in the cache folder.",
)
@click.option(
    "--mips",
    type=Number(min=0.0, max=LARGEST),
    metavar="N",
    help="The capacity of the cluster. Default: 1,000 for each core here.",
)
@click.option(
    "--nodes",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The nodes of the cluster, instead of --mips; docs/formats/admission.md.",
)
@click.option(
    "--macro",
    type=Number(min=0.5, max=_LONGEST_EPOCH),
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    help="How often it is decided who runs.",
)
@click.option(
    "--micro",
    type=Number(min=0.2, max=_LONGEST_EPOCH),
    metavar="SECONDS",
    help="How often mips and limits are adjusted. Default: a fifth of --macro.",
)
@click.option(
    "--resize",
    is_flag=True,
    help="Change the cores of jobs while they run, one executor each; on a standalone cluster. Experimental.",
)
@click.option("--certificate", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="For TLS.")
@click.option("--key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Of the certificate.")
@click.option(
    "--simulate",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Run nothing: play a scenario against the code that decides; docs/formats/simulation.md.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help='Print {"url": ...} when requests are answered; with --simulate, all epochs.',
)
def command(
    host: str,
    port: int,
    master: str,
    home: Path | None,
    mips: float | None,
    nodes: Path | None,
    macro: float,
    micro: float | None,
    resize: bool,
    certificate: Path | None,
    key: Path | None,
    simulate: Path | None,
    as_json: bool,
) -> int:
    """Run the service: it admits jobs by rank and importance, starts and feeds them, suspends and resumes them.

    It answers at http://127.0.0.1:8600: a page for people, a REST API for `penstock submit`, `status` and the others.
    On an address that others can reach it wants a token (PENSTOCK_TOKEN) and TLS. Jobs are processes of their own, and
    go on when the service ends; started again with the same --home, it finds them.

    \b
    Example:
        penstock serve --home jobs
        penstock serve --home jobs --master spark://host:7077 --mips 64000
        penstock serve --simulate scenario.json
    """
    if micro is not None and micro > macro:
        raise click.UsageError(f"--micro is {micro:g} s, longer than --macro, {macro:g} s")
    if simulate is not None:
        return _play(simulate, macro, micro or macro / 5, as_json=as_json)
    from penstock.service.api.server import Address, log_to_stderr, serve
    from penstock.service.carry_out.settings import Settings
    from penstock.service.service import Service

    if mips is not None and nodes is not None:
        raise click.UsageError("--mips and --nodes exclude each other")
    if not _MASTER.fullmatch(master):
        raise click.UsageError(f"--master is `{master}`; give local, or a URL such as spark://host:7077")
    token = os.environ.get("PENSTOCK_TOKEN") or None
    if token is not None:
        protect(token)
    address = Address(host=host, port=port, token=token, certificate=certificate, key=key)
    address.check()
    settings = Settings(
        home=(home or cache_folder() / "service").absolute(),
        master=master,
        nodes=_nodes(nodes, mips, master),
        core_mips=CORE_MIPS,
        macro_seconds=macro,
        micro_seconds=micro or macro / 5,
        resize=resize,
    )
    log_to_stderr()
    serve(Service(settings), address, lambda url: _tell(url, as_json=as_json))
    return 0


def _play(path: Path, macro: float, micro: float, *, as_json: bool) -> int:
    """Play a scenario, and print a line for each epoch."""
    from penstock.service.simulate.scenario import scenario_from_json
    from penstock.service.simulate.simulate import simulate

    scenario = scenario_from_json(load_object(path, '{"nodes": {"local": 2000}, "jobs": [...]}'), str(path))
    epochs = []
    for epoch in simulate(scenario, macro_seconds=macro, micro_seconds=micro):
        epochs.append(epoch)
        if not as_json:
            click.echo(_describe(epoch))
    total = sum(epoch.importance for epoch in epochs)
    if as_json:
        told = [{**asdict(epoch), "plan": epoch.plan.to_json()} for epoch in epochs]
        print_json({"importance": total / len(epochs), "epochs": told})
    else:
        click.echo(f"importance {figure(total / len(epochs))} on average over {len(epochs)} epochs")
    return 0


def _describe(epoch: Epoch) -> str:
    words = [f"epoch {epoch.number} ({epoch.kind}): importance {figure(epoch.importance)}"]
    words.append(f"{figure(epoch.plan.mips_used)} of {figure(epoch.mips)} mips, waterline {epoch.plan.waterline}")
    words += [f"starts {', '.join(epoch.started)}"] if epoch.started else []
    words += [f"stops {', '.join(epoch.stopped)}"] if epoch.stopped else []
    words += [f"no plan: {epoch.reason}"] if epoch.reason else []
    return "; ".join(words)


def _nodes(path: Path | None, mips: float | None, master: str) -> tuple[Node, ...]:
    if path is None:
        default = CORE_MIPS * (os.cpu_count() or 1)
        return (Node(id="local" if master.startswith("local") else "cluster", mips=default if mips is None else mips),)
    found = cluster_from_json(load_object(path, '{"nodes": [{"id": "a", "mips": 4000}]}'), str(path))
    if not found.nodes:
        raise click.UsageError(f"`{path}` has no nodes")
    return found.nodes


def _tell(url: str, *, as_json: bool) -> None:
    click.echo(json.dumps({"url": url}) if as_json else f"the service is at {url}", err=not as_json)
