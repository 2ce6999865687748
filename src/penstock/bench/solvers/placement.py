"""Placement of tasks that already run: what is worth moving after rates have changed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.bench import Bench
from penstock.bench.measure.own_process import run_apart
from penstock.bench.workloads.solver_shapes import SHAPES, shaped_problem
from penstock.placement import PlacementProblem, place
from penstock.placement.measure import cost
from penstock.placement.problem import communication_graph, equal_machines
from penstock.placement.stay import present_placement

_LATE, _MOST_MIB = 1.0, 1024.0


def run_placement(bench: Bench) -> None:
    """Time, moves and traffic of every shape, against a placement that moves nothing and one that moves at will."""
    tasks, machines, seconds = (1_000, 8, 1.0) if bench.quick else (10_000, 50, 5.0)
    rows = []
    for shape in SHAPES[:2] if bench.quick else SHAPES:
        bench.progress(f"placement: {shape}")
        row: dict[str, Any] = {"shape": shape, "tasks": tasks, "machines": machines, "deadline_seconds": seconds}
        row |= run_apart(place_again, shape=shape, tasks=tasks, machines=machines, seconds=seconds)
        row["late"] = max(0.0, row["seconds"] - seconds)
        bench.row(part="placement", **row)
        rows.append(row)
    bench.check(
        "placement: seconds beyond the deadline, the most", max(r["late"] for r in rows), at_most=_LATE, timed=True
    )
    bench.check("placement: peak memory in MiB, the most", max(r["peak_mib"] for r in rows), at_most=_MOST_MIB)
    worst = max(r["cost_with_moves_to_staying"] for r in rows)
    bench.check("placement: traffic and moves to the traffic of staying, the most", worst, at_most=1.0, timed=True)


def place_again(shape: str, tasks: int, machines: int, seconds: float) -> dict[str, Any]:
    """A placement, and another one after the rates have changed by a half."""
    fused = shaped_problem(shape, operators=tasks, hosts=machines, is_constrained=False)
    traffic = np.random.default_rng(1).uniform(0.5, 1.5, len(fused.sources)) * fused.stream_costs
    graph = communication_graph(fused.costs, fused.sources, fused.targets, fused.stream_costs)
    before = PlacementProblem(graph=graph, machines=equal_machines(machines))
    home = place(before, deadline_seconds=seconds).machine_of
    problem = replace(before, graph=communication_graph(fused.costs, fused.sources, fused.targets, traffic))
    present = present_placement(problem, home)
    began = time.perf_counter()
    again = place(problem, present=present, deadline_seconds=seconds)
    took = time.perf_counter() - began
    moved = present.moved(again.machine_of)
    staying = max(cost(problem, home), 1e-9)
    return {
        "seconds": took,
        "moved": len(moved),
        "cost_to_staying": again.cost / staying,
        "cost_with_moves_to_staying": (again.cost + float(present.prices[moved].sum())) / staying,
        "free_cost_to_staying": place(problem, deadline_seconds=seconds).cost / staying,
        "within_limit": bool(again.within_limit),
    }
