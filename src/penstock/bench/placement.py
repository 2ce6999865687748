"""`penstock bench placement`: the schedulers of the graph-partitioning paper on a real cluster of four workers.

Each of the four topologies (`workloads.live_topologies`) runs under each placement, `spark` being as Spark does it
alone, on a standalone cluster on loopback addresses, each run an application of its own. Counted are the bytes that
executors have read from other executors in shuffles, as Spark reports them itself, and the time of a batch, both from
the batches behind the one in which tasks were placed by what they send. What a spout sends to the first bolt is
counted, too: where a source is read is Spark's to say, so a share of one hop in seven crosses in every placement.

All workers are on one machine, and loopback is no network: those times say what placing costs. Where the machine
allows it, workers then get namespaces of their own with links of 20 megabits a second, and throughput shows what
placing gains: Parallel and Payload, beside the paper's table 1, and tuples of several sizes, as in its figure 9.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.bench import Bench
from penstock.bench.measure.own_process import run_apart
from penstock.bench.workloads.live_topologies import LIVE_TOPOLOGIES, sized
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.spark.cluster.limited_network import GATEWAY, can_limit, in_own_network, limited_network
from penstock.spark.cluster.local_cluster import start_cluster, stop_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACEMENTS = ("spark", "even", "greedy", "metis")
_HOSTS = 4
_BEFORE = 4
"""So many batches begin a run: some are looked at before tasks are placed, and those that move load their state."""
_LONG_CHAINS = ("parallel", "payload")
_SAME = 1.02
"""Where traffic is uniform, what is sent to whom differs by as much from batch to batch."""

Found = dict[tuple[str, str], dict[str, Any]]
"""By topology and placement the figures of a batch."""

LINK_MBPS = 20.0
"""What a link carries where the network is scarce."""

_SIZES = (100, 1_000, 10_000)
"""The sizes of tuples of figure 9, in bytes."""

_BYTES_A_BATCH = 4_000_000
_PAPER_GAIN = {"parallel": 1.06, "payload": 1.52}
"""The throughput of Metis to that of the default scheduler in the paper's table 1: means of 10 to 80 machines."""

_BATCH = re.compile(r"batch = (\d+)")


def run(bench: Bench) -> None:
    """Run each topology under each placement, then two of them on a scarce network."""
    topologies = ("open_gov",) if bench.quick else tuple(LIVE_TOPOLOGIES)
    placements = ("even", "metis") if bench.quick else PLACEMENTS
    rows, batches = (2_000, 4) if bench.quick else (20_000, 4)
    found: Found = {}
    hosts = 2 if bench.quick else _HOSTS
    with tempfile.TemporaryDirectory() as folder:
        cluster = start_cluster(Path(folder) / "cluster", hosts)
        try:
            for topology in topologies:
                for placement in placements:
                    bench.progress(f"{topology}, placed by {placement}")
                    found[topology, placement] = run_apart(
                        run_placed,
                        master=cluster.master,
                        topology=topology,
                        placement=placement,
                        channels=len(cluster.workers),
                        rows=rows,
                        batches=_BEFORE + batches,
                    )
                    bench.row(network="loopback", topology=topology, placement=placement, **found[topology, placement])
        finally:
            stop_cluster(Path(folder) / "cluster")
    _check(bench, found, topologies)
    _draw(bench, found, topologies, placements, hosts)
    if not bench.quick:
        run_scarce(bench)


def run_placed(
    master: str, topology: str, placement: str, channels: int, rows: int, batches: int, tuple_bytes: int = 0
) -> dict[str, Any]:
    """Run a topology; the figures of a batch, medians over those behind the first ones."""
    from penstock.spark.job.rescaling import run_program
    from penstock.spark.job.session import ON_ONE_MACHINE, ON_PLACES, open_session
    from penstock.spark.placement.placement_settings import PlacementSettings

    spark = open_session(master, **ON_ONE_MACHINE, **({} if placement == "spark" else ON_PLACES))
    durations: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if tuple_bytes:
            made = sized(folder, channels, rows, batches, payload_bytes=tuple_bytes)
        else:
            made = LIVE_TOPOLOGIES[topology](folder, channels, rows, batches)
        options = Options(
            environment=Environment(data_directory=folder, output_directory=folder),
            pes=made.pes,
            channels=channels,
            batch=made.turns_per_batch,
        )
        _, outcome = run_program(
            made.program,
            options,
            spark,
            checkpoint=folder / "checkpoint",
            on_progress=lambda progress: durations.update({progress["batchId"]: progress["batchDuration"] / 1000}),
            notice=lambda text: None,
            placement=PlacementSettings(algorithm=placement),
        )
        remote, read = shuffled_bytes(spark)
        spark.stop()
    steady = [batch for batch in remote if _BEFORE <= batch < outcome.batches - 1]
    seconds = statistics.median(durations[batch] for batch in steady if batch in durations)
    return {
        "remote_bytes": statistics.median(remote[batch] for batch in steady),
        "shuffled_bytes": statistics.median(read[batch] for batch in steady),
        "seconds": seconds,
        "tuples_per_second": made.turns_per_batch / seconds,
        "batches": len(steady),
    }


def run_scarce(bench: Bench) -> None:
    """Run long chains, and tuples of several sizes, on links that are limited, if this machine has such."""
    if not can_limit():
        bench.progress("no scarce network: this machine has no network namespaces for us, or no tc")
        return
    command = in_own_network([sys.executable, "-m", "penstock.bench.placement", str(_HOSTS), str(LINK_MBPS)])
    found: Found = {}
    by_size: dict[tuple[int, str], float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            row = json.loads(line)
            bench.progress(f"{row['topology']}, {row['tuple_bytes'] or 'usual'} bytes, placed by {row['placement']}")
            bench.row(**row)
            if row["tuple_bytes"]:
                by_size[row["tuple_bytes"], row["placement"]] = row["tuples_per_second"]
            else:
                found[row["topology"], row["placement"]] = row
    if process.returncode:
        raise UserError("the part with limited links has failed", hint="what it says is above")
    gains = {name: _ratio(found, name, "metis", "tuples_per_second") for name in _LONG_CHAINS}
    for name in _LONG_CHAINS:
        bench.check(f"{name} on scarce links: throughput of metis to even", gains[name], at_least=1.0, timed=True)
    title = f"throughput of metis to even: links of {LINK_MBPS:.0f} Mbit/s, and the paper's table 1"
    with bench.figure("placement_gain", title=title, xlabel="", ylabel="to even") as axes:
        places = range(len(gains))
        axes.bar([n - 0.2 for n in places], list(gains.values()), 0.4, label="here")
        axes.bar([n + 0.2 for n in places], [_PAPER_GAIN[name] for name in gains], 0.4, label="paper")
        axes.set_xticks(list(places), list(gains))
        axes.legend()
    title = f"throughput by size of tuples, links of {LINK_MBPS:.0f} Mbit/s (paper, figure 9: four times from 10 KB on)"
    with bench.figure("placement_sizes", title=title, xlabel="bytes", ylabel="tuples a second") as axes:
        for placement in ("even", "metis"):
            axes.plot(_SIZES, [by_size[size, placement] for size in _SIZES], marker="o", label=placement)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend()


def scarce_rows(hosts: int, mbps: float) -> Iterator[dict[str, Any]]:
    """The figures of runs on limited links; in a network of its own."""
    # Drivers are at the master, whatever the machine's name means.
    os.environ["SPARK_LOCAL_IP"] = GATEWAY
    wanted = [(topology, 0, 10_000) for topology in _LONG_CHAINS]
    wanted += [("payload", size, _BYTES_A_BATCH // max(size, 400)) for size in _SIZES]
    with limited_network(hosts, mbps) as sites, tempfile.TemporaryDirectory() as folder:
        cluster = start_cluster(Path(folder) / "cluster", hosts, sites=sites)
        try:
            for topology, size, rows in wanted:
                for placement in ("even", "metis"):
                    found = run_apart(
                        run_placed,
                        master=cluster.master,
                        topology=topology,
                        placement=placement,
                        channels=hosts,
                        rows=rows,
                        batches=_BEFORE + 3,
                        tuple_bytes=size,
                    )
                    names = {"topology": topology, "placement": placement, "tuple_bytes": size}
                    yield {"network": f"{mbps:.0f} Mbit/s", **names, **found}
        finally:
            stop_cluster(Path(folder) / "cluster")


def shuffled_bytes(spark: SparkSession) -> tuple[dict[int, float], dict[int, float]]:
    """For each batch the bytes that executors have read from other executors, and all that they have read."""
    context: Any = spark.sparkContext._jsc
    context.sc().listenerBus().waitUntilEmpty()
    store = context.sc().statusStore()
    defaults = (getattr(store, f"stageList$default${number}")() for number in range(2, 6))
    stages = store.stageList(None, *defaults)
    remote: dict[int, float] = {}
    read: dict[int, float] = {}
    for place in range(stages.size()):
        stage = stages.apply(place)
        told = stage.description()
        match = _BATCH.search(told.get()) if told.isDefined() else None
        if match is not None:
            batch = int(match[1])
            remote[batch] = remote.get(batch, 0.0) + stage.shuffleRemoteBytesRead()
            read[batch] = read.get(batch, 0.0) + stage.shuffleReadBytes()
    return dict(sorted(remote.items())), read


def _check(bench: Bench, found: Found, topologies: tuple[str, ...]) -> None:
    for topology in topologies:
        ratio = _ratio(found, topology, "metis", "remote_bytes")
        if topology in _LONG_CHAINS:
            bench.check(f"{topology}: part of the remote bytes of even that metis cuts", 1 - ratio, at_least=0.85)
        else:
            bench.check(f"{topology}: remote bytes of metis to those of even", ratio, at_most=_SAME)
        slower = _ratio(found, topology, "metis", "seconds")
        bench.check(f"{topology}: time of a batch of metis to that of even", slower, at_most=1.05, timed=True)


def _ratio(found: Found, topology: str, placement: str, figure: str) -> float:
    """A figure of a placement to that of `even`."""
    return float(found[topology, placement][figure] / found[topology, "even"][figure])


def _draw(bench: Bench, found: Found, topologies: tuple[str, ...], placements: tuple[str, ...], hosts: int) -> None:
    title = f"bytes between executors, relative to even, {hosts} workers"
    with bench.figure("placement", title=title, xlabel="", ylabel="to even") as axes:
        width = 0.8 / len(placements)
        for place, placement in enumerate(placements):
            ratios = [_ratio(found, topology, placement, "remote_bytes") for topology in topologies]
            axes.bar([n + place * width for n in range(len(topologies))], ratios, width, label=placement)
        axes.set_xticks([n + 0.4 - width / 2 for n in range(len(topologies))], topologies)
        axes.legend()


if __name__ == "__main__":
    # Under its own name, by which it is found in the processes that run the jobs.
    from penstock.bench.placement import scarce_rows as rows_of_runs

    for scarce in rows_of_runs(int(sys.argv[1]), float(sys.argv[2])):
        print(json.dumps(scarce), flush=True)
