"""Solvers on large inputs of many shapes: whether deadlines and memory hold, and how far answers are from the best.

Each part is a module with a function that reports rows and checks: `fusion` has stars, chains, trees, layered
and random graphs of 10,000 operators with every kind of constraint, `admission` connected jobs and very large
ones, `infeasible` problems without a solution, `placement` tasks that already run.
"""

from __future__ import annotations

from penstock.bench import Bench
from penstock.bench.solvers.admission import run_admission
from penstock.bench.solvers.fusion import run_fusion
from penstock.bench.solvers.infeasible import run_infeasible
from penstock.bench.solvers.placement import run_placement

PARTS = (run_admission, run_infeasible, run_placement, run_fusion)


def run(bench: Bench) -> None:
    """Run the parts one after the other."""
    for part in PARTS:
        part(bench)
