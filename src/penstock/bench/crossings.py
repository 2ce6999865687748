"""`penstock bench crossings`: when fusing pays, and when it does not (figures 6 and 8 of the SPADE paper, on Spark).

Two parts, each in one session with the variants taking turns:

1. Sixteen light operators behind each other, fused into one PE and not fused at all. What a tuple costs is then mostly
   the way from one Python process to the next, through the JVM.
2. Two heavy operators on one channel, in one PE and in two. Two PEs are two Python processes at the same time.

The last operator lets few tuples through, so that the sink counts for nothing, and the source is a Beacon.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import App, agg, col, map_
from penstock.bench import Bench
from penstock.bench.measure.on_spark import in_turns, open_bench_session, run_timed
from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Fusion = str | Sequence[Sequence[str]]

_LIGHT = 16


def run(bench: Bench) -> None:
    """Run both parts."""
    spark = open_bench_session()
    with tempfile.TemporaryDirectory() as folder:
        _light_operators(bench, spark, Path(folder))
        _heavy_operators(bench, spark, Path(folder))


def _light_operators(bench: Bench, spark: SparkSession, folder: Path) -> None:
    per_batch, batches, rounds = (40_000, 3, 1) if bench.quick else (2_000_000, 5, 3)
    program = light_operators(_LIGHT, per_batch * batches)
    variants: dict[str, Fusion] = {"all": "all", "none": "none"}
    tps = _measure(bench, spark, folder, program, variants, per_batch, rounds, part="16 light operators")
    bench.check("16 light operators: all fused to none fused", tps["all"] / tps["none"], at_least=6.0, timed=True)
    with bench.figure("crossings_light", title="16 light operators", xlabel="fusion", ylabel="tuples/s") as axes:
        axes.bar(list(tps), list(tps.values()))


def _heavy_operators(bench: Bench, spark: SparkSession, folder: Path) -> None:
    per_batch, batches, rounds = (10_000, 3, 1) if bench.quick else (240_000, 5, 3)
    program = heavy_operators(per_batch * batches)
    variants: dict[str, Fusion] = {
        "one PE": [["Numbers", "First", "Second", "Few", "Sink"]],
        "two PEs": [["Numbers"], ["First"], ["Second", "Few"], ["Sink"]],
    }
    tps = _measure(bench, spark, folder, program, variants, per_batch, rounds, part="2 heavy operators")
    bench.check("2 heavy operators: two PEs to one", tps["two PEs"] / tps["one PE"], at_least=1.5, timed=True)
    with bench.figure("crossings_heavy", title="2 heavy operators", xlabel="PEs", ylabel="tuples/s") as axes:
        axes.bar(list(tps), list(tps.values()))


def _measure(
    bench: Bench,
    spark: SparkSession,
    folder: Path,
    program: Program,
    variants: Mapping[str, Fusion],
    per_batch: int,
    rounds: int,
    *,
    part: str,
) -> dict[str, float]:
    """The steady rate of each variant: the first batch, in which workers start, is left out."""

    def rate(fusion: Fusion) -> float:
        timed = run_timed(spark, program, data=folder, out=folder, turns_per_batch=per_batch, fusion=fusion)
        return timed.steady_tps(per_batch)

    bench.progress(f"{part}: {', '.join(variants)} in turns")
    tps = in_turns(rounds, {name: partial(rate, fusion) for name, fusion in variants.items()})
    for name, value in tps.items():
        bench.row(part=part, fusion=name, tuples_per_second=value, batch=per_batch, rounds=rounds)
    return tps


def light_operators(operators: int, tuples: int) -> Program:
    """A Beacon, so many light operators, of which the last lets one tuple in 1000 through, and a sink."""
    functors = "\n".join(
        f"stream<F0> F{i} = Functor(F{i - 1}) {{ output F{i}: x = x * 1.0001; }}" for i in range(1, operators)
    )
    return compile_text(f"""composite Light {{ graph
        stream<int64 n, float64 x> F0 = Beacon() {{
          param iterations: {tuples}u; output F0: n = (int64) IterationCount(), x = 1.0; }}
        {functors}
        stream<F0> Few = Filter(F{operators - 1}) {{ param filter: n % 1000l == 0l; }}
        () as Sink = FileSink(Few) {{ param file: "few.csv"; }} }}""")


def heavy_operators(tuples: int) -> Program:
    """Numbers, two functions in Python that take some 20 microseconds each, and few results."""

    @map_
    def heavy(t: object) -> dict[str, float]:
        x: float = t.x  # type: ignore[attr-defined]
        for _ in range(300):
            x = x * 1.0000001 + 0.5
        return {"n": t.n, "x": x}  # type: ignore[attr-defined]

    app = App("Heavy")
    numbers = app.beacon("uint64 n, float64 x", iterations=tuples, n=agg.IterationCount(), x=1.0, name="Numbers")
    made = numbers.map(heavy, "uint64 n, float64 x", name="First").map(heavy, "uint64 n, float64 x", name="Second")
    made.filter(col.n % 1000 == 0, name="Few").write_file("few.csv", name="Sink")
    return app.program()
