"""Fusion on large graphs of five shapes, with and without constraints, by every algorithm, each in its own process."""

from __future__ import annotations

import time
from typing import Any

from penstock.base.diagnostics import Infeasible
from penstock.bench import Bench
from penstock.bench.measure.own_process import run_apart
from penstock.bench.workloads.solver_shapes import SHAPES, shaped_problem
from penstock.fusion import ALGORITHMS, Algorithm, Settings, fuse

_LATE, _MOST_MIB = 1.0, 1024.0
_ACYCLIC: tuple[Algorithm, ...] = ("greedy", "cola", "throughput")
"""The algorithms that are asked for acyclic plans, too."""


def run_fusion(bench: Bench) -> None:
    """Time, memory and distance to the best known, for each shape and algorithm."""
    operators, hosts, seconds = (200, 8, 0.5) if bench.quick else (10_000, 50, 6.0)
    rows: list[dict[str, Any]] = []
    for shape in SHAPES[:2] if bench.quick else SHAPES:
        for demands in ("all kinds",) if bench.quick else ("none", "all kinds"):
            for plan in ("free",) if bench.quick else ("free", "acyclic"):
                case = {"shape": shape, "operators": operators, "hosts": hosts, "constraints": demands, "plan": plan}
                rows += _solve_all(bench, case, seconds)
    what = f"fusion, {operators:,} operators"
    bench.check(
        f"{what}: seconds beyond the deadline, the most", max(r["late"] for r in rows), at_most=_LATE, timed=True
    )
    bench.check(f"{what}: peak memory in MiB, the most", max(r["peak_mib"] for r in rows), at_most=_MOST_MIB)
    _check_cola(bench, what, rows)
    with bench.figure("solvers_fusion", title=what, xlabel="seconds", ylabel="MiB") as axes:
        for algorithm in ALGORITHMS:
            own = [row for row in rows if row["algorithm"] == algorithm]
            axes.scatter([r["seconds"] for r in own], [r["peak_mib"] for r in own], label=algorithm)
        axes.legend()


def fuse_case(
    algorithm: Algorithm, shape: str, operators: int, hosts: int, constraints: str, plan: str, seconds: float
) -> dict[str, Any]:
    """One problem by one algorithm."""
    problem = shaped_problem(shape, operators=operators, hosts=hosts, is_constrained=constraints == "all kinds")
    began = time.perf_counter()
    found: dict[str, Any] = {"feasible": False, "cut": None, "throughput_scale": None}
    try:
        fusion = fuse(problem, algorithm, Settings(acyclic=plan == "acyclic"), deadline_seconds=seconds)
        found = {"feasible": fusion.feasible, "cut": fusion.cut, "throughput_scale": fusion.throughput_scale}
    except Infeasible as problem_found:
        found["reason"] = str(problem_found)[:200]
    return {**found, "seconds": time.perf_counter() - began}


def _solve_all(bench: Bench, case: dict[str, Any], seconds: float) -> list[dict[str, Any]]:
    """One problem by every algorithm; the best known cut is the least that any of them finds."""
    rows = []
    for algorithm in _ACYCLIC if case["plan"] == "acyclic" else ALGORITHMS:
        bench.progress(f"fusion: {algorithm} on a {case['shape']}, constraints: {case['constraints']}, {case['plan']}")
        found = run_apart(fuse_case, algorithm=algorithm, seconds=seconds, **case)
        late = max(0.0, found["seconds"] - seconds)
        rows.append({"algorithm": algorithm, **case, **found, "deadline_seconds": seconds, "late": late})
    least = min((row["cut"] for row in rows if row["feasible"]), default=None)
    for row in rows:
        row["cut_to_best"] = row["cut"] / least if row["feasible"] and least else None
        bench.row(part="fusion", **row)
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
    bench.check(
        f"{what}: cut of cola to that of greedy where both fit, the most",
        max(worse, default=0.0),
        at_most=1.0,
        timed=True,
    )
    for algorithm in ("cola", "advanced-cola", "throughput"):
        own = [case for case in cases.values() if algorithm in case]
        missed = sum(not case[algorithm]["feasible"] and _any_fits(case) for case in own)
        bench.check(
            f"{what}: problems that another algorithm fits and {algorithm} does not", missed, at_most=0, timed=True
        )
    unfit = sum(not _any_fits(case) for case in cases.values())
    bench.check(f"{what}: problems that no algorithm fits", unfit, at_most=0, timed=True)


def _any_fits(case: dict[str, Any]) -> bool:
    return any(row["feasible"] for row in case.values())
