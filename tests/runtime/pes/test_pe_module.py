"""The module of a PE: its pieces begin at one time, that of the job."""

from __future__ import annotations

from pathlib import Path

from penstock.codegen.build import build
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Clock, Environment
from penstock.lang import compile_text
from penstock.reference import run
from plan_runner import run_plan

PIECES = """composite Main { graph
    stream<int32 n> S = Beacon() { param iterations: 4u; period: 1.0; output S: n = (int32)IterationCount(); }
    (stream<int32 n> A; stream<int32 n> B) = Custom(S) {
        logic state: { mutable timestamp last = getTimestamp(); }
              onTuple S: { if (getTimestamp() > last) submit(S, A); last = getTimestamp(); submit(S, B); }
              onPunct S: { if (currentPunct() == Sys.WindowMarker) submit(Sys.WindowMarker, A); }
    }
    stream<int32 n> D = DeDuplicate(B) { param key: n; }
    () as K = FileSink(A) { param file: "a"; }
    () as L = FileSink(D) { param file: "d"; } }"""


def test_a_piece_that_is_a_container_begins_at_the_time_of_the_job(tmp_path: Path):
    program = compile_text(PIECES)
    inner = [[o.id for o in program.application.operators if o.inputs and o.outputs]]
    plan = physical_plan(program.application, inner)
    assert any(len(pieces.modules) < len(pieces.made) for pieces in build(program, plan).pieces.values())
    found = []
    for name in ("reference", "pieces"):
        (tmp_path / name).mkdir()
        environment = Environment(output_directory=tmp_path / name, clock=Clock(1_600_000_000 * 10**9))
        if name == "reference":
            run(program, environment=environment)
        else:
            run_plan(program, plan, environment, turns_per_batch=2)
        found.append((tmp_path / name / "a").read_text())
    assert found == ["1\n2\n3\n"] * 2
