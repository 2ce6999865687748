"""`penstock bench scheduling`: figure 6 of the graph-partitioning paper, our refinement, and a million tasks.

Three parts:

1. Traffic and throughput of the three placements on the paper's four topologies, 10 to 80 machines.
2. What our refinement adds to METIS alone, over seeded random graphs at the same imbalance.
3. Time and memory of `place --algorithm metis` on METIS files of growing size (`scheduling_scale`).

The throughput is not measured. It stands there twice: as a bound, where all rates grow together until a machine's cores
or its network link are full, which is how Storm runs; and as the throughput model predicts it (`scheduling_model`),
which is how Spark would. Both take their constants from `Host`; they are assumed, in the range of the paper's
machines, and the same for all placements, so that only the ratio between two placements means something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.base.deadline import Deadline
from penstock.bench import Bench
from penstock.bench.measure.scheduling_scale import measure_scale
from penstock.bench.workloads.scheduling_model import Host, predicted_scale, topology_model
from penstock.placement import (
    ALGORITHMS,
    CommunicationGraph,
    MetisSettings,
    PlacementProblem,
    communication_graph,
    equal_machines,
    place,
)
from penstock.placement.greedy import place_greedily
from penstock.placement.measure import cost, imbalance, limits, loads, overload
from penstock.placement.metis import refine
from penstock.placement.partition import partition
from penstock.placement.problem import Floats, Ints
from penstock.placement.topologies import TOPOLOGIES, Topology

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Drawn = dict[tuple[str, int, str], tuple[float, float, float]]
"""By topology, machines and algorithm: traffic, the bound on throughput and the model's, relative to even."""

PUBLISHED_MEANS = {
    **{("throughput", "greedy", name): mean for name, mean in zip(TOPOLOGIES, (0, 0, 12, 1), strict=True)},
    **{("throughput", "metis", name): mean for name, mean in zip(TOPOLOGIES, (19, 6, 52, 3), strict=True)},
    ("bandwidth", "metis", "parallel"): -14.0,
    ("bandwidth", "metis", "payload"): -33.75,
    ("bandwidth", "greedy", "reference"): -9.75,
}
"""Changes in percent over clusters of 10 to 80 machines: table I of the paper, and its section V-A."""

_TOPOLOGY_SEED = 7


def run(bench: Bench) -> None:
    """Run the three parts."""
    _figure_6(bench)
    _refinement(bench)
    measure_scale(bench)


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
    cores = (tuples * host.tuple_seconds + crossing * host.byte_seconds) / host.cores
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
    drawn: Drawn = {}
    for name, make in TOPOLOGIES.items():
        for machines in sizes:
            bench.progress(f"{name} on {machines} machines")
            drawn.update(_compare(bench, name, make(machines, np.random.default_rng(_TOPOLOGY_SEED)), machines))
    _check_figure_6(bench, drawn)
    _draw_figure_6(bench, drawn)


def _compare(bench: Bench, name: str, topology: Topology, machines: int) -> Drawn:
    problem = _problem(topology, machines)
    results = {algorithm: place(problem, algorithm) for algorithm in ALGORITHMS}
    scales = {a: throughput_scale(topology, r.machine_of, machines, Host()) for a, r in results.items()}
    model = topology_model(topology, machines, Host())
    predicted = {a: predicted_scale(model, r.machine_of) for a, r in results.items()}
    even = results["even"].cost
    drawn = {
        a: (r.cost / even, scales[a] / scales["even"], predicted[a] / predicted["even"]) for a, r in results.items()
    }
    for algorithm, result in results.items():
        bench.row(
            part="figure 6, against even",
            case=name,
            tasks=problem.graph.tasks,
            edges=problem.graph.edges,
            machines=machines,
            algorithm=algorithm,
            cost_ratio=drawn[algorithm][0],
            throughput_ratio=drawn[algorithm][1],
            predicted_throughput_ratio=drawn[algorithm][2],
            imbalance=result.imbalance,
            seconds=result.seconds,
        )
    _compare_to_unrelieved_greedy(bench, name, problem, even)
    return {(name, machines, algorithm): ratios for algorithm, ratios in drawn.items()}


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


def _check_figure_6(bench: Bench, drawn: Drawn) -> None:
    for name in ("parallel", "payload"):
        saved = min(1.0 - ratios[0] for (n, _, a), ratios in drawn.items() if n == name and a == "metis")
        bench.check(f"{name}: least part of even's traffic that metis cuts", saved, at_least=0.85)
    to_greedy = max(drawn[n, k, "metis"][0] - drawn[n, k, "greedy"][0] for n, k, a in drawn if a == "metis")
    bench.check("most by which metis's traffic exceeds greedy's, relative to even's", to_greedy, at_most=1e-9)
    worst = max(float(str(row["imbalance"])) for row in bench.rows if row["algorithm"] == "metis")
    bench.check("largest imbalance of metis", worst, at_most=1.03 * (1 + 1e-9))
    least = min(ratios[2] for (_, _, a), ratios in drawn.items() if a == "metis")
    bench.check("least throughput that the model predicts for metis, relative to even's", least, at_least=1.0 - 1e-9)


def _draw_figure_6(bench: Bench, drawn: Drawn) -> None:
    """Figure 6 in three parts, the smallest and the largest cluster, and the mean over all beside the paper's."""
    sizes = sorted({machines for _, machines, _ in drawn})
    parts = (
        ("bandwidth", "traffic between machines"),
        ("throughput", "throughput bound"),
        ("prediction", "throughput by the model, on Spark"),
    )
    for which, (stem, what) in enumerate(parts):
        title = f"Figure 6: {what}, change against even"
        with bench.figure(f"figure6-{stem}", title=title, xlabel="machines, topology", ylabel="change (%)") as axes:
            for offset, algorithm in ((-0.2, "greedy"), (0.2, "metis")):
                heights = [
                    100.0 * (float(np.mean([drawn[name, size, algorithm][which] for size in group])) - 1.0)
                    for name in TOPOLOGIES
                    for group in (sizes[:1], sizes[-1:], sizes)
                ]
                bars = axes.bar(np.arange(len(heights)) + offset, heights, width=0.4, label=algorithm)
                axes.bar_label(bars, fmt="%.0f", fontsize=6, padding=1)
                _mark_published(axes, stem, algorithm, offset)
            _name_groups(axes, sizes)
            axes.legend(fontsize=8)


def _mark_published(axes: Axes, half: str, algorithm: str, offset: float) -> None:
    """A diamond on the bar of the mean where the paper gives the mean."""
    means = [(3 * i + 2, PUBLISHED_MEANS.get((half, algorithm, name))) for i, name in enumerate(TOPOLOGIES)]
    known = [(place + offset, mean) for place, mean in means if mean is not None]
    if known:
        label = "published mean" if algorithm == "metis" else None
        axes.plot(*zip(*known, strict=True), "kD", markersize=4, markerfacecolor="none", label=label)


def _name_groups(axes: Axes, sizes: Sequence[int]) -> None:
    ticks = [str(sizes[0]), str(sizes[-1]), "mean"] * len(TOPOLOGIES)
    for i, name in enumerate(TOPOLOGIES):
        ticks[3 * i + 1] += f"\n{name}"
        if i:
            axes.axvline(3 * i - 0.5, color="0.7", linewidth=0.8)
    axes.set_xticks(range(len(ticks)), ticks, fontsize=8)
    axes.margins(y=0.12)


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
    seeds = range(10 if bench.quick else 200)
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
