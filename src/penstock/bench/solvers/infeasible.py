"""Problems without a solution: the solvers say so, and why, by their deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.bench import Bench
from penstock.bench.measure.own_process import run_apart
from penstock.bench.workloads.admission_shapes import connected_jobs
from penstock.bench.workloads.solver_shapes import shaped_problem
from penstock.fusion import fuse
from penstock.fusion.problem.fusion_problem import fusion_problem
from penstock.ir.constraints import Constraint as Demand
from penstock.ir.constraints import ConstraintKind
from penstock.scheduler.macro import decide
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.problem.nodes import Cluster, Constraint, Node

_LATE, _MOST_MIB = 1.0, 1024.0


Ask = Callable[[float], object]
"""Asks a solver for an answer within some seconds."""


def _fuse_with(kind: ConstraintKind, members: int) -> Ask:
    """A layered graph in which as many operators must share a host, or must not."""
    problem = shaped_problem("layered", operators=10_000, hosts=50, is_constrained=False)
    streams = zip(problem.sources.tolist(), problem.targets.tolist(), problem.stream_costs.tolist(), strict=True)
    demand = Demand(kind=kind, operators=tuple(f"o{v}" for v in range(0, 10_000, 10_000 // members))[:members])
    asked = fusion_problem(problem.costs, list(streams), problem.hosts.capacities, constraints=(demand,))
    return lambda seconds: fuse(asked, "cola", deadline_seconds=seconds)


def _admit_required() -> Ask:
    problem = connected_jobs(1_000, least_mips=20.0)
    asked = replace(problem, jobs=tuple(replace(job, required=True) for job in problem.jobs))
    return lambda seconds: solve(asked, deadline=Deadline.after(seconds))


def _place_apart() -> Ask:
    """Sixty required jobs, all of whose first PEs must run apart, on twenty nodes."""
    problem = connected_jobs(60, least_mips=0.5)
    asked = replace(problem, jobs=tuple(replace(job, required=True) for job in problem.jobs))
    nodes = tuple(Node(id=f"n{i}", mips=problem.mips / 20) for i in range(20))
    first = tuple(job.templates[0].pes[0].id for job in problem.jobs)
    cluster = Cluster(nodes=nodes, constraints=(Constraint(kind="exlocation", pes=first),))
    return lambda seconds: decide(asked, cluster, Deadline.after(seconds))


CASES: dict[str, Callable[[], Ask]] = {
    "fusion: 2,000 of 10,000 operators must share a host": lambda: _fuse_with(ConstraintKind.HOST_COLOCATION, 2_000),
    "fusion: 60 of 10,000 operators must run apart on 50 hosts": lambda: _fuse_with(ConstraintKind.HOST_EXLOCATION, 60),
    "admission: 1,000 required jobs do not fit": _admit_required,
    "macroW: 60 required PEs must run apart on 20 nodes": _place_apart,
}


def run_infeasible(bench: Bench) -> None:
    """Whether each problem is explained in time."""
    rows = []
    for case in CASES:
        bench.progress(f"infeasible: {case}")
        row = {"case": case, "deadline_seconds": 2.0, **run_apart(explain, case=case, seconds=2.0)}
        row["late"] = max(0.0, row["seconds"] - 2.0)
        bench.row(part="infeasible", **row)
        rows.append(row)
    bench.check(
        "infeasible: seconds beyond the deadline, the most", max(r["late"] for r in rows), at_most=_LATE, timed=True
    )
    bench.check("infeasible: peak memory in MiB, the most", max(r["peak_mib"] for r in rows), at_most=_MOST_MIB)
    bench.check(
        "infeasible: problems that are explained, share", sum(bool(r["reason"]) for r in rows) / len(rows), at_least=1.0
    )


def explain(case: str, seconds: float) -> dict[str, Any]:
    """The reason that a solver gives for one of the problems, and its time; making the problem is not counted."""
    ask = CASES[case]()
    deadline = Deadline.after(seconds)
    reason = ""
    try:
        ask(seconds)
    except Infeasible as infeasible:
        reason = str(infeasible)[:200]
    return {"reason": reason, "seconds": deadline.elapsed()}
