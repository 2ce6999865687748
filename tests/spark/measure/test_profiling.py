"""One profile run on Spark, from signals in workers to the profile, and one job of a calibration."""

from __future__ import annotations

import pytest

from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.profiler.sampling import Sampling
from penstock.spark.measure.calibration_jobs import Case, measure
from penstock.spark.measure.profiling import profile_on_spark
from spark_session import everything_fused, session

pytestmark = pytest.mark.xdist_group("spark")

PROGRAM = """composite Main { graph
    stream<int64 n, rstring s> Numbers = Beacon() {
        param iterations: 600u; output Numbers: n = (int64) IterationCount(), s = "abc"; }
    stream<int64 n, rstring s> Even = Filter(Numbers) { param filter: n % 2l == 0l; }
    stream<int64 n> Slow = Custom(Even) { logic onTuple Even: {
        mutable int64 i = 0l; while (i < 500l) { i++; } submit({n = n}, Slow); } }
    () as Sink = FileSink(Slow) { param file: "out.csv"; } }"""


def test_a_profile_run_tells_what_each_operator_costs(tmp_path):
    program = compile_text(PROGRAM)
    options = Options(
        pes=everything_fused(program.application),
        channels=1,
        sampling=Sampling(rate=0.1),
        environment=Environment(data_directory=tmp_path, output_directory=tmp_path),
        batch=300,
    )
    found = profile_on_spark(program, options, session(), mips=1000.0, checkpoint=tmp_path / "job")
    operators = found.profile.operator
    assert max(operators.values(), key=lambda o: o.cpu_fraction * (o.id != "Numbers")).id in ("Slow", "Sink")
    assert operators["Even"].selectivity == (0.5,)
    assert operators["Slow"].cpu_seconds > 5e-6
    assert operators["Numbers"].cpu_seconds > 0
    assert operators["Sink"].cpu_seconds > 0
    assert found.profile.stream["Numbers"].tuple_bytes == pytest.approx(15.0, abs=1.0)
    # Here all is done by the readers of sources, which Spark meters since 4.3.
    assert found.python_metrics["sent"] > 0 or session().version < "4.3"


def test_a_job_of_a_calibration_tells_what_a_batch_takes():
    found = measure(session(), Case(pes=2, stateful=1, tuples=400))
    assert 0 < found.batch_seconds < 60
    assert found.jvm_seconds > 0
    assert found.worker_seconds >= 0
    assert {("receive", "PE 1", 0), ("receive", "PE 2", 0), ("send", "PE 1", 0)} <= found.statistics.metrics.keys()
