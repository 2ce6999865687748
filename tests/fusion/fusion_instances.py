"""Small seeded fusion problems, and the definitions of the COLA paper written out the slow way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from penstock.fusion.problem.costs import measure, pe_utilizations
from penstock.fusion.problem.fusion_problem import Assignment, FusionProblem, fusion_problem
from penstock.fusion.problem.random_problems import random_problem
from penstock.fusion.problem.validity import violations


def varied_problem(seed: int, *, most_operators: int, most_hosts: int) -> tuple[FusionProblem, bool]:
    """A problem and whether its plan must be acyclic; all kinds of demands turn up over the seeds."""
    rng = np.random.default_rng(seed)
    problem = random_problem(
        seed,
        operators=int(rng.integers(2, most_operators + 1)),
        hosts=int(rng.integers(1, most_hosts + 1)),
        constraints=int(rng.integers(0, 4)),
        is_dag=bool(rng.random() < 0.7),
        has_regions=bool(rng.random() < 0.25),
        has_links=bool(rng.random() < 0.3),
        slack=float(rng.uniform(1.8, 4.0)),
    )
    return problem, bool(rng.random() < 0.6)


def partitions(count: int) -> Iterator[list[int]]:
    """Every partition of a set, as labels."""

    def extend(labels: list[int], groups: int) -> Iterator[list[int]]:
        if len(labels) == count:
            yield list(labels)
            return
        for label in range(groups + 1):
            labels.append(label)
            yield from extend(labels, max(groups, label + 1))
            labels.pop()

    yield from extend([], 0)


def valid_fusions(problem: FusionProblem, acyclic: bool) -> Iterator[Assignment]:
    """Every valid fusion: all partitions, all hosts."""
    for labels in partitions(problem.operators):
        for hosts in itertools.product(range(problem.hosts.count), repeat=max(labels) + 1):
            fusion = Assignment(pe_of=np.array(labels), host_of=np.array(hosts))
            if next(violations(problem, fusion, acyclic=acyclic), None) is None:
                yield fusion


def best_by_brute_force(problem: FusionProblem, acyclic: bool) -> tuple[bool, dict[str, float]]:
    """Whether a valid fusion exists, and the least value by each objective of those that fit; infinite if none fits."""
    is_valid, best = False, dict.fromkeys(("cut", "balance", "throughput"), float("inf"))
    streams = float(problem.stream_costs.sum()) or 1.0
    for fusion in valid_fusions(problem, acyclic):
        is_valid = True
        measures = measure(problem, fusion)
        if measures.fits:
            fullest = max(float(pe_utilizations(problem, fusion, measures.sizes).max()), measures.max_utilization)
            found = {
                "cut": measures.cut,
                "balance": 0.5 * fullest + 0.5 * measures.cut / streams,
                "throughput": measures.bottleneck,
            }
            best = {objective: min(best[objective], value) for objective, value in found.items()}
    return is_valid, best


def size_by_definition(problem: FusionProblem, operators: set[int]) -> float:
    """Equation 1."""
    streams = zip(problem.sources.tolist(), problem.targets.tolist(), problem.stream_costs.tolist(), strict=True)
    crossing = sum(cost for source, target, cost in streams if (source in operators) != (target in operators))
    return sum(float(problem.costs[operator]) for operator in operators) + crossing


def even_problem(seed: int, *, most_operators: int, most_hosts: int) -> FusionProblem:
    """A chain, ring, star, grid, clique or tree on equal hosts, where many choices are alike and few fit."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, most_operators + 1))
    shape = rng.choice(["chain", "ring", "star", "grid", "clique", "tree"])
    width = max(2, round(count**0.5))
    ends = {
        "chain": [(v, v + 1) for v in range(count - 1)],
        "ring": [(v, (v + 1) % count) for v in range(count)] if count > 2 else [(0, 1)],
        "star": [(0, v) for v in range(1, count)],
        "grid": [(v, v + d) for v in range(count) for d in (1, width) if v + d < count and (d > 1 or (v + 1) % width)],
        "clique": list(itertools.combinations(range(count), 2)),
        "tree": [((v - 1) // 2, v) for v in range(1, count)],
    }[shape]
    costs = rng.integers(0, 3, count) if rng.random() < 0.3 else np.full(count, int(rng.integers(1, 4)))
    stream = float(rng.integers(1, 4))
    hosts = int(rng.integers(1, most_hosts + 1))
    capacity = np.ceil((costs.sum() + stream * len(ends) * rng.uniform(0, 1.2)) / hosts)
    return fusion_problem(costs.tolist(), [(v, u, stream) for v, u in ends], [max(1.0, float(capacity))] * hosts)
