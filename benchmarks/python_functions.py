"""How many tuples a second a PE of Python functions takes, from bytes to bytes, in one process and without Spark.

Run: `python benchmarks/python_functions.py [TUPLES]`. Chains of functions, as they are generated; the same as column
expressions; a class with state by key; a function that is not understood beside a plain loop that calls it on rows that
are there. Time is CPU time, so that other work on the machine does not count; the best of three.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock import App, KeyedOperator, col
from penstock.api.rows import row_maker
from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.codegen.run.loaded_module import LoadedModule
from penstock.codegen.run.piece_instance import PieceInstance
from penstock.codegen.transport.batches import PULSE, TUPLE, Item, encode
from penstock.codegen.transport.placed_frames import encode_frame, read_frames
from penstock.codegen.write.generate import Module, generate
from penstock.expr.environment import Environment
from penstock.ir.types import parse_schema
from penstock.testing import feed
from penstock.toolkit.core.program import Program

SCHEMA = "int64 n, float64 x, rstring s"
BATCH = 50_000
RUNS = 3
KEYS = 20_000

Values = Sequence[tuple[int, bytes]]


def same(t):
    return t


def changed(t):
    return {"n": t.n, "x": t.x * 1.0001, "s": t.s}


def scaled(t):
    return {"n": t.n + 1, "x": t.x * 2.0, "s": t.s}


def is_wanted(t):
    return t.n % 3 != 0 and t.x > 10.0


def shifted(t):
    return {"n": t.n * 2, "x": t.x - 0.5, "s": t.s}


def hashed(t):
    return (t.n, t.x, hashlib.md5(t.s.encode()).hexdigest())


def looped(t):
    total = 0
    for letter in t.s:
        total += ord(letter)
    return {"n": total, "x": t.x, "s": t.s}


class Total(KeyedOperator):
    """Counts and sums by key, and tells with every tuple."""

    partition_by = "n"

    def __init__(self):
        self.count, self.total = 0, 0.0

    def process(self, t):
        self.count += 1
        self.total += t.x
        yield {"n": self.count, "x": self.total, "s": t.s}


def chain(*functions: Any) -> Program:
    app = App("Chain")
    stream = app.source(feed([]), SCHEMA, name="Numbers")
    for i, function in enumerate(functions):
        stream = function(stream, f"F{i}")
    stream.write_file("out.csv", name="Sink")
    return app.program()


def mapped(function: Any) -> Callable[..., Any]:
    return lambda stream, name: stream.map(function, SCHEMA, name=name)


CASES: dict[str, Callable[[], Program]] = {
    "16 identity functions": lambda: chain(*[mapped(same)] * 16),
    "16 functions that change one attribute": lambda: chain(*[mapped(changed)] * 16),
    "map, filter, map as functions": lambda: chain(
        mapped(scaled), lambda s, name: s.filter(is_wanted, name=name), mapped(shifted)
    ),
    "map, filter, map as column expressions": lambda: chain(
        lambda s, name: s.select(n=col.n + 1, x=col.x * 2.0, s=col.s, name=name),
        lambda s, name: s.filter((col.n % 3 != 0) & (col.x > 10.0), name=name),
        lambda s, name: s.select(n=col.n * 2, x=col.x - 0.5, s=col.s, name=name),
    ),
    "a keyed class that counts and sums": lambda: chain(
        lambda s, name: s.select(n=col.n % KEYS, x=col.x, s=col.s, name=name),
        lambda s, name: s.apply(Total, name=name),
    ),
    "a function that is not understood (hashlib)": lambda: chain(mapped(hashed)),
    "a function that is not understood (a loop)": lambda: chain(mapped(looped)),
}
PLAIN = {"a plain loop over rows (hashlib)": hashed, "a plain loop over rows (a loop)": looped}


def numbers(count: int) -> list[tuple[Any, ...]]:
    return [(i, i * 0.5, f"s{i % 100}") for i in range(count)]


def batches(plan: PhysicalPlan, pe: int, tuples: Sequence[tuple[Any, ...]]) -> list[Values]:
    (edge,) = plan.into(pe)
    schema = plan.application.streams[edge.stream].schema
    made = []
    for start in range(0, len(tuples), BATCH):
        items = [Item(0, start + i, b"\0\0\0\0", TUPLE, row) for i, row in enumerate(tuples[start : start + BATCH])]
        items.append(Item(0, 2**62, b"", PULSE))
        made.append([(edge.index, value) for value in encode(items, schema)])
    return made


def rate(take: Callable[[Any], Any], parts: Sequence[Any], count: int) -> float:
    best = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        for part in parts:
            take(part)
        best = min(best, time.process_time() - began)
    return count / best


def generated_rate(program: Program, tuples: Sequence[tuple[Any, ...]]) -> float:
    plan = physical_plan(program.application, [[o.id for o in program.application.operators]])
    (pe,) = (pe.index for pe in plan.pes if pe.role not in ("source", "sink"))
    made = generate(program, plan, pe)
    assert isinstance(made, Module), made
    instance = PieceInstance(LoadedModule(made, program, Environment()))
    part = made.part
    entering, leaving = part.schemas(part.entering), part.schemas(part.leaving)

    def take(values: Values) -> None:
        for edge, frame in instance.take(read_frames(values, entering)).items():
            encode_frame(frame, leaving[edge])

    return rate(take, batches(plan, pe, tuples), len(tuples))


class Plain:
    """The same class without Penstock."""

    __init__, process = Total.__init__, Total.process


def plain_class_rate(tuples: Sequence[tuple[Any, ...]]) -> float:
    make_row = row_maker(parse_schema(SCHEMA))
    rows = [make_row((n % KEYS, x, s)) for n, x, s in tuples]

    def take(part: Sequence[Any]) -> None:
        instances: dict[int, Plain] = {}
        for row in part:
            instance = instances.get(row.n)
            if instance is None:
                instance = instances[row.n] = Plain()
            list(instance.process(row))

    return rate(take, [rows], len(rows))


def main(count: int) -> None:
    tuples = numbers(count)
    for name, make in CASES.items():
        print(f"{name:45}{generated_rate(make(), tuples) / 1000:12,.0f} k tuples/s", flush=True)
    print(f"{'a plain loop over instances by key':45}{plain_class_rate(tuples) / 1000:12,.0f} k tuples/s")
    make_row = row_maker(parse_schema(SCHEMA))
    rows = [make_row(t) for t in tuples]
    for name, function in PLAIN.items():
        print(f"{name:45}{rate(lambda part, f=function: [f(r) for r in part], [rows], count) / 1000:12,.0f} k tuples/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
