"""How many tuples a second a PE takes: generated code against the container, from bytes to bytes, in one process.

Run: `python benchmarks/pe.py [TUPLES]`. Each row has the rates of both and their ratio, for the whole of bargain
detection in one PE and for a chain of 16 light Functors. Time is CPU time, so that other work on the machine does not
count.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.codegen.run.loaded_module import LoadedModule
from penstock.codegen.run.piece_instance import PieceInstance
from penstock.codegen.transport.batches import PULSE, TUPLE, Item, decode, encode, rows
from penstock.codegen.transport.placed_frames import encode_frame, read_frames
from penstock.codegen.write.generate import Module, generate
from penstock.expr.environment import Environment
from penstock.lang import compile_file, compile_text
from penstock.runtime.pes.container import Container
from penstock.toolkit.core.program import Program

BARGAINS = Path(__file__).parents[1] / "examples" / "bargains" / "bargains.spl"
BATCH = 50_000
OPERATORS = 16

Values = Sequence[tuple[int, bytes]]


def chain() -> Program:
    source = "stream<int64 n, float64 x, rstring s> F0 = Beacon() {}"
    functors = "\n".join(
        f"stream<F0> F{i} = Functor(F{i - 1}) {{ output F{i}: x = x * 1.0001; }}" for i in range(1, OPERATORS + 1)
    )
    sink = f'() as Sink = FileSink(F{OPERATORS}) {{ param file: "out"; }}'
    return compile_text(f"composite Chain {{ graph {source} {functors} {sink} }}")


def ticks(count: int) -> list[tuple[object, ...]]:
    rng = random.Random(1)
    symbols = [f"SYM{i}" for i in range(500)]
    return [
        (i * 0.01, "Trade" if rng.random() < 0.5 else "Quote", rng.choice(symbols), 10 + rng.random(), 100.0,
         9.9 + rng.random(), 5.0)
        for i in range(count)
    ]  # fmt: skip


def numbers(count: int) -> list[tuple[object, ...]]:
    return [(i, i * 0.5, f"s{i % 100}") for i in range(count)]


def batches(plan: PhysicalPlan, pe: int, tuples: Sequence[tuple[object, ...]]) -> list[Values]:
    (edge,) = plan.into(pe)
    schema = plan.application.streams[edge.stream].schema
    made = []
    for start in range(0, len(tuples), BATCH):
        items = [Item(0, start + i, b"\0\0\0\0", TUPLE, row) for i, row in enumerate(tuples[start : start + BATCH])]
        items.append(Item(0, 2**62, b"", PULSE))
        made.append([(edge.index, value) for value in encode(items, schema)])
    return made


def by_container(program: Program, plan: PhysicalPlan, pe: int) -> Callable[[Values], int]:
    container = Container(program, plan, pe, Environment())
    streams = plan.application.streams
    schema = {e.index: streams[e.stream].schema for e in plan.edges}

    def take(values: Values) -> int:
        items = [(edge, item) for edge, value in values for item in decode(value, schema[edge])]
        items.sort(key=lambda pair: pair[1][:3])
        container.take(items)
        left = [(edge, rows(edge, found, schema[edge]).nbytes) for edge, found in container.leaving.items()]
        for found in container.leaving.values():
            found.clear()
        return sum(size for _, size in left)

    return take


def by_generated_code(program: Program, plan: PhysicalPlan, pe: int) -> Callable[[Values], int]:
    made = generate(program, plan, pe)
    assert isinstance(made, Module), made
    instance = PieceInstance(LoadedModule(made, program, Environment()))
    part = made.part
    entering, leaving = part.schemas(part.entering), part.schemas(part.leaving)

    def take(values: Values) -> int:
        left = instance.take(read_frames(values, entering))
        return sum(len(value) for edge, schema in leaving.items() for value in encode_frame(left[edge], schema))

    return take


def rate(take: Callable[[Values], int], given: Iterable[Values], tuples: int) -> float:
    started = time.process_time()
    for values in given:
        take(values)
    return tuples / (time.process_time() - started)


def measure(name: str, program: Program, tuples: Sequence[tuple[object, ...]]) -> dict[str, object]:
    plan = physical_plan(program.application, [[o.id for o in program.application.operators]])
    pe = next(pe.index for pe in plan.pes if pe.role not in ("source", "sink"))
    given = batches(plan, pe, tuples)
    container = rate(by_container(program, plan, pe), given, len(tuples))
    generated = rate(by_generated_code(program, plan, pe), given, len(tuples))
    return {
        "name": name,
        "tuples": len(tuples),
        "container_tps": round(container),
        "generated_tps": round(generated),
        "ratio": round(generated / container, 1),
    }


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    results = [
        measure("bargain detection, 4 groups", compile_file(BARGAINS), ticks(count)),
        measure(f"chain of {OPERATORS} Functors", chain(), numbers(count)),
    ]
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
