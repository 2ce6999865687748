"""Admission of connected jobs and of very large ones, each in its own process."""

from __future__ import annotations

from typing import Any

from penstock.base.deadline import Deadline
from penstock.bench import Bench
from penstock.bench.measure.own_process import run_apart
from penstock.bench.workloads.admission_shapes import QUICK, SHAPES, WORTH
from penstock.scheduler.macroq.macroq import solve

_LATE, _MOST_MIB = 1.0, 1024.0


def run_admission(bench: Bench) -> None:
    """Time, memory and distance to what no answer exceeds, for each shape."""
    seconds = 10.0 if bench.quick else 20.0
    rows = [_solved(bench, shape, seconds) for shape in (QUICK if bench.quick else SHAPES)]
    bench.check(
        "admission: seconds beyond the deadline, the most", max(r["late"] for r in rows), at_most=_LATE, timed=True
    )
    bench.check("admission: peak memory in MiB, the most", max(r["peak_mib"] for r in rows), at_most=_MOST_MIB)
    small = [row for row in rows if row["shape"] in QUICK]
    bench.check("admission: small problems proven, share", sum(r["proven"] for r in small) / len(small), at_least=1.0)
    for row in (row for row in rows if row["shape"] in WORTH):
        bench.check(
            f"admission, {row['shape']}: part of the bound", row["of_bound"], at_least=WORTH[row["shape"]], timed=True
        )
    with bench.figure(
        "solvers_admission", title="Admission", xlabel="seconds", ylabel="importance, of the bound"
    ) as axes:
        for row in (row for row in rows if row["of_bound"] is not None):
            axes.scatter([row["seconds"]], [row["of_bound"]], label=row["shape"])
        axes.legend(fontsize="x-small")


def admit(shape: str, seconds: float) -> dict[str, Any]:
    """One problem, solved."""
    problem = SHAPES[shape]()
    deadline = Deadline.after(seconds)
    answer = solve(problem, deadline=deadline)
    found: dict[str, Any] = {"importance": answer.importance, "bound": answer.to_json()["bound"]}
    return {**found, "proven": answer.exact, "seconds": deadline.elapsed()}


def _solved(bench: Bench, shape: str, seconds: float) -> dict[str, Any]:
    bench.progress(f"admission: {shape}")
    found = run_apart(admit, shape=shape, seconds=seconds)
    row = {"shape": shape, "deadline_seconds": seconds, **found}
    row["late"] = max(0.0, found["seconds"] - seconds)
    row["of_bound"] = found["importance"] / found["bound"] if found["bound"] else None
    bench.row(part="admission", **row)
    return row
