"""Cutting a program into PEs and its input into batches changes nothing: every fixture and every example."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock import App, Operator
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import is_sink, is_source, physical_plan
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.lang import compile_text
from penstock.reference import run
from penstock.testing import feed
from penstock.toolkit.core.program import Program
from plan_runner import run_plan

FIXTURES = Path(__file__).parents[1] / "fixtures" / "spl" / "valid"
PROGRAMS = sorted(FIXTURES.glob("*.spl"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@contextmanager
def environment(data: Path, out: Path) -> Iterator[Environment]:
    """The surroundings of a run; what it prints becomes a file like those that it writes."""
    out.mkdir(exist_ok=True)
    with (out / "printed").open("w") as printed:
        yield Environment(data_directory=data, output_directory=out, application_directory=data, stdout=printed)


def random_fusion(application: Application, seed: int) -> list[list[str]]:
    """Operators thrown together at random until no path leaves a PE and comes back, and no loop is cut."""
    rng = random.Random(seed)
    inner = [o.id for o in application.operators if not is_source(o) and not is_sink(o)]
    for _ in range(50):
        groups: dict[int, list[str]] = {}
        for id_ in inner:
            groups.setdefault(rng.randrange(1 + len(inner)), []).append(id_)
        try:
            physical_plan(application, list(groups.values()))
        except UserError:
            continue
        return list(groups.values())
    return [inner]


def assert_equal_in_pieces(program: Program, data: Path, tmp_path: Path, seed: int) -> None:
    with environment(data, tmp_path / "whole") as whole:
        run(program, environment=whole)
    wanted = files(tmp_path / "whole")
    application = program.application
    fusions = {
        "all": [[o.id for o in application.operators]],
        "none": [[o.id] for o in application.operators],
        "random": random_fusion(application, seed),
    }
    for name, fusion in fusions.items():
        if name == "none" and any(port.feedback for o in application.operators for port in o.inputs):
            continue  # a loop stays in one PE
        plan = physical_plan(application, fusion)
        for turns in (1000, 3):
            out = tmp_path / f"{name}-{turns}"
            with environment(data, out) as surroundings:
                run_plan(program, plan, surroundings, turns_per_batch=turns)
            assert files(out) == wanted, (name, turns)
        parallel = physical_plan(application, fusion, 3)
        if parallel.channels > 1:
            out = tmp_path / f"{name}-on-channels"
            with environment(data, out) as surroundings:
                run_plan(program, parallel, surroundings, turns_per_batch=7)
            assert files(out) == wanted, (name, "three channels")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_means_the_same_in_pieces(path, tmp_path):
    program = compile_text(path.read_text(), path=path.name)
    assert_equal_in_pieces(program, FIXTURES / "data", tmp_path, seed=len(path.stem))


class LastTuple(Operator):
    """Gives the last tuple when everything has ended."""

    def __init__(self):
        self.last = None

    def process(self, t):
        self.last = t

    def finish(self):
        if self.last is not None:
            yield self.last


def test_sources_that_end_in_different_batches_end_what_is_behind_them(tmp_path):
    app = App("Ends")
    short, long = (app.source(feed(range(n)), "int32 x", name=f"S{n}") for n in (3, 20))
    short.union(long, name="U").apply(LastTuple, name="L").write_file("out.csv", name="Sink")
    assert_equal_in_pieces(app.program(), tmp_path, tmp_path, seed=1)
    assert (tmp_path / "none-3" / "out.csv").read_text() == "19\n"


TIMED = """
composite Main {
  graph
    stream<int32 k, int32 x> A = Beacon() {
      param iterations: 60u; period: 0.25;
      output A: k = (int32) (IterationCount() * 7ul % 9ul), x = (int32) IterationCount();
    }
    stream<int32 k, int32 x> D = Custom(A as I) {
      logic onTuple I: { submit(I, D); submit({k = (k + 3) % 9, x = 2 * x}, D); submit({k = x % 5, x = 1}, D); }
    }
    stream<int32 k, int32 total> C = Aggregate(D) {
      window D: tumbling, time(1), partitioned;
      param partitionBy: k;
      output C: k = Any(k), total = Sum(x);
    }
    () as Sink = FileSink(C) { param file: "out.csv"; }
}
"""


@pytest.mark.parametrize("fusion", [[["D", "C"]], [["D"], ["C"]]])
@pytest.mark.parametrize("channels", [2, 5])
def test_windows_that_fire_by_time_fire_in_order_on_channels(fusion, channels, tmp_path):
    program = compile_text(TIMED)
    with environment(tmp_path, tmp_path / "whole") as whole:
        run(program, environment=whole)
    plan = physical_plan(program.application, fusion, channels)
    assert plan.channels == channels
    with environment(tmp_path, tmp_path / "cut") as cut:
        run_plan(program, plan, cut, turns_per_batch=7)
    assert files(tmp_path / "cut") == files(tmp_path / "whole")
    assert (tmp_path / "whole" / "out.csv").read_text().count("\n") > 50
