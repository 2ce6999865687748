"""`penstock bench drift`: hot keys that change, and channels that follow them.

A chain of keyed bolts (`workloads.drifting_keys`) runs on a standalone cluster, placed by `metis` and looked at again
every few seconds (`--reschedule`). Every so many batches its hot keys are others, and with them who talks to whom.

What crosses between hosts is set against a placement computed with hindsight: for each phase the one that `metis` finds
for the traffic of that very phase, in force from its first batch on, moves for free. The pause of a move is what the
batch behind it takes longer than the median of its phase, in batches. Sinks must hold what the reference gives them.

A phase is meant to be a minute: it is as many batches as are said, so that a fast machine does not make it easier.
The links in the model of what pays are set to ten megabits, so that kilobytes matter as gigabytes do elsewhere.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench import Bench
from penstock.bench.measure.own_process import run_apart
from penstock.bench.workloads.drifting_keys import drifting_keys
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.reference import run as run_reference
from penstock.spark.cluster.local_cluster import start_cluster, stop_cluster

if TYPE_CHECKING:
    from penstock.placement.live.channel_graph import ChannelGraph, Task
    from penstock.runtime.pes.traffic import TaskTraffic

_LINK_BYTES = 1.25e6
_RESCHEDULE_SECONDS = 2.0
_WITHIN = 1.3
_LONGEST_PAUSE_BATCHES = 2.0


def run(bench: Bench) -> None:
    """Run it on four workers, or two where it must be quick."""
    hosts, rows, batches, phases = (2, 200, 8, 2) if bench.quick else (4, 300, 60, 5)
    with tempfile.TemporaryDirectory() as folder:
        cluster = start_cluster(Path(folder) / "cluster", hosts)
        try:
            bench.progress(f"{phases} phases of {batches} batches on {hosts} workers")
            found = run_apart(
                run_drifting, master=cluster.master, channels=hosts, rows=rows, batches=batches, phases=phases
            )
        finally:
            stop_cluster(Path(folder) / "cluster")
    for row in found["phases"]:
        bench.row(**row)
    settled = found["phases"][1:]
    moved, hindsight = (sum(row[name] for row in settled) for name in ("remote_bytes", "hindsight_bytes"))
    bench.check("remote bytes to those of a placement with hindsight", moved / hindsight, at_most=_WITHIN, timed=True)
    bench.check("moves a partition and minute", found["moves_a_minute"], at_most=1.0, timed=True)
    if found["pauses"]:
        longest = max(found["pauses"])
        bench.check("longest pause of a move, in batches", longest, at_most=_LONGEST_PAUSE_BATCHES, timed=True)
    bench.check("output equal to the reference, in order", float(found["equal"]), at_least=1.0)
    _draw(bench, found["remote"], found["hindsight"], batches)


def run_drifting(master: str, channels: int, rows: int, batches: int, phases: int) -> dict[str, Any]:
    """Run the job; what crossed in each batch, what hindsight would have had cross, and what moved."""
    from penstock.spark.job import query
    from penstock.spark.job.rescaling import run_program
    from penstock.spark.job.session import ON_PLACES, open_session
    from penstock.spark.placement.placement_settings import PlacementSettings
    from penstock.spark.placement.placer import Placer

    kept: list[_Kept] = []
    placers: list[Placer] = []

    class Watched(Placer):
        """A placer that keeps what the tasks of each batch have told."""

        def after(self, batch: int, traffic: Sequence[TaskTraffic]) -> None:
            super().after(batch, traffic)
            placers[:] = [self]
            hosts = {executor.id: executor.host for executor in self.executors}
            kept.append(_Kept(self, traffic, hosts))

    made: Any = query
    made.Placer = Watched
    durations: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = drifting_keys(folder, channels, rows, batches, phases)
        spark = open_session(master, **ON_PLACES)
        _, outcome = run_program(
            job.program,
            Options(
                environment=_environment(folder, "found"), pes=job.pes, channels=channels, batch=job.turns_per_batch
            ),
            spark,
            checkpoint=folder / "checkpoint",
            on_progress=lambda told: durations.update({told["batchId"]: told["batchDuration"] / 1000}),
            notice=lambda text: None,
            placement=PlacementSettings(
                algorithm="metis", reschedule_seconds=_RESCHEDULE_SECONDS, link_bytes=_LINK_BYTES
            ),
        )
        spark.stop()
        run_reference(job.program, environment=_environment(folder, "wanted"))
        is_equal = (folder / "found" / "out.csv").read_bytes() == (folder / "wanted" / "out.csv").read_bytes()
    (placer,) = placers
    tasks = len(placer.homes)
    return {
        **_by_phase(kept, durations, placer, batches, phases),
        "moves_a_minute": placer.log.count / tasks / (outcome.seconds / 60),
        "equal": is_equal,
    }


def _environment(folder: Path, out: str) -> Environment:
    (folder / out).mkdir()
    return Environment(data_directory=folder, output_directory=folder / out)


class _Kept:
    """What the tasks of one batch have told: what they sent, where they ran, and what sources sent elsewhere."""

    def __init__(self, placer: Any, traffic: Sequence[TaskTraffic], hosts: Mapping[str, str]) -> None:
        from penstock.placement.live.traffic_window import TrafficWindow
        from penstock.spark.placement.placer import line_of

        window = TrafficWindow(line_of(placer._plan), batches=1)
        window.add(traffic)
        self.graph: ChannelGraph = window.graph()
        self.host_of: dict[Task, str] = {task: host for task, (_, host) in window.homes.items()}
        self.executors = list(placer.executors)
        self.hosts = dict(hosts)


def _by_phase(
    kept: Sequence[_Kept], durations: Mapping[int, float], placer: Any, batches: int, phases: int
) -> dict[str, Any]:
    """For each phase what crossed, and what would have with hindsight."""
    rows: list[dict[str, Any]] = []
    remote: list[float] = []
    ideal: list[float] = []
    pauses: list[float] = []
    for phase in range(phases):
        here = kept[phase * batches : (phase + 1) * batches]
        host_of = _hindsight(here)
        cut = [batch.graph.cut(batch.host_of) for batch in here]
        best = [batch.graph.cut(host_of) for batch in here]
        numbers = range(phase * batches, phase * batches + len(here))
        seconds = [durations[number] for number in numbers if number in durations]
        usual = statistics.median(seconds)
        moves = [move for move in placer.log.moves if move.batch in numbers]
        pauses += [max(0.0, durations[move.batch] / usual - 1) for move in moves if move.batch in durations]
        rows.append(
            {
                "phase": phase,
                "batches": len(here),
                "remote_bytes": sum(cut),
                "hindsight_bytes": sum(best),
                "ratio": sum(cut) / sum(best),
                "moves": sum(len(move.tasks) for move in moves),
                "seconds_a_batch": usual,
            }
        )
        remote += cut
        ideal += best
    return {"phases": rows, "remote": remote, "hindsight": ideal, "pauses": pauses}


def _hindsight(batches: Sequence[_Kept]) -> dict[Task, str]:
    """The host of each task in the placement for the traffic of all of these batches."""
    from penstock.placement.live.channel_graph import ChannelGraph
    from penstock.placement.live.live_schedule import place_tasks

    flows: dict[tuple[Task, Task], float] = {}
    cpu: dict[Task, float] = {}
    for batch in batches:
        for pair, size in batch.graph.flows.items():
            flows[pair] = flows.get(pair, 0.0) + size
        for task, seconds in batch.graph.cpu_seconds.items():
            cpu[task] = cpu.get(task, 0.0) + seconds
    graph = ChannelGraph(tasks=batches[-1].graph.tasks, flows=flows, cpu_seconds=cpu)
    found = place_tasks(graph, batches[-1].executors, "metis")
    return {task: batches[-1].hosts[home] for task, home in found.items()}


def _draw(bench: Bench, remote: Sequence[float], hindsight: Sequence[float], batches: int) -> None:
    title = f"bytes between hosts while hot keys change every {batches} batches"
    with bench.figure("drift", title=title, xlabel="batch", ylabel="bytes") as axes:
        axes.plot(remote, label="rescheduled")
        axes.plot(hindsight, label="with hindsight")
        axes.set_ylim(bottom=0)
        axes.legend()
