"""`penstock bench profiling`: what profiling costs, and whether it tells the truth (figure 9 of the SPADE paper).

Three parts:

1. Overhead: chains of light operators, worked by columns and in loops, and bargain detection, all fused, with sampling
   fractions from none to 0.1. Variants take turns in one run, and CPU time is compared, so other work on the machine
   falls on all of them. What no profiling differs by from itself is the noise.
2. Fusion transparency: what each operator of bargain detection costs, from runs with everything fused, nothing fused,
   and each group of symbols fused.
3. Operators that burn known amounts of CPU time.

PEs run in this process: the same workers and the same bytes between them as on Spark, and nothing around them. With
`--quick` inputs are small and repeats few.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from penstock.bench import Bench
from penstock.bench.measure.in_process import Outcome, PEs, encoded
from penstock.bench.workloads.profiling_programs import BURNS, bargains, burning, chain, loop, numbers, ticks
from penstock.compiler import CompiledJob, Options, compile
from penstock.expr.environment import Tuple
from penstock.ir.graph import Application
from penstock.profiler.sampling import Sampling
from penstock.toolkit.core.program import Program

Groups = Sequence[Sequence[str]]

_RATES = (None, 0.001, 0.01, 0.1)
_BATCH = 100_000
_ABOVE = 0.02
"""Operators that take less than this part of the time are not compared: they are below the noise."""


def run(bench: Bench) -> None:
    """Run the three parts."""
    _overhead(bench)
    _transparency(bench)
    _known_costs(bench)


def _overhead(bench: Bench) -> None:
    count, repeats = (50_000, 3) if bench.quick else (100_000, 15)
    subjects: dict[str, tuple[Program, list[Tuple]]] = {
        "bargain detection": (bargains(), ticks(count)),
        **{f"{n} by columns": (chain(n), numbers(count)) for n in ((16,) if bench.quick else (1, 4, 16))},
        **{f"{n} in a loop": (loop(n), numbers(count)) for n in ((16,) if bench.quick else (1, 4, 16))},
    }
    found = {}
    for name, (program, tuples) in subjects.items():
        bench.progress(f"overhead: {name}")
        found[name] = _slowdowns(bench, name, program, tuples, repeats)
    for rate, bar in ((0.001, 0.05), (0.01, 0.10)):
        worst = max(slow[rate] - slow[None] for slow in found.values())
        bench.check(f"overhead at s = {rate}, less the noise, the largest", worst, at_most=bar, timed=True)
    title = "What profiling costs"
    with bench.figure("profiling_overhead", title=title, xlabel="sampling fraction", ylabel="overhead, %") as axes:
        for name, slow in found.items():
            axes.plot([str(r or "none") for r in _RATES], [100 * slow[r] for r in _RATES], marker="o", label=name)
        axes.legend(fontsize=7)


def _slowdowns(
    bench: Bench, name: str, program: Program, tuples: Sequence[Tuple], repeats: int
) -> dict[float | None, float]:
    """By how much each fraction slows the PE down; for none, the noise."""
    jobs = {rate: _compile(program, _all(program.application), rate) for rate in _RATES}
    batches = list(encoded(jobs[None].plan, tuples, _BATCH))
    taken: dict[float | None, list[float]] = {rate: [] for rate in _RATES}
    again: list[float] = []
    variants = {rate: PEs(job) for rate, job in jobs.items()}
    for _ in range(repeats + 1):
        for rate, pes in variants.items():
            taken[rate].append(pes.run(batches).cpu_seconds)
        again.append(variants[None].run(batches).cpu_seconds)
    # Ratios within a round, because the speed of the machine changes from round to round; the first one warms up.
    base = taken[None][1:]
    slow = {rate: _median_ratio(values[1:], base) - 1.0 for rate, values in taken.items()}
    slow[None] = abs(_median_ratio(again[1:], base) - 1.0)
    for rate, value in slow.items():
        bench.row(part="overhead", subject=name, rate=rate or 0.0, overhead=value, tuples=len(tuples), repeats=repeats)
    return slow


def _median_ratio(values: Sequence[float], base: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(values, base, strict=True))


def _compile(program: Program, groups: Groups, rate: float | None) -> CompiledJob:
    return compile(program, Options(pes=groups, channels=1, sampling=None if rate is None else Sampling(rate=rate)))


def _all(application: Application) -> Groups:
    return [[o.id for o in application.operators]]


def _none(application: Application) -> Groups:
    return [[o.id] for o in application.operators]


def by_group(application: Application) -> Groups:
    """Half fused: the operators of each composite together."""
    groups: dict[str, list[str]] = {}
    for o in application.operators:
        groups.setdefault(o.id.partition(".")[0], []).append(o.id)
    return list(groups.values())


def _transparency(bench: Bench) -> None:
    count, repeats = (30_000, 3) if bench.quick else (400_000, 11)
    program, tuples = bargains(), ticks(count)
    application = program.application
    bench.progress("transparency: everything fused, nothing fused, groups fused")
    fusions = {"all": _all(application), "none": _none(application), "groups": by_group(application)}
    costs = median_costs(program, tuples, fusions, repeats, rate=0.001)
    total = sum(costs["none"].values())
    compared = {id_: [costs[f][id_] for f in fusions] for id_ in costs["none"]}
    large = {id_: values for id_, values in compared.items() if max(values) > _ABOVE * total}
    for id_, values in large.items():
        bench.row(part="transparency", operator=id_, **dict(zip(fusions, values, strict=True)))
    worst = max(max(values) / min(values) - 1.0 for values in large.values())
    bench.check("costs of an operator in three fusions, the largest difference", worst, at_most=0.15, timed=True)
    bench.check("operators compared", len(large), at_least=10, timed=True)


def median_costs(
    program: Program, tuples: Sequence[Tuple], fusions: Mapping[str, Groups], repeats: int, *, rate: float
) -> dict[str, dict[str, float]]:
    """For each fusion what each operator costs in CPU seconds, the median over repeats that take turns."""
    jobs = {name: _compile(program, groups, rate) for name, groups in fusions.items()}
    batches = {name: list(encoded(job.plan, tuples, _BATCH)) for name, job in jobs.items()}
    pes = {name: PEs(job) for name, job in jobs.items()}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name in jobs:
            found[name].append(pes[name].run(batches[name]).costs())
    return {
        name: {id_: statistics.median(costs[id_] for costs in runs) for id_ in runs[0]} for name, runs in found.items()
    }


def _known_costs(bench: Bench) -> None:
    count = 1_000 if bench.quick else 10_000
    program = burning()
    tuples: list[Tuple] = [(i,) for i in range(count)]
    errors = []
    for name, groups in (("all", _all(program.application)), ("none", _none(program.application))):
        bench.progress(f"known costs: {name} fused")
        job = _compile(program, groups, 0.05)
        outcome = PEs(job).run(encoded(job.plan, tuples, count))
        errors += _errors(bench, outcome, name)
    bench.check("known costs, the largest error", max(errors), at_most=0.10, timed=True)


def _errors(bench: Bench, outcome: Outcome, fusion: str) -> list[float]:
    costs = outcome.costs()
    errors = []
    for id_, known in BURNS.items():
        measured = costs[id_] / outcome.received[id_][0] * 1e6
        errors.append(abs(measured / known - 1.0))
        bench.row(part="known costs", fusion=fusion, operator=id_, known_us=known, measured_us=measured)
    return errors
