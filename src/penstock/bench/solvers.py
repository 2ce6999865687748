"""Solvers on large inputs of many shapes: whether deadlines and memory hold, and how far answers are from the best.

Each part is a module with a function that reports rows and checks: `solvers_fusion` has stars, chains, trees, layered
and random graphs of 10,000 operators with every kind of constraint, `solvers_admission` connected jobs and very large
ones, `solvers_infeasible` problems without a solution, `solvers_placement` tasks that already run.
"""

from __future__ import annotations

from penstock.bench import Bench
from penstock.bench.solvers_admission import run_admission
from penstock.bench.solvers_fusion import run_fusion
from penstock.bench.solvers_infeasible import run_infeasible
from penstock.bench.solvers_placement import run_placement

PARTS = (run_admission, run_infeasible, run_placement, run_fusion)


def run(bench: Bench) -> None:
    """Run the parts one after the other."""
    for part in PARTS:
        part(bench)
