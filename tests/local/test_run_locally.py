"""The local engine gives what the reference gives, whatever the plan; and says clearly what it cannot do."""

from __future__ import annotations

import io
import os
import signal
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from compiling import compile_fused
from penstock import App, Operator
from penstock.base.diagnostics import UserError
from penstock.compiler import CompiledJob
from penstock.compiler.open_loops import why_closed, with_open_loop
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.lang import compile_text
from penstock.local import LocalRun, run_locally
from penstock.reference import RunResult, run
from penstock.reference.failure import OperatorFailed
from penstock.reference.result import DEAD_LETTERS
from penstock.testing import feed
from penstock.toolkit.core.program import Program

FIXTURES = Path(__file__).parents[1] / "fixtures" / "spl" / "valid"
PROGRAMS = sorted(FIXTURES.glob("*.spl"))


def environment(data: Path, out: Path) -> Environment:
    out.mkdir(exist_ok=True)
    return Environment(data_directory=data, output_directory=out, application_directory=data, stdout=io.StringIO())


def outputs(surroundings: Environment) -> dict[str, object]:
    """What a run has written and printed, the dead letters aside."""
    folder = surroundings.output_directory
    found: dict[str, object] = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    found.pop(DEAD_LETTERS, None)
    assert isinstance(surroundings.stdout, io.StringIO)
    return {**found, "printed": surroundings.stdout.getvalue()}


def all_fused(application: Application) -> list[list[str]]:
    return [[o.id for o in application.operators]]


def none_fused(application: Application) -> list[list[str]]:
    has_loop = any(port.feedback for o in application.operators for port in o.inputs)
    return all_fused(application) if has_loop else [[o.id] for o in application.operators]


def job_of(program: Program, surroundings: Environment, *, fusion=all_fused, **options) -> CompiledJob:
    return compile_fused(program, fusion(program.application), environment=surroundings, **options)


def run_both(
    program: Program,
    data: Path,
    tmp_path: Path,
    *,
    channels: int = 1,
    fusion: Callable[[Application], Sequence[Sequence[str]]] = all_fused,
    batch: int = 200_000,
) -> tuple[RunResult, LocalRun]:
    """Run both ways; what they have written is the same."""
    wanted, found = environment(data, tmp_path / "wanted"), environment(data, tmp_path / "found")
    reference = run(program, environment=wanted)
    local = run_locally(job_of(program, found, fusion=fusion, channels=channels, batch=batch))
    assert outputs(found) == outputs(wanted)
    return reference, local


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_means_the_same(path, tmp_path):
    program = compile_text(path.read_text(), path=path.name)
    for channels, fusion, batch in [(1, all_fused, 200_000), (1, none_fused, 3), (3, all_fused, 7)]:
        folder = tmp_path / f"{channels}-{fusion.__name__}-{batch}"
        folder.mkdir()
        reference, local = run_both(program, FIXTURES / "data", folder, channels=channels, fusion=fusion, batch=batch)
        assert local.stopped == "done"
        assert {k: tuple(v) for k, v in local.totals.received.items()} == reference.received
        assert {k: tuple(v) for k, v in local.totals.submitted.items()} == reference.submitted
        assert local.totals.rejected == reference.rejected


LOOP = """composite Main { graph
  stream<int32 n> A = Beacon() { param iterations: 5u; output A: n = (int32) IterationCount() + 3; }
  stream<int32 n> L = Custom(A, B as I) {
    logic onTuple I: { if (n > 0) submit({n = n - 1}, L); }
  }
  stream<int32 n> B = Functor(L) { }
  () as S = FileSink(B) { param file: "out.csv"; }
}"""


def test_what_goes_round_an_open_loop_goes_through_the_next_batch(tmp_path):
    program = compile_text(LOOP)
    assert why_closed(program.application) is None
    wanted, found = environment(tmp_path, tmp_path / "wanted"), environment(tmp_path, tmp_path / "found")
    run(program, environment=wanted)
    ids = [o.id for o in with_open_loop(program).application.operators]
    job = compile_fused(program, [[id_] for id_ in ids], channels=3, loops="batches", environment=found)
    outcome = run_locally(job)
    assert outputs(found) == outputs(wanted)
    assert outcome.batches > 20


FAILING = """composite Main {{ graph
  stream<int32 k, int32 x> A = Beacon() {{
    param iterations: 60u; output A: k = (int32) IterationCount() % 5, x = (int32) IterationCount() - 41;
  }}
  stream<int32 k, int32 y> B = {b}
  {aggregate}
  () as S = FileSink({last}) {{ param file: "out.csv"; }}
}}"""
AGGREGATE = """stream<int32 k, int32 t> C = Aggregate(B) {
    window B: tumbling, count(3), partitioned; param partitionBy: k; output C: k = Any(k), t = Sum(100 / y);
  }"""
WINDOW = {"b": "Functor(A) { output B: y = x; }", "aggregate": AGGREGATE, "last": "C"}


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "more",
    [
        {"b": "Functor(A) { output B: y = 100 / x; }", "aggregate": "", "last": "B"},
        WINDOW,
        {
            "b": "Custom(A) { logic state: mutable int32 n = 0; onTuple A: { n++; submit({k=k, y=x/(42-n)}, B); } }",
            "aggregate": AGGREGATE,
            "last": "C",
        },
    ],
    ids=["stateless", "window", "variables"],
)
def test_a_failure_is_told_as_the_reference_tells_it(more, channels, batch, tmp_path):
    program = compile_text(FAILING.format(**more))
    with pytest.raises(OperatorFailed) as wanted:
        run(program, environment=environment(tmp_path, tmp_path / "wanted"))
    for fusion in (all_fused, none_fused):
        surroundings = environment(tmp_path, tmp_path / "found")
        job = job_of(program, surroundings, fusion=fusion, channels=channels, batch=batch)
        with pytest.raises(OperatorFailed) as found:
            run_locally(job)
        assert found.value.diagnostics == wanted.value.diagnostics


def test_a_failure_behind_a_new_base_is_told_with_its_tuple(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.local.channel.JOURNAL_BYTES", 2000)
    program = compile_text(FAILING.format(**WINDOW))
    with pytest.raises(OperatorFailed, match=r"y=0") as wanted:
        run(program, environment=environment(tmp_path, tmp_path / "wanted"))
    job = job_of(program, environment(tmp_path, tmp_path / "found"), fusion=none_fused, batch=4)
    with pytest.raises(OperatorFailed) as found:
        run_locally(job)
    assert found.value.diagnostics == wanted.value.diagnostics


def test_a_missing_file_is_told_as_the_reference_tells_it(tmp_path):
    program = compile_text(
        'composite Main { graph stream<int32 x> A = FileSource() { param file: "no.csv"; } '
        '() as S = FileSink(A) { param file: "out.csv"; } }'
    )
    with pytest.raises(UserError) as wanted:
        run(program, environment=environment(tmp_path, tmp_path / "wanted"))
    job = job_of(program, environment(tmp_path, tmp_path / "found"))
    with pytest.raises(UserError) as found:
        run_locally(job)
    assert found.value.diagnostics == wanted.value.diagnostics


ENDLESS = """composite Main { graph
  stream<int64 x> A = Beacon() { output A: x = (int64) IterationCount(); }
  stream<int64 x> B = Filter(A) { param filter: x % 2l == 0l; }
  () as S = FileSink(B) { param file: "out.csv"; }
}"""


def run_endlessly(tmp_path: Path, **more) -> tuple[LocalRun, list[str]]:
    program = compile_text(ENDLESS)
    said: list[str] = []
    job = job_of(program, environment(tmp_path, tmp_path / "out"), batch=1000)
    outcome = run_locally(job, notice=said.append, **more)
    lines = (tmp_path / "out" / "out.csv").read_text().splitlines()
    assert outcome.totals.submitted["A"] == [1000 * outcome.batches]
    assert [int(line) for line in lines] == list(range(0, 1000 * outcome.batches, 2))
    return outcome, said


def test_ctrl_c_stops_between_two_batches(tmp_path):
    def press(progress: dict[str, object]) -> None:
        if progress["batchId"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    outcome, said = run_endlessly(tmp_path, on_progress=press)
    assert (outcome.stopped, outcome.batches) == ("interrupted", 3)
    assert said == ["stopping after this batch; press Ctrl-C again to stop at once"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    def press(progress: dict[str, object]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_endlessly(tmp_path, on_progress=press)


def test_a_run_stops_when_its_time_is_over_or_somebody_asks(tmp_path):
    (tmp_path / "one").mkdir()
    assert run_endlessly(tmp_path / "one", seconds=0.2)[0].stopped == "time"
    stop = threading.Event()
    outcome, _ = run_endlessly(tmp_path, on_progress=lambda p: stop.set(), is_stopped=stop.is_set)
    assert (outcome.stopped, outcome.batches) == ("interrupted", 1)


def test_a_run_in_a_thread_leaves_signals_alone(tmp_path):
    found: list[LocalRun] = []
    thread = threading.Thread(target=lambda: found.append(run_endlessly(tmp_path, seconds=0.1)[0]))
    thread.start()
    thread.join()
    assert found[0].stopped == "time"


def test_memory_does_not_grow_with_the_input(tmp_path, monkeypatch):
    """Batches, the journal of a PE with state and what sinks hold are all bounded."""
    monkeypatch.setattr("penstock.local.channel.JOURNAL_BYTES", 200_000)
    source = """composite Main {{ graph
      stream<int32 k, rstring text> A = Beacon() {{
        param iterations: {tuples}u;
        output A: k = (int32) IterationCount() % 100, text = "a text of some length, " + (rstring) IterationCount();
      }}
      stream<int32 k, rstring text> B = Aggregate(A) {{
        window A: sliding, count(3), count(2), partitioned; param partitionBy: k; output B: text = Last(text);
      }}
      () as S = FileSink(B) {{ param file: "out.csv"; }}
    }}"""

    def peak(tuples: int) -> int:
        program = compile_text(source.format(tuples=tuples))
        surroundings = environment(tmp_path, tmp_path / "out")
        job = job_of(program, surroundings, fusion=none_fused, channels=2, batch=2000)
        tracemalloc.start()
        try:
            run_locally(job)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2000)  # what is imported
    few = peak(20_000)
    assert peak(120_000) < few + (1 << 20)


def test_what_only_spark_has_is_refused_by_name(tmp_path):
    program = compile_text(
        'composite Main { graph stream<int32 x> A = Import() { param subscription: kind == "a"; } '
        "stream<int32 x> B = Beacon() { param iterations: 1u; } "
        '() as E = Export(B) { param properties: {kind = "b"}; } () as S = FileSink(A) { param file: "out.csv"; } }'
    )
    job = job_of(program, environment(tmp_path, tmp_path / "out"))
    with pytest.raises(UserError) as error:
        run_locally(job)
    assert [d.message for d in error.value.diagnostics] == [
        "`A` (Import) does not run on the local engine",
        "`E` (Export) does not run on the local engine",
    ]
    assert not list((tmp_path / "out").iterdir())


def test_dead_letters_go_to_their_file(tmp_path):
    program = compile_text(
        "composite Main { graph stream<int32 x> A = Beacon() { param iterations: 9u; "
        "output A: x = (int32) IterationCount() - 4; } @catch(exception=all) stream<int32 x> B = Functor(A) "
        '{ output B: x = 12 / x; } () as S = FileSink(B) { param file: "out.csv"; } }'
    )
    reference, local = run_both(program, tmp_path, tmp_path, batch=2)
    assert local.totals.rejected == {"B": 1}
    written = (tmp_path / "found" / DEAD_LETTERS).read_bytes()
    assert written == b"".join(letter.line() for letter in reference.dead_letters)


def test_a_growing_file_is_followed(tmp_path):
    program = compile_text(
        'composite Main { graph stream<int32 x> A = FileSource() { param file: "a.csv"; hotFile: true; } '
        '() as S = FileSink(A) { param file: "out.csv"; flush: 1u; } }'
    )
    (tmp_path / "a.csv").write_text("1\n2\n")
    seen: list[int] = []

    def grow(progress: dict[str, object]) -> None:
        seen.append(sum(progress["totals"].received["S"]))
        if len(seen) == 1:
            with (tmp_path / "a.csv").open("a") as file:
                file.write("3\n")

    surroundings = environment(tmp_path, tmp_path / "out")
    job = job_of(program, surroundings, continuous=True)
    outcome = run_locally(job, on_progress=grow, seconds=30, is_stopped=lambda: 3 in seen)
    assert (outcome.stopped, outputs(surroundings)["out.csv"]) == ("interrupted", b"1\n2\n3\n")


class Running(Operator):
    """The sum so far."""

    def __init__(self):
        self.sum = 0

    def process(self, t):
        self.sum += t.x
        if self.sum > 4000:
            raise ValueError("too much")
        yield (self.sum,)


@pytest.mark.parametrize("batch", [10, 1000])
def test_state_in_python_lives_from_batch_to_batch(batch, tmp_path):
    app = App("Sums")
    app.source(feed(range(80)), "int32 x", name="A").apply(Running, "int32 x").write_file("out.csv", name="S")
    run_both(app.program(), tmp_path, tmp_path, batch=batch)


def test_a_python_operator_that_fails_late_names_its_tuple(tmp_path):
    app = App("Sums")
    app.source(feed(range(100)), "int32 x", name="A").apply(Running, "int32 x").write_file("out.csv", name="S")
    program = app.program()
    with pytest.raises(OperatorFailed, match="too much") as wanted:
        run(program, environment=environment(tmp_path, tmp_path / "wanted"))
    job = job_of(program, environment(tmp_path, tmp_path / "found"), batch=10)
    with pytest.raises(OperatorFailed) as found:
        run_locally(job)
    assert found.value.diagnostics == wanted.value.diagnostics
