"""The query of a job, as Spark shows it."""

from __future__ import annotations

import pytest

from penstock.lang import compile_text
from penstock.spark.measure.profiling import _executions
from spark_session import nothing_fused, run_spark, session

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """composite Main { graph
    stream<int32 x> Numbers = Beacon() { param iterations: 5u; }
    stream<int32 x> Doubled = Functor(Numbers) { output Doubled: x = x * 2; }
    stream<int32 x> Few = Functor(Doubled) { param filter: x < 100; }
    () as Sink = FileSink(Few) { param file: "out.csv"; }
}"""


def test_spark_calls_the_functions_of_pes_by_their_operators(tmp_path):
    program = compile_text(PROGRAM)
    run_spark(program, tmp_path, nothing_fused(program.application))
    plans = [execution.physicalPlanDescription() for execution in _executions(session()).values()]
    assert any("PE_2_Few(edge" in plan for plan in plans), plans[-3:]
