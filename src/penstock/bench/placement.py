"""`penstock bench placement`: the schedulers of the graph-partitioning paper on a real cluster of four workers.

Each of the four topologies (`workloads.live_topologies`) runs under each placement, `spark` being as Spark does it
alone, on a standalone cluster on loopback addresses, each run an application of its own. Counted are the bytes that
executors have read from other executors in shuffles, as Spark reports them itself, and the time of a batch, both from
the batches behind the one in which tasks were placed by what they send. What a spout sends to the first bolt is
counted, too: where a source is read is Spark's to say, so a share of one hop in seven crosses in every placement.

All workers are on one machine, and loopback is no network: the times say what placing costs, not what a scarce network
would gain.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench import Bench
from penstock.bench.measure.own_process import run_apart
from penstock.bench.workloads.live_topologies import LIVE_TOPOLOGIES
from penstock.compiler import Options
from penstock.expr.environment import Environment
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

_BATCH = re.compile(r"batch = (\d+)")


def run(bench: Bench) -> None:
    """Run each topology under each placement."""
    topologies = ("open_gov",) if bench.quick else tuple(LIVE_TOPOLOGIES)
    placements = ("even", "metis") if bench.quick else PLACEMENTS
    rows, batches = (2_000, 4) if bench.quick else (40_000, 8)
    remote: dict[tuple[str, str], float] = {}
    seconds: dict[tuple[str, str], float] = {}
    hosts = 2 if bench.quick else _HOSTS
    with tempfile.TemporaryDirectory() as folder:
        cluster = start_cluster(Path(folder) / "cluster", hosts)
        try:
            for topology in topologies:
                for placement in placements:
                    bench.progress(f"{topology}, placed by {placement}")
                    found = run_apart(
                        run_placed,
                        master=cluster.master,
                        topology=topology,
                        placement=placement,
                        channels=len(cluster.workers),
                        rows=rows,
                        batches=_BEFORE + batches,
                    )
                    remote[topology, placement] = found["remote_bytes"]
                    seconds[topology, placement] = found["seconds"]
                    bench.row(topology=topology, placement=placement, **found)
        finally:
            stop_cluster(Path(folder) / "cluster")
    _check(bench, remote, seconds, topologies)
    _draw(bench, remote, topologies, placements, hosts)


def run_placed(master: str, topology: str, placement: str, channels: int, rows: int, batches: int) -> dict[str, Any]:
    """Run a topology; the figures of a batch, medians over those behind the first ones."""
    from penstock.spark.job.rescaling import run_program
    from penstock.spark.job.session import ON_PLACES, open_session
    from penstock.spark.placement.placer import PlacementSettings

    spark = open_session(master, **({} if placement == "spark" else ON_PLACES))
    durations: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
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


def _check(
    bench: Bench,
    remote: dict[tuple[str, str], float],
    seconds: dict[tuple[str, str], float],
    topologies: tuple[str, ...],
) -> None:
    for topology in topologies:
        ratio = remote[topology, "metis"] / remote[topology, "even"]
        if topology in _LONG_CHAINS:
            bench.check(f"{topology}: part of the remote bytes of even that metis cuts", 1 - ratio, at_least=0.85)
        else:
            bench.check(f"{topology}: remote bytes of metis to those of even", ratio, at_most=_SAME)
        slower = seconds[topology, "metis"] / seconds[topology, "even"]
        bench.check(f"{topology}: time of a batch of metis to that of even", slower, at_most=1.05, timed=True)


def _draw(
    bench: Bench,
    remote: dict[tuple[str, str], float],
    topologies: tuple[str, ...],
    placements: tuple[str, ...],
    hosts: int,
) -> None:
    title = f"bytes between executors, relative to even, {hosts} workers"
    with bench.figure("placement", title=title, xlabel="", ylabel="to even") as axes:
        width = 0.8 / len(placements)
        for place, placement in enumerate(placements):
            ratios = [remote[topology, placement] / remote[topology, "even"] for topology in topologies]
            axes.bar([n + place * width for n in range(len(topologies))], ratios, width, label=placement)
        axes.set_xticks([n + 0.4 - width / 2 for n in range(len(topologies))], topologies)
        axes.legend()
