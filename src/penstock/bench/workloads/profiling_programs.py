"""The programs that `penstock bench profiling` measures, and their input."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from penstock import App, agg, col, map_
from penstock.bench.measure.on_spark import ROOT, load_file
from penstock.expr.environment import Tuple
from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

BURNS = {"A": 100, "B": 400, "C": 200, "D": 100}
"""CPU time that each operator of `burning` takes for a tuple, in microseconds."""


def chain(operators: int) -> Program:
    """A chain of light operators that are worked by columns."""
    functors = [
        f"stream<F0> F{i} = Functor(F{i - 1}) {{ output F{i}: x = x * 1.0001; }}" for i in range(1, operators + 1)
    ]
    return _program("stream<int64 n, float64 x, rstring s> F0 = Beacon() {}", functors, f"F{operators}")


def loop(operators: int) -> Program:
    """A chain of light operators that are worked tuple by tuple, in one loop if they are fused."""
    customs = [
        f"stream<F0> F{i} = Custom(F{i - 1}) {{ logic onTuple F{i - 1}: "
        f"submit({{n = n + 1l, x = x * 1.0001, s = s}}, F{i}); }}"
        for i in range(1, operators + 1)
    ]
    return _program("stream<int64 n, float64 x, rstring s> F0 = Beacon() {}", customs, f"F{operators}")


def _program(source: str, operators: Sequence[str], last: str) -> Program:
    sink = f'() as Sink = FileSink({last}) {{ param file: "out"; }}'
    return compile_text(f"composite Main {{ graph {source} {' '.join(operators)} {sink} }}")


def numbers(count: int) -> list[Tuple]:
    """Input of `chain` and `loop`."""
    return [(i, i * 0.5, f"s{i % 100}") for i in range(count)]


def bargains() -> Program:
    """Bargain detection with four groups of symbols: 30 operators between the source and the sink."""
    program: Program = load_file(ROOT / "examples" / "bargains" / "bargains.py").app(groups=4).program()
    return program


def ticks(count: int) -> list[Tuple]:
    """Input of `bargains`: trades and quotes of 500 symbols."""
    rng = random.Random(1)
    return [_tick(i, rng) for i in range(count)]


def _tick(i: int, rng: random.Random) -> Tuple:
    kind = "Trade" if rng.random() < 0.5 else "Quote"
    return (i * 0.01, kind, f"SYM{rng.randrange(500)}", 10 + rng.random(), 100.0, 9.9 + rng.random(), 5.0)


def burning(tuples: int = 1) -> Program:
    """Operators that burn `BURNS`, the last two on half of the tuples only."""
    app = App("Burning")
    stream = app.beacon("uint64 n", iterations=tuples, n=agg.IterationCount(), name="Numbers")
    stream = stream.map(burner(BURNS["A"]), "uint64 n", name="A").map(burner(BURNS["B"]), "uint64 n", name="B")
    stream = stream.filter(col.n % 2 == 0, name="Half")
    stream = stream.map(burner(BURNS["C"]), "uint64 n", name="C").map(burner(BURNS["D"]), "uint64 n", name="D")
    stream.write_file("burnt.csv", name="Sink")
    return app.program()


def burner(microseconds: float) -> Callable[..., object]:
    """An operator that takes CPU time of its thread, however long that takes by the clock, and passes tuples on."""

    @map_
    def burn(t: object) -> object:
        until = time.thread_time_ns() + microseconds * 1000
        while time.thread_time_ns() < until:
            pass
        return t

    return burn
