"""The process that Spark's Python workers are forked from."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.base.process_tree import stat_of
from penstock.lang import compile_text
from spark_session import nothing_fused, run_spark, session

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """composite Main { graph
    stream<int32 k, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<int32 k, int32 x> B = Functor(A) { output B: x = x + 1; }
    stream<int32 k, int32 total> C = Aggregate(B) { window B: sliding, count(2), count(1), partitioned;
      param partitionBy: k; output C: k = Any(k), total = Sum(x); }
    () as Sink = FileSink(C) { param file: "out.csv"; }
}"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
def test_workers_with_and_without_state_are_forked_from_one_daemon(tmp_path):
    (tmp_path / "in.csv").write_text("1,1\n2,2\n1,3\n2,4\n")
    program = compile_text(PROGRAM)
    found, _ = run_spark(program, tmp_path, nothing_fused(program.application))
    assert found == {"out.csv": b"1,6\n2,8\n"}
    assert len(daemons()) == 1


def daemons() -> list[int]:
    java = session().sparkContext._gateway.proc.pid
    children = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and parent(int(p.name)) == java]
    return [pid for pid in children if b"penstock.spark.workers.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def parent(pid: int) -> int | None:
    fields = stat_of(pid)
    return None if fields is None else int(fields[1])


def test_java_and_workers_of_one_machine_talk_by_sockets_that_wait_for_no_acknowledgement():
    def told(batches):
        for _ in batches:
            yield pa.record_batch({"by": [os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED", "false")]})

    (row,) = session().range(1).mapInArrow(told, "by string").collect()
    assert row.by.lower() == "true"
