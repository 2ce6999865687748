"""Fusion on large graphs of five shapes, with and without constraints, by every algorithm, each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from penstock.bench import Bench
from penstock.bench.workloads.solver_shapes import SHAPES
from penstock.fusion import ALGORITHMS

_LATE, _MOST_MIB = 1.0, 1024.0
_CHILD = """
import json, resource, sys, time
from penstock.bench.workloads.solver_shapes import shaped_problem
from penstock.base.diagnostics import Infeasible
from penstock.fusion import Settings, fuse
algorithm, shape, operators, hosts, seconds, demands, plan = sys.argv[1:]
problem = shaped_problem(shape, operators=int(operators), hosts=int(hosts), is_constrained=demands == "all kinds")
began = time.perf_counter()
try:
    fusion = fuse(problem, algorithm, Settings(acyclic=plan == "acyclic"), deadline_seconds=float(seconds))
    found = {"feasible": fusion.feasible, "cut": fusion.cut, "throughput_scale": fusion.throughput_scale}
except Infeasible:
    found = {"feasible": False, "cut": None, "throughput_scale": None}
found["seconds"] = time.perf_counter() - began
found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


def run_fusion(bench: Bench) -> None:
    """Time, memory and distance to the best known, for each shape and algorithm."""
    operators, hosts, seconds = (200, 8, 1.0) if bench.quick else (10_000, 50, 10.0)
    rows: list[dict[str, Any]] = []
    for shape in SHAPES[:2] if bench.quick else SHAPES:
        for demands in ("all kinds",) if bench.quick else ("none", "all kinds"):
            for plan in ("free",) if bench.quick else ("free", "acyclic"):
                rows += _solve_all(bench, shape, (operators, hosts, seconds), demands, plan)
    what = f"fusion, {operators:,} operators"
    bench.check(f"{what}: seconds beyond the deadline, the most", max(r["late"] for r in rows), at_most=_LATE)
    bench.check(f"{what}: peak memory in MiB, the most", max(r["peak_mib"] for r in rows), at_most=_MOST_MIB)
    _check_cola(bench, what, rows)
    with bench.figure("solvers_fusion", title=what, xlabel="seconds", ylabel="MiB") as axes:
        for algorithm in ALGORITHMS:
            own = [row for row in rows if row["algorithm"] == algorithm]
            axes.scatter([r["seconds"] for r in own], [r["peak_mib"] for r in own], label=algorithm)
        axes.legend()


def _solve_all(bench: Bench, shape: str, size: tuple[int, int, float], demands: str, plan: str) -> list[dict[str, Any]]:
    """One problem by every algorithm; the best known cut is the least that any of them finds."""
    rows = []
    for algorithm in ALGORITHMS:
        bench.progress(f"fusion: {algorithm} on a {shape}, constraints: {demands}, {plan}")
        arguments = [sys.executable, "-c", _CHILD, algorithm, shape, *map(str, size), demands, plan]
        printed = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        found = json.loads(printed)
        late = max(0.0, found["seconds"] - size[2])
        rows.append(
            {"algorithm": algorithm, "shape": shape, "constraints": demands, "plan": plan, **found, "late": late}
        )
    least = min((row["cut"] for row in rows if row["feasible"]), default=None)
    for row in rows:
        row["cut_to_best"] = row["cut"] / least if row["feasible"] and least else None
        bench.row(part="fusion", operators=size[0], hosts=size[1], **row)
    return rows


def _check_cola(bench: Bench, what: str, rows: list[dict[str, Any]]) -> None:
    """The cut of cola is never above that of GreedyFuse, and it fits wherever some algorithm does."""
    cases: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        cases.setdefault((row["shape"], row["constraints"], row["plan"]), {})[row["algorithm"]] = row
    worse = [
        case["cola"]["cut"] / max(case["greedy"]["cut"], 1e-9)
        for case in cases.values()
        if case["cola"]["feasible"] and case["greedy"]["feasible"]
    ]
    bench.check(f"{what}: cut of cola to that of greedy where both fit, the most", max(worse, default=0.0), at_most=1.0)
    missed = sum(not case["cola"]["feasible"] and case["throughput"]["feasible"] for case in cases.values())
    bench.check(f"{what}: problems that throughput fits and cola does not", missed, at_most=0)
