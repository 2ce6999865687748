"""`penstock bench cola`: table 1 of the COLA paper, small problems against their optimum, and 10,000 operators.

Four parts:

1. Table 1: cut and largest PE of bargain detection (200 operators, 283 streams) on 4 to 7 hosts, for NONE, FINT (our
   `greedy`), COLA, and our own algorithms. Costs are assumed; `cola_problems` says how.
2. How often `throughput --acyclic` is optimal among seeded problems of up to 12 operators and 4 hosts with all kinds of
   constraints; `exact` is the judge. Problems that it cannot decide in time are reported and left out.
3. The ratio of our cuts to the least ratio, on graphs that are small enough to try every cut.
4. 10,000 operators and 30,000 streams on 100 hosts, which the operators alone load to 70 %, each algorithm in a
   process of its own for its memory; then the same for acyclic plans.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections import Counter

import numpy as np

from penstock.base.diagnostics import Infeasible
from penstock.bench import Bench
from penstock.bench.workloads.cola_problems import bargain_problem
from penstock.fusion import Algorithm, Fusion, FusionProblem, Settings, fuse
from penstock.fusion.cuts.cut_graph import CutGraph, cut_graph
from penstock.fusion.cuts.ratio_cut import minimum_ratio_cut
from penstock.fusion.problem.random_problems import random_problem

_TABLE_1: tuple[Algorithm, ...] = ("none", "greedy", "cola", "advanced-cola", "throughput")
_HOSTS = (4, 5, 6, 7)
_EXACT_SECONDS = 20.0
_LARGE_SECONDS = 60.0
_CHILD = """
import json, resource, sys
from penstock.bench.workloads.cola_problems import large_problem
from penstock.fusion import Settings, fuse
acyclic = sys.argv[6] == "acyclic"
problem = large_problem(*map(int, sys.argv[2:5]))
seconds = float(sys.argv[5]) if sys.argv[1] == "throughput" else None
found = fuse(problem, sys.argv[1], Settings(acyclic=acyclic), deadline_seconds=seconds)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cut": found.cut, "throughput_scale": found.throughput_scale, "feasible": found.feasible,
                  "seconds": found.seconds, "pes": found.assignment.pes, "peak_mib": peak}))
"""


def run(bench: Bench) -> None:
    """Run the four parts."""
    _table_1(bench)
    _optimality(bench)
    _ratios(bench)
    for kind in ("free", "acyclic"):
        _scale(bench, kind)


def _table_1(bench: Bench) -> None:
    sizes = _HOSTS[:: len(_HOSTS) - 1] if bench.quick else _HOSTS
    found: dict[tuple[int, Algorithm], Fusion] = {}
    for hosts in sizes:
        for algorithm in _TABLE_1:
            bench.progress(f"table 1: {algorithm} on {hosts} hosts")
            found[hosts, algorithm] = _solve_table_1(bench, hosts, algorithm)
    less = sum(found[hosts, "cola"].cut < found[hosts, "greedy"].cut for hosts in sizes)
    bench.check("table 1: sizes where cola cuts less than greedy", less, at_least=len(sizes) - 1)
    share = max(found[hosts, "greedy"].cut / found[hosts, "none"].cut for hosts in sizes)
    bench.check("table 1: cut of greedy to cut of none, the largest", share, at_most=0.5)
    ahead = min(
        found[hosts, "throughput"].throughput_scale / max(found[hosts, a].throughput_scale for a in _TABLE_1[:-1])
        for hosts in sizes
    )
    bench.check("table 1: throughput to the best of the others, the smallest", ahead, at_least=1.0 - 1e-9, timed=True)
    _draw_table_1(bench, found)


def _solve_table_1(bench: Bench, hosts: int, algorithm: Algorithm) -> Fusion:
    problem = bargain_problem(hosts)
    seconds = (1.0 if bench.quick else 30.0) if algorithm == "throughput" else None
    fusion = fuse(problem, algorithm, deadline_seconds=seconds)
    capacity = float(problem.hosts.capacities[0])
    bench.row(
        part="table 1",
        hosts=hosts,
        algorithm=algorithm,
        cut=fusion.cut / capacity,
        pe_size=fusion.max_pe_size / capacity,
        utilization=fusion.max_utilization,
        throughput_scale=fusion.throughput_scale,
        pes=fusion.assignment.pes,
        feasible=fusion.feasible,
        seconds=fusion.seconds,
    )
    return fusion


def _draw_table_1(bench: Bench, found: dict[tuple[int, Algorithm], Fusion]) -> None:
    sizes = sorted({hosts for hosts, _ in found})
    with bench.figure(
        "cola_table_1", title="Cut of bargain detection", xlabel="hosts", ylabel="mips between PEs"
    ) as axes:
        for algorithm in _TABLE_1:
            axes.plot(sizes, [found[hosts, algorithm].cut for hosts in sizes], marker="o", label=algorithm)
        axes.set_xticks(sizes)
        axes.set_ylim(bottom=0)
        axes.legend()


def _optimality(bench: Bench) -> None:
    wanted = 10 if bench.quick else 500
    counted: Counter[str] = Counter()
    seed = 0
    while counted["optimal"] + counted["missed"] < wanted:
        verdict = _judge(small_problem(seed))
        counted[verdict] += 1
        seed += 1
        if seed % 50 == 0:
            bench.progress(f"optimality: {seed} problems, {dict(counted)}")
    decided = counted["optimal"] + counted["missed"]
    bench.row(
        part="optimality", cases=decided, **{name: counted[name] for name in ("optimal", "infeasible", "undecided")}
    )
    bench.check(
        "share of small acyclic problems where throughput is optimal", counted["optimal"] / decided, at_least=0.95
    )


def small_problem(seed: int) -> FusionProblem:
    """A problem of 3 to 12 operators on 1 to 4 hosts with up to three constraints of any kind."""
    rng = np.random.default_rng(10_000 + seed)
    return random_problem(
        seed,
        operators=int(rng.integers(3, 13)),
        hosts=int(rng.integers(1, 5)),
        constraints=int(rng.integers(0, 4)),
        is_dag=bool(rng.random() < 0.8),
        has_regions=bool(rng.random() < 0.2),
        has_links=bool(rng.random() < 0.3),
        slack=float(rng.uniform(2.0, 4.0)),
    )


def _judge(problem: FusionProblem) -> str:
    settings = Settings(acyclic=True)
    try:
        best = fuse(problem, "exact", settings, deadline_seconds=_EXACT_SECONDS)
    except Infeasible:
        return "infeasible"
    if not best.optimal:
        return "undecided"
    found = fuse(problem, "throughput", settings, deadline_seconds=_EXACT_SECONDS)
    return "optimal" if found.throughput_scale >= best.throughput_scale * (1 - 1e-6) else "missed"


def _ratios(bench: Bench) -> None:
    graphs = [_small_graph(seed) for seed in range(10 if bench.quick else 150)]
    ratios = [graph.sparsity(minimum_ratio_cut(graph)) / _least_ratio(graph) for graph in graphs]
    bench.row(part="ratio cut", cases=len(ratios), worst=max(ratios), mean=float(np.mean(ratios)))
    bench.check("ratio cut to the least ratio, the largest", max(ratios), at_most=math.log(12))


def _small_graph(seed: int) -> CutGraph:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(6, 13))
    edges = [(int(rng.integers(v)), v, float(rng.lognormal())) for v in range(1, count)]
    for _ in range(count):
        u, v = rng.choice(count, 2, replace=False).tolist()
        edges.append((u, v, float(rng.lognormal())))
    return cut_graph(rng.lognormal(size=count), edges)


def _least_ratio(graph: CutGraph) -> float:
    sides = itertools.product((False, True), repeat=graph.vertices - 1)
    cuts = (np.array([False, *side]) for side in sides)
    return min(graph.sparsity(side) for side in cuts if side.any())


def _scale(bench: Bench, kind: str) -> None:
    size = (300, 900, 6, 2.0) if bench.quick else (10_000, 30_000, 100, _LARGE_SECONDS)
    what = f"{size[0]:,} operators, {'acyclic' if kind == 'acyclic' else 'cycles allowed'}"
    found = {}
    for algorithm in ("greedy", "cola", "throughput"):
        bench.progress(f"scale: {algorithm} on {what}")
        arguments = [sys.executable, "-c", _CHILD, algorithm, *map(str, size), kind]
        printed = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        found[algorithm] = json.loads(printed)
        bench.row(part=f"scale, {what}", hosts=size[2], algorithm=algorithm, **found[algorithm])
    bench.check(f"{what}: seconds of cola", found["cola"]["seconds"], at_most=60.0, timed=True)
    late = found["throughput"]["seconds"] / size[3]
    bench.check(f"{what}: time of throughput to its deadline", late, at_most=1.05, timed=True)
    ahead = found["throughput"]["throughput_scale"] / found["cola"]["throughput_scale"]
    bench.check(f"{what}: throughput_scale of throughput to that of cola", ahead, at_least=1.0, timed=True)
    bench.check(f"{what}: peak memory of throughput in MiB", found["throughput"]["peak_mib"], at_most=2048)
