"""How many tuples a second a source gives: read by columns against one by one, from a file to encoded rows.

Run: `python benchmarks/sources.py [TUPLES]`. Both forms run in one process, in turns; CPU time is what counts. Each row
has the rates of both and their ratio; `planned` is what planning costs of the first form, in CPU seconds for a million
tuples.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.runtime.sources.by_columns import ColumnPE, read_part
from penstock.runtime.sources.column_planner import TUPLES_PER_BATCH
from penstock.runtime.sources.planner import make_planner
from penstock.runtime.sources.turns import SourceRun
from penstock.toolkit.core.program import Program

SCHEMA = "rstring sym, float64 price, int32 volume, int64 id"
FILE = 'stream<{schema}> A = FileSource() {{ param file: "{file}"; format: {format}; }}'
BEACON = """stream<int64 id, float64 x> A = Beacon() {
    param iterations: %d; output A: id = (int64) IterationCount(), x = 0.5 * (float64) IterationCount(); }"""
LOGS = """stream<uint32 uid, rstring server, rstring msg> A = ParSrc() { param servers: "logs*.com"; }"""
TOOLKIT = Path(__file__).parents[1] / "examples" / "network_monitoring" / "toolkit"
ROUNDS = 3


def write_files(folder: Path, tuples: int) -> None:
    rng = random.Random(1)
    rows = [(f"SYM{rng.randrange(500)}", round(100 * rng.random(), 2), rng.randrange(10_000), i) for i in range(tuples)]
    (folder / "plain.csv").write_text("".join(f"{s},{p},{v},{i}\n" for s, p, v, i in rows))
    (folder / "quoted.csv").write_text("".join(f'"{s}",{p},{v},{i}\n' for s, p, v, i in rows))
    names = [part.split()[1] for part in SCHEMA.split(", ")]
    with (folder / "rows.json").open("w") as file:
        file.writelines(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    with (folder / "logs0.com").open("w") as file:
        file.writelines(f"{i / 1000} {volume} GET /{symbol}\n" for symbol, _, volume, i in rows)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    parquet.write_table(
        pa.table({n: pa.array(v) for n, v in columns.items()}), folder / "rows.parquet", row_group_size=50_000
    )


def programs(tuples: int) -> Iterator[tuple[str, str]]:
    for file in ("plain.csv", "quoted.csv", "rows.json", "rows.parquet"):
        yield file, FILE.format(schema=SCHEMA, file=file, format=file.rpartition(".")[2])
    yield "lines", FILE.format(schema="rstring line", file="plain.csv", format="line")
    yield "beacon", BEACON % tuples
    yield "logs", LOGS


def by_columns(program: Program, plan: PhysicalPlan, environment: Environment) -> tuple[int, float, float]:
    """The tuples, the CPU seconds of reading and those of planning."""
    planner = make_planner(program, plan, environment, [0])
    pe = ColumnPE(program, plan, 0, environment)
    tuples, reading, planning, has_ended = 0, 0.0, 0.0, False
    while not has_ended:
        started = time.process_time()
        batch = planner.next_batch(TUPLES_PER_BATCH)
        planning += time.process_time() - started
        assert batch is not None
        started = time.process_time()
        for part in batch.parts:
            for rows in read_part(pe, part):
                tuples += rows.num_rows
        reading += time.process_time() - started
        has_ended = batch.has_ended
    return tuples, reading, planning


def one_by_one(program: Program, plan: PhysicalPlan, environment: Environment, tuples: int) -> float:
    """The CPU seconds of so many turns."""
    run = SourceRun(program, plan, 0, environment)
    started = time.process_time()
    run.advance(tuples)
    for _ in run.take_rows(0):
        pass
    return time.process_time() - started


def compare(name: str, text: str, folder: Path, tuples: int) -> dict[str, object]:
    graph = f'composite Main {{ graph {text} () as S = FileSink(A) {{ param file: "out"; }} }}'
    program = compile_text(graph, toolkits=[TOOLKIT])
    plan = physical_plan(program.application, [["A", "S"]])
    few = max(1, tuples // 10)
    fast, slow, planned = [], [], []
    for _ in range(ROUNDS):
        environment = Environment(data_directory=folder)
        _, reading, planning = by_columns(program, plan, environment)
        fast.append(tuples / (reading + planning))
        planned.append(planning / tuples * 1e6)
        slow.append(few / one_by_one(program, plan, Environment(data_directory=folder), few))
    rates = [statistics.median(found) for found in (fast, slow)]
    return {
        "source": name,
        "by columns, tuples/s": round(rates[0]),
        "one by one, tuples/s": round(rates[1]),
        "ratio": round(rates[0] / rates[1], 1),
        "planned": round(statistics.median(planned), 3),
    }


def main() -> None:
    tuples = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), tuples)
        for name, text in programs(tuples):
            print(json.dumps(compare(name, text, Path(folder), tuples)))


if __name__ == "__main__":
    main()
