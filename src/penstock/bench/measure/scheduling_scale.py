"""Time and memory of placing METIS files of growing size, each step in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from penstock.base.deadline import Deadline
from penstock.bench import Bench
from penstock.placement import MetisSettings, PlacementProblem, communication_graph, equal_machines, place
from penstock.placement.graph_format import read_graph, write_partition
from penstock.placement.measure import cost, limits
from penstock.placement.metis import settle
from penstock.placement.partition import partition

_SCALE_MACHINES = 64


def measure_scale(bench: Bench) -> None:
    """Generate, read, place and write graphs of growing size."""
    sizes = (5_000, 10_000, 20_000) if bench.quick else (100_000, 300_000, 1_000_000)
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for tasks in sizes:
            bench.progress(f"{tasks:,} tasks and about {10 * tasks:,} edges")
            path = Path(folder) / f"{tasks}.graph"
            command = [sys.executable, "-m", "penstock.bench.measure.scheduling_scale"]
            subprocess.run([*command, "generate", str(path), str(tasks)], check=True)
            solved = subprocess.run([*command, "solve", str(path)], check=True, capture_output=True, text=True)
            measured.append(json.loads(solved.stdout))
            bench.row(part="scale, local traffic, metis", **measured[-1])
            path.unlink()
    _check_scale(bench, measured)


def _check_scale(bench: Bench, measured: list[dict[str, float]]) -> None:
    edges, cpu, sweeps = ([m[key] for m in measured] for key in ("edges", "cpu_seconds", "sweep_cpu_seconds"))
    bench.check("seconds to read and place the largest graph", measured[-1]["seconds"], at_most=300, timed=True)
    bench.check("peak memory on the largest graph (GiB)", measured[-1]["peak_gib"], at_most=8)
    bench.check("exponent of the growth of CPU time with edges", _growth(edges, cpu), at_most=1.25, timed=True)
    bench.check("the same of METIS and the sweeps, without the climb", _growth(edges, sweeps), at_most=1.25, timed=True)
    _draw_scale(bench, edges, {"read, place and write": cpu, "METIS and the sweeps alone": sweeps})


def _draw_scale(bench: Bench, edges: list[float], curves: dict[str, list[float]]) -> None:
    title = f"Placing large graphs on {_SCALE_MACHINES} machines"
    with bench.figure("scale", title=title, xlabel="edges", ylabel="CPU seconds") as axes:
        for name, times in curves.items():
            axes.loglog(edges, times, "o-", label=f"{name}: edges^{_growth(edges, times):.2f}")
            axes.loglog(edges, [times[0] * e / edges[0] for e in edges], ":", color="0.6")
        axes.plot([], [], ":", color="0.6", label="linear growth")
        axes.legend()


def _growth(edges: list[float], times: list[float]) -> float:
    return float(np.polyfit(np.log(edges), np.log(times), 1)[0])


def _generate(path: Path, tasks: int) -> None:
    """Write a graph whose tasks talk mostly to near ones, in scrambled order, ten edges for each task."""
    rng = np.random.default_rng(tasks)
    edges = round(10.6 * tasks)
    sources = rng.integers(0, tasks, edges)
    far = rng.random(edges) < 0.05
    targets = np.where(far, rng.integers(0, tasks, edges), (sources + rng.geometric(0.02, edges)) % tasks)
    name = rng.permutation(tasks)
    graph = communication_graph(rng.integers(1, 10, tasks), name[sources], name[targets], rng.integers(1, 100, edges))
    with path.open("w") as file:
        file.write(f"{graph.tasks} {graph.edges} 011\n")
        for task in range(graph.tasks):
            pairs = np.column_stack([graph.neighbours(task) + 1, graph.neighbour_traffic(task)]).astype(np.int64)
            file.write(f"{int(graph.weights[task, 0])} {' '.join(map(str, pairs.ravel().tolist()))}\n")


def _solve(path: Path) -> dict[str, float]:
    began, cpu_began = time.perf_counter(), time.process_time()
    graph = read_graph(path)
    problem = PlacementProblem(graph=graph, machines=equal_machines(_SCALE_MACHINES))
    answer = place(problem, "metis")
    write_partition(path.with_name(path.name + f".part.{_SCALE_MACHINES}"), answer.machine_of)
    seconds, cpu_seconds, peak_gib = time.perf_counter() - began, time.process_time() - cpu_began, _peak_gib()
    alone, sweep_cpu_seconds = _metis_and_sweeps(problem)
    return {
        "tasks": graph.tasks,
        "edges": graph.edges,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_gib": peak_gib,
        "cost_over_metis_alone": answer.cost / alone,
        "imbalance": answer.imbalance,
        "sweep_cpu_seconds": sweep_cpu_seconds,
        "machines": _SCALE_MACHINES,
    }


def _metis_and_sweeps(problem: PlacementProblem) -> tuple[float, float]:
    """The cost of METIS alone, and the CPU time of METIS and the sweeps, without the climb, whose work is bounded."""
    began, settings = time.process_time(), MetisSettings()
    alone = partition(problem, "cut", settings.seed)
    limit = limits(problem, problem.imbalance)
    settle(problem, alone, limit, settings, np.random.default_rng(settings.seed), Deadline.after(None))
    return cost(problem, alone), time.process_time() - began


def _peak_gib() -> float:
    """The most memory that this process has held, from Linux's own account of it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return kib / 2**20


def _main(arguments: list[str]) -> None:
    """One step of the scale part, in a process of its own so that its memory can be told apart."""
    if arguments[0] == "generate":
        _generate(Path(arguments[1]), int(arguments[2]))
    else:
        print(json.dumps(_solve(Path(arguments[1]))))


if __name__ == "__main__":
    _main(sys.argv[1:])
