"""Admission of connected jobs and of very large ones, each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from penstock.bench import Bench
from penstock.bench.workloads.admission_shapes import QUICK, SHAPES

_LATE, _MOST_MIB = 1.0, 1024.0
_CHILD = """
import json, resource, sys, time
from penstock.base.deadline import Deadline
from penstock.bench.workloads.admission_shapes import SHAPES
from penstock.scheduler.macroq.macroq import solve
problem = SHAPES[sys.argv[1]]()
began = time.perf_counter()
answer = solve(problem, deadline=Deadline.after(float(sys.argv[2])))
found = {"importance": answer.importance, "bound": answer.to_json()["bound"], "proven": answer.exact}
found["seconds"] = time.perf_counter() - began
found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


def run_admission(bench: Bench) -> None:
    """Time, memory and distance to what no answer exceeds, for each shape."""
    seconds = 10.0 if bench.quick else 20.0
    rows = [_solved(bench, shape, seconds) for shape in (QUICK if bench.quick else SHAPES)]
    bench.check("admission: seconds beyond the deadline, the most", max(r["late"] for r in rows), at_most=_LATE)
    bench.check("admission: peak memory in MiB, the most", max(r["peak_mib"] for r in rows), at_most=_MOST_MIB)
    small = [row for row in rows if row["shape"] in QUICK]
    bench.check("admission: small problems proven, share", sum(r["proven"] for r in small) / len(small), at_least=1.0)
    with bench.figure(
        "solvers_admission", title="Admission", xlabel="seconds", ylabel="importance, of the bound"
    ) as axes:
        for row in (row for row in rows if row["of_bound"] is not None):
            axes.scatter([row["seconds"]], [row["of_bound"]], label=row["shape"])
        axes.legend()


def _solved(bench: Bench, shape: str, seconds: float) -> dict[str, Any]:
    bench.progress(f"admission: {shape}")
    arguments = [sys.executable, "-c", _CHILD, shape, str(seconds)]
    found = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
    row = {"shape": shape, "deadline_seconds": seconds, **found}
    row["late"] = max(0.0, found["seconds"] - seconds)
    row["of_bound"] = found["importance"] / found["bound"] if found["bound"] else None
    bench.row(part="admission", **row)
    return row
