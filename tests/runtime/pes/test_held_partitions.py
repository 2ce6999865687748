"""The partitions of operators in containers lie in tables between batches: a batch costs what it touches."""

from __future__ import annotations

import random
from typing import Any

import pytest
from held_rows import Timed, drawn

from penstock.codegen.transport.batches import FINAL
from penstock.lang import compile_text
from penstock.runtime.pes import state_log
from penstock.runtime.pes.held_keys import completed
from penstock.runtime.pes.held_state import measure_state

SUMS = "output O: n = Sum(n), s = Any(s), f = Max(f);"
OPERATORS = {
    "idle counts": f"""Aggregate(A) {{ window A: tumbling, count(3), partitioned, partitionAge(3.0);
        param partitionBy: s; {SUMS} }}""",
    "idle times": f"""Aggregate(A) {{ window A: sliding, time(4.0), time(1.0), partitioned, partitionAge(2.0);
        param partitionBy: s; {SUMS} }}""",
    "evicted": f"""Aggregate(A) {{ window A: tumbling, count(4), partitioned, partitionAge(2.5);
        param partitionBy: s; aggregateEvictedPartitions: true; {SUMS} }}""",
    "by markers": """Sort(A) { window A: tumbling, punct(), partitioned; param partitionBy: s; sortBy: n; }""",
    "sorted counts": """Sort(A) { window A: tumbling, count(3), partitioned; param partitionBy: s; sortBy: n; }""",
    "sorted times": """Sort(A) { window A: tumbling, time(2.0), partitioned; param partitionBy: s; sortBy: n; }""",
    "idle sorted": """Sort(A) { window A: tumbling, time(3.0), partitioned, partitionAge(2.0);
        param partitionBy: s; sortBy: n; }""",
    "progressive": """Sort(A) { window A: sliding, count(3), partitioned; param partitionBy: s; sortBy: n; }""",
    "matched": """Match(A) { param pattern: "up up+ down"; partitionBy: s;
        predicates: {up = n > Last(n), down = n < Last(n)}; output O: n = Last(n), s = Any(s), f = Max(f); }""",
}


def program(operator: str) -> Any:
    return compile_text(f"""composite Main {{ graph
        stream<int64 n, rstring s, float64 f> A = Beacon() {{ param iterations: 1u; }}
        stream<int64 n, rstring s, float64 f> O = {OPERATORS[operator]}
        () as Sink = FileSink(O) {{ param file: "out.csv"; }} }}""")


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(3))
def test_a_job_whose_partitions_are_stored_goes_on_like_one_whose_are_not(operator, seed, tmp_path):
    rng = random.Random(seed)
    job, forever = Timed(program(operator), tmp_path / "job"), Timed(program(operator), tmp_path / "forever")
    instance = forever.make()
    for size in (5, 0, 40, 3, 1, 60, 31, 2, 1, 45, 1):
        rows = [*drawn(rng, size, "abcdefgh"), rng.choice([0.0, 0.5, 3.0, 9.0]), (1, rng.choice("abxy"), 0.5)]
        assert job.run(rows, uses_files=rng.random() < 0.7) == forever.process(instance, rows)
        assert job.expired == forever.expired
    assert job.run([2.0, FINAL], uses_files=True) == forever.process(instance, [2.0, FINAL])


@pytest.mark.parametrize("operator", ["idle counts", "sorted times", "matched"])
def test_a_batch_loads_and_stores_the_partitions_that_it_touches(operator, tmp_path):
    job = Timed(program(operator), tmp_path)
    job.run([(5, f"key {i}", 0.5) for i in range(3_000)])
    before = job.head.logs["O 0"].added
    for turn in range(5):
        job.run([0.125, *((5, f"key {turn * 10 + i}", 0.5) for i in range(10))], uses_files=True)
    log = job.head.logs["O 0"]
    assert [rows for number, rows in log.entries.items() if number >= before] == [10] * 5
    instance = job.make()
    state_log.resume(instance, job.head, job.store)
    assert measure_state(instance, 0)["O"][0] == 3_000
    job.process(instance, [(5, "key 7", 0.5), (5, "key 8", 0.5), (5, "another", 0.5)])
    (piece,) = instance._instances.values()
    ((attribute,),) = [piece.container.node["O"].runtime.remembers[:1]]
    assert len(getattr(piece.container.node["O"].runtime, attribute).parts) == 3


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_savepoint_has_the_partitions_of_the_table_as_the_runtime_has_them(operator, tmp_path):
    rng = random.Random(4)
    job, forever = Timed(program(operator), tmp_path / "job"), Timed(program(operator), tmp_path / "forever")
    instance = forever.make()
    for size in (30, 4, 9):
        rows = drawn(rng, size, "abcdefgh")
        job.run(rows, uses_files=True)
        forever.process(instance, rows)
    (piece,) = state_log.read(job.head, job.store.get)["pieces"]
    assert piece["held"]
    again = job.make()
    again.restore({**instance.snapshot(), "pieces": [completed(piece)]})
    rows = [1.0, (1, "a", 0.5), 8.0, (1, "a", 0.5), (7, "b", 0.5)]
    job.seconds, job.number = forever.seconds, forever.number
    assert job.process(again, rows) == forever.process(instance, rows)
