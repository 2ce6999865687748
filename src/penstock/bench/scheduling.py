"""`penstock bench scheduling`: figure 6 of the graph-partitioning paper, our refinement, and a million tasks.

Three parts:

1. Traffic and predicted throughput of the three placements on the paper's four topologies, 10 to 80 machines.
2. What our refinement adds to METIS alone, over seeded random graphs at the same imbalance.
3. Time and memory of `place --algorithm metis` on METIS files of growing size, each in a process of its own.

The throughput is a bound and not a measurement: all rates grow together until a machine's cores or its network link are
full (`Host`). Its constants are assumed, in the range of the paper's machines, and the same for all placements; only
the ratio between two placements means something.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from penstock.bench import Bench
from penstock.placement import (
    ALGORITHMS,
    CommunicationGraph,
    MetisSettings,
    PlacementProblem,
    communication_graph,
    equal_machines,
    place,
)
from penstock.placement.deadline import Deadline
from penstock.placement.graph_format import read_graph, write_partition
from penstock.placement.greedy import place_greedily
from penstock.placement.measure import cost, imbalance, limits, loads, overload
from penstock.placement.metis import refine, settle
from penstock.placement.partition import partition
from penstock.placement.problem import Floats, Ints
from penstock.placement.topologies import TOPOLOGIES, Topology

_SCALE_MACHINES = 64
_TOPOLOGY_SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a machine can do; assumed, after the paper's iMacs (four cores, 1 Gbit/s).

    Attributes:
        core_seconds: Core time in a second.
        link_bytes: What the link carries in a second, each way.
        tuple_seconds: Core time to receive or emit one tuple.
        byte_seconds: Core time to serialize or deserialize one byte that crosses machines.
        ack_bytes: What acknowledging one tuple sends, to a task anywhere; no placement can save it.
    """

    core_seconds: float = 4.0
    link_bytes: float = 125e6
    tuple_seconds: float = 10e-6
    byte_seconds: float = 10e-9
    ack_bytes: float = 40.0


def run(bench: Bench) -> None:
    """Run the three parts."""
    _figure_6(bench)
    _refinement(bench)
    _scale(bench)


def throughput_scale(topology: Topology, machine_of: Ints, machines: int, host: Host) -> float:
    """By how much all rates could grow before a machine's cores or its link are full.

    Example:
        >>> topology = TOPOLOGIES["payload"](10, np.random.default_rng(1))
        >>> dealt, chains = np.arange(80) % 10, place(_problem(topology, 10), "metis").machine_of
        >>> throughput_scale(topology, chains, 10, Host()) > throughput_scale(topology, dealt, 10, Host())
        True
    """
    graph = topology.graph
    tuples = np.bincount(machine_of, weights=graph.weights[:, 0], minlength=machines)
    crossing = _crossing_bytes(graph, machine_of, machines)
    acks = tuples * host.ack_bytes * (1.0 - 1.0 / machines) if topology.is_acked else 0.0
    crossing = crossing + acks
    cores = (tuples * host.tuple_seconds + crossing * host.byte_seconds) / host.core_seconds
    # What crosses is counted at both ends, in and out together; a full-duplex link carries half of it each way.
    link = crossing / (2.0 * host.link_bytes)
    return float(1.0 / np.maximum(cores, link).max())


def _crossing_bytes(graph: CommunicationGraph, machine_of: Ints, machines: int) -> Floats:
    sources = np.repeat(machine_of, np.diff(graph.starts))
    apart = sources != machine_of[graph.adjacent]
    return np.asarray(np.bincount(sources[apart], weights=graph.traffic[apart], minlength=machines), np.float64)


def _problem(topology: Topology, machines: int) -> PlacementProblem:
    return PlacementProblem(graph=topology.graph, machines=equal_machines(machines))


def _figure_6(bench: Bench) -> None:
    sizes = (10, 40) if bench.quick else tuple(range(10, 81, 10))
    drawn: dict[tuple[str, int, str], tuple[float, float]] = {}
    for name, make in TOPOLOGIES.items():
        for machines in sizes:
            bench.progress(f"{name} on {machines} machines")
            drawn.update(_compare(bench, name, make(machines, np.random.default_rng(_TOPOLOGY_SEED)), machines))
    _check_figure_6(bench, drawn)
    _draw_figure_6(bench, drawn, (sizes[0], sizes[-1]))


def _compare(
    bench: Bench, name: str, topology: Topology, machines: int
) -> dict[tuple[str, int, str], tuple[float, float]]:
    problem = _problem(topology, machines)
    results = {algorithm: place(problem, algorithm) for algorithm in ALGORITHMS}
    scales = {a: throughput_scale(topology, r.machine_of, machines, Host()) for a, r in results.items()}
    for algorithm, result in results.items():
        bench.row(
            part="figure 6, against even",
            case=name,
            tasks=problem.graph.tasks,
            edges=problem.graph.edges,
            machines=machines,
            algorithm=algorithm,
            cost_ratio=result.cost / results["even"].cost,
            throughput_ratio=scales[algorithm] / scales["even"],
            imbalance=result.imbalance,
            seconds=result.seconds,
        )
    _compare_to_unrelieved_greedy(bench, name, problem, results["even"].cost)
    even = results["even"].cost
    return {(name, machines, a): (r.cost / even, scales[a] / scales["even"]) for a, r in results.items()}


def _compare_to_unrelieved_greedy(bench: Bench, name: str, problem: PlacementProblem, even: float) -> None:
    """Greedy as published may break the limit; METIS is then given the limit that greedy kept."""
    greedy = place_greedily(problem)
    bound = imbalance(problem, greedy)
    if bound <= problem.imbalance:
        return
    metis = place(replace(problem, imbalance=bound), "metis")
    for algorithm, found in (("greedy as published", cost(problem, greedy)), ("metis at its imbalance", metis.cost)):
        bench.row(
            part="greedy as published, against even",
            case=name,
            tasks=problem.graph.tasks,
            edges=problem.graph.edges,
            machines=problem.machines.count,
            algorithm=algorithm,
            cost_ratio=found / even,
            imbalance=bound,
        )


def _check_figure_6(bench: Bench, drawn: dict[tuple[str, int, str], tuple[float, float]]) -> None:
    for name in ("parallel", "payload"):
        saved = min(1.0 - traffic for (n, _, a), (traffic, _) in drawn.items() if n == name and a == "metis")
        bench.check(f"{name}: least part of even's traffic that metis cuts", saved, at_least=0.85)
    to_greedy = max(drawn[n, k, "metis"][0] - drawn[n, k, "greedy"][0] for n, k, a in drawn if a == "metis")
    bench.check("most by which metis's traffic exceeds greedy's, relative to even's", to_greedy, at_most=1e-9)
    worst = max(float(str(row["imbalance"])) for row in bench.rows if row["algorithm"] == "metis")
    bench.check("largest imbalance of metis", worst, at_most=1.03 * (1 + 1e-9))


def _draw_figure_6(
    bench: Bench, drawn: dict[tuple[str, int, str], tuple[float, float]], sizes: tuple[int, int]
) -> None:
    groups = [(name, size) for size in sizes for name in TOPOLOGIES]
    titles = (("bandwidth", "traffic between machines"), ("throughput", "predicted throughput"))
    for which, (stem, what) in enumerate(titles):
        title = f"{what}, relative to even"
        with bench.figure(f"figure6-{stem}", title=title, xlabel="topology, machines", ylabel="change (%)") as axes:
            for offset, algorithm in ((-0.2, "greedy"), (0.2, "metis")):
                changes = [100.0 * (drawn[name, size, algorithm][which] - 1.0) for name, size in groups]
                axes.bar(np.arange(len(groups)) + offset, changes, width=0.4, label=algorithm)
            axes.set_xticks(range(len(groups)), [f"{name}\n{size}" for name, size in groups], fontsize=7)
            axes.legend()


def random_graph(seed: int) -> tuple[CommunicationGraph, int]:
    """A small random communication graph of one of four kinds, and a number of machines."""
    rng = np.random.default_rng(seed)
    tasks = int(rng.integers(60, 400))
    edges = 4 * tasks
    sources, targets = rng.integers(0, tasks, edges), rng.integers(0, tasks, edges)
    if seed % 4 == 1:
        targets = (sources + rng.geometric(0.1, edges)) % tasks
    elif seed % 4 == 2:
        sources = (tasks * rng.power(3, edges)).astype(np.int64)
    elif seed % 4 == 3:
        side = int(tasks**0.5)
        tasks, grid = side * side, np.arange(side * side).reshape(side, side)
        sources = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
        targets = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    traffic = rng.integers(1, 100, len(sources))
    return communication_graph(rng.integers(1, 10, tasks), sources, targets, traffic), int(rng.integers(2, 17))


def _refinement(bench: Bench) -> None:
    seeds = range(60 if bench.quick else 200)
    bench.progress(f"refining METIS's answers on {len(seeds)} graphs")
    outcomes = [_refine_one(seed) for seed in seeds]
    bench.row(
        part="refinement, against METIS alone",
        case=f"{len(outcomes)} random graphs, mean",
        algorithm="metis, one seed",
        cost_ratio=float(np.mean([ratio for ratio, _ in outcomes])),
    )
    bench.check("graphs on which refinement is worse than METIS alone", sum(o > 0 for _, o in outcomes), at_most=0)
    better = float(np.mean([order < 0 for _, order in outcomes]))
    bench.check("part of the graphs on which it is better", better, at_least=1 / 3)


def _refine_one(seed: int) -> tuple[float, int]:
    """The cost after refinement relative to METIS alone, and the sign of the difference by (overload, cost)."""
    graph, machines = random_graph(seed)
    problem = PlacementProblem(graph=graph, machines=equal_machines(machines))
    limit = limits(problem, problem.imbalance)
    alone = partition(problem, "cut", seed)
    after = refine(problem, alone, limit, MetisSettings(), np.random.default_rng(seed), Deadline.after(None))
    first, second = ((overload(loads(problem, m), limit), cost(problem, m)) for m in (alone, after))
    return second[1] / first[1], (second > first) - (second < first)


def _scale(bench: Bench) -> None:
    sizes = (10_000, 30_000, 100_000) if bench.quick else (100_000, 300_000, 1_000_000)
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for tasks in sizes:
            bench.progress(f"{tasks:,} tasks and about {10 * tasks:,} edges")
            path = Path(folder) / f"{tasks}.graph"
            command = [sys.executable, "-m", "penstock.bench.scheduling"]
            subprocess.run([*command, "generate", str(path), str(tasks)], check=True)
            solved = subprocess.run([*command, "solve", str(path)], check=True, capture_output=True, text=True)
            measured.append(json.loads(solved.stdout))
            bench.row(part="scale, against METIS alone", case="local traffic", algorithm="metis", **measured[-1])
            path.unlink()
    _check_scale(bench, measured)


def _check_scale(bench: Bench, measured: list[dict[str, float]]) -> None:
    seconds, cpu = [m["seconds"] for m in measured], [m["cpu_seconds"] for m in measured]
    edges = [m["edges"] for m in measured]
    growth, sweep_growth = (_growth(edges, times) for times in (cpu, [m["sweep_cpu_seconds"] for m in measured]))
    bench.check("seconds to read and place the largest graph", seconds[-1], at_most=300)
    bench.check("peak memory on the largest graph (GiB)", measured[-1]["peak_gib"], at_most=8)
    bench.check("exponent of the growth of CPU time with edges", growth, at_most=1.25)
    bench.check("the same of METIS and the sweeps, without the climb", sweep_growth, at_most=1.25)
    with bench.figure("scale", title="placing large graphs", xlabel="edges", ylabel="CPU seconds") as axes:
        axes.loglog(edges, cpu, "o-", label=f"read and place, edges^{growth:.2f}")
        axes.loglog(edges, [cpu[0] * e / edges[0] for e in edges], "--", label="linear")
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
        "machines": _SCALE_MACHINES,
        "cost_ratio": answer.cost / alone,
        "sweep_cpu_seconds": sweep_cpu_seconds,
        "imbalance": answer.imbalance,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_gib": peak_gib,
    }


def _metis_and_sweeps(problem: PlacementProblem) -> tuple[float, float]:
    """What METIS alone costs, and the CPU time of METIS and the sweeps, without the climb, whose work is bounded."""
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
