"""Instances of PEs without state serve batch after batch: loaded once, and otherwise as fresh ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from compiling import compile_fused
from penstock import App, Operator, OperatorModel, Selectivity, State
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import PULSE, PULSE_NUMBER, TUPLE, Item, decode, rows
from penstock.expr.environment import Environment
from penstock.spark.sources.data_source import dump
from penstock.spark.workers import instances as workers
from penstock.testing import feed
from penstock.toolkit.core.program import Program

STATELESS = OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE)


class Loading(Operator):
    """Loads something when the first tuple comes, and stamps tuples with the clock."""

    model = STATELESS

    def __init__(self, environment):
        self.environment = environment
        self.table = None

    def process(self, t):
        if self.table is None:
            with (self.environment.output_directory / "loaded").open("a") as file:
                file.write(f"{t.x}\n")
            self.table = {n: n * n for n in range(100)}
        yield {"x": self.table[t.x], "at": self.environment.clock.now_ns, "drawn": self.environment.random.random()}


class LoadingAtFirst(Operator):
    """Loads something when it is made, and asks for nothing: generated code calls it."""

    model = STATELESS

    def __init__(self, *, note: str):
        with open(note, "a") as file:
            file.write("0\n")

    def process(self, t):
        if t.x == 13:
            raise ValueError("thirteen")
        yield {"x": t.x * t.x, "at": 0, "drawn": 0.0}


class Failing(Loading):
    """Fails for one tuple."""

    def process(self, t):
        if t.x == 13:
            raise ValueError("thirteen")
        yield from super().process(t)


def loaded(folder: Path) -> list[int]:
    """The tuples for which an operator has loaded: noted in a file, for operators may be copies of those here."""
    return [int(line) for line in (folder / "loaded").read_text().splitlines()]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(workers, "_programs", {})
    monkeypatch.setattr(workers, "_modules", {})


def job(
    operator: type[Operator], folder: Path, *, with_more: bool = False, **options: Any
) -> tuple[Program, PhysicalPlan, str]:
    app = App("Kept")
    made = app.source(feed([]), "int32 x", name="A").apply(
        operator, "int32 x, int64 at, float64 drawn", name="B", **options
    )
    if with_more:
        made = made.with_columns(x=made_x(), name="C")
    made.write_file("out.csv", name="Sink")
    program = app.program()
    environment = Environment(data_directory=folder, output_directory=folder)
    made_job = compile_fused(program, [["B", "C"] if with_more else ["B"]], environment=environment)
    path = folder / "program.pickle"
    dump(program, made_job.plan, environment, made_job.build, path)
    return program, made_job.plan, str(path)


def made_x():
    from penstock import col

    return col.x + 1


def run(plan: PhysicalPlan, path: str, items: list[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """A batch of (time, x) pairs, as a task takes it."""
    pe = next(p.index for p in plan.pes if p.role == "stateless")
    (into,), (out,) = plan.into(pe), plan.out_of(pe)
    streams = plan.application.streams
    arriving = [Item(time, n, b"\0\0\0\0", TUPLE, (x,)) for n, (time, x) in enumerate(items)]
    arriving.append(Item(items[-1][0], PULSE_NUMBER, b"", PULSE))
    given = rows(into.index, arriving, streams[into.stream].schema)
    found: list[tuple[int, int, float]] = []
    for batch in workers.stateless_pe(path, plan, pe)(iter([given])):
        assert isinstance(batch, pa.RecordBatch)
        for edge, value in zip(batch.column(0).to_pylist(), batch.column(2).to_pylist(), strict=True):
            if edge == out.index:
                found += [i.tuple_ for i in decode(value, streams[out.stream].schema) if i.kind == TUPLE]
    return found


@pytest.mark.parametrize("with_more", [False, True])
def test_what_an_operator_has_loaded_serves_all_batches(tmp_path, with_more):
    _, plan, path = job(Loading, tmp_path, with_more=with_more)
    for batch in range(3):
        assert [x for x, _, _ in run(plan, path, [(0, batch), (0, 2)])] == [batch**2 + with_more, 4 + with_more]
    assert loaded(tmp_path) == [0]


def test_a_class_that_generated_code_calls_serves_all_batches_until_one_fails(tmp_path):
    _, plan, path = job(LoadingAtFirst, tmp_path, note=str(tmp_path / "loaded"))
    for x in (2, 3):
        assert run(plan, path, [(0, x)])[0][0] == x * x
    once = len(loaded(tmp_path))
    with pytest.raises(Exception, match="thirteen"):
        run(plan, path, [(0, 13)])
    in_container = len(loaded(tmp_path)) - once
    assert run(plan, path, [(0, 4)])[0][0] == 16
    assert (once, in_container, len(loaded(tmp_path))) == (1, 1, 3)


def test_time_and_random_numbers_begin_anew(tmp_path):
    _, plan, path = job(Loading, tmp_path)
    late, early = run(plan, path, [(7, 1), (9, 2)]), run(plan, path, [(0, 1), (3, 2)])
    assert [at for _, at, _ in late] == [7, 9]
    assert [at for _, at, _ in early] == [0, 3]
    assert [drawn for *_, drawn in late] == [drawn for *_, drawn in early]


def test_an_instance_that_failed_is_not_used_again(tmp_path):
    _, plan, path = job(Failing, tmp_path)
    run(plan, path, [(0, 1)])
    with pytest.raises(Exception, match="thirteen"):
        run(plan, path, [(0, 2), (0, 13)])
    assert run(plan, path, [(0, 3)])[0][0] == 9
    assert loaded(tmp_path) == [1, 3]


def test_another_program_in_the_same_place_gets_instances_of_its_own(tmp_path):
    _, plan, path = job(Loading, tmp_path)
    run(plan, path, [(0, 1)])
    job(Loading, tmp_path)
    os.utime(path, ns=(1, 1))
    run(plan, path, [(0, 2)])
    assert loaded(tmp_path) == [1, 2]
    assert len(workers._modules) == 1


def test_programs_that_take_turns_keep_theirs_and_of_many_the_oldest_goes(tmp_path):
    jobs = []
    for number in range(workers.KEPT_PROGRAMS):
        folder = tmp_path / str(number)
        folder.mkdir()
        jobs.append(job(Loading, folder)[1:])
    for x in (1, 2):
        for plan, path in jobs:
            run(plan, path, [(0, x)])
    assert [loaded(Path(path).parent) for _, path in jobs] == [[1], [1], [1], [1]]
    _, plan, path = job(Loading, tmp_path)
    run(plan, path, [(0, 3)])
    assert {key[0] for key in workers._modules} == {path, *(p for _, p in jobs[1:])}
