"""The fuzzer itself: it draws the same program again, finds what is wrong, and makes it small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.codegen.transport import routes

from .chain import N, chain
from .check import check_seed, differs_alike
from .compare import find_difference
from .execute import compile_program, run_reference, write_files
from .generate import Size, generate
from .program import Output
from .setting import Setting, draw_fusion, draw_setting
from .shrink import candidates, shrink

SIZE = Size(operators=4, items=10)


def test_a_seed_gives_one_program():
    assert generate(5) == generate(5)
    assert draw_setting(5) == draw_setting(5)
    assert generate(5) != generate(6)


def test_programs_compile():
    for seed in range(1000, 1060):
        compile_program(generate(seed))


def test_a_fusion_stays_as_it_is_for_the_operators_that_are_left():
    setting = Setting(seed=4, fused=0.5, channels=1, batches=(1,))
    whole = draw_fusion(compile_program(chain("Filter", "Functor", "Filter")).application, setting)
    assert sorted(id_ for group in whole for id_ in group) == ["A0", "A1", "A2"]
    assert whole == draw_fusion(compile_program(chain("Filter", "Functor", "Filter")).application, setting)


def test_what_is_wrong_is_found_and_made_small(monkeypatch):
    """Every second tuple is lost where tuples are routed by key."""
    split = routes.split

    def lossy(edge, schema, header, tuples):
        for channel, value in split(edge, schema, header, tuples):
            if channel != 1 or not tuples.num_rows:
                yield channel, value

    monkeypatch.setattr(routes, "split", lossy)
    program = chain("Filter", "Functor", "Filter")
    aggregate = replace(
        program.ops[2],
        kind="Aggregate",
        windows=("I0: tumbling, count(1), partitioned",),
        params=(("partitionBy", "I0.n"),),
    )
    program = replace(program, ops=(*program.ops[:2], aggregate, *program.ops[3:]))
    setting = Setting(seed=0, fused=0.0, channels=5, batches=(3, 2), crashes=frozenset({1}))
    difference = find_difference(program, setting)
    assert difference is not None
    assert difference.kind == "something is missing"
    smallest, simplest = shrink((program, setting), lambda case: differs_alike(case, difference))
    assert [op.kind for op in smallest.ops] == ["Custom", "Filter", "FileSink"]
    assert len(smallest.ops[0].logic[0][1]) <= 2
    assert (simplest.channels, simplest.crashes) == (2, frozenset())


def test_a_report_tells_how_to_see_it_again(monkeypatch):
    monkeypatch.setattr("penstock.runtime.pes.container_instance.in_order", lambda container, values: [])
    report = next(filter(None, (check_seed((seed, SIZE, False))[1] for seed in range(40))))
    assert "python -m tests.fuzz --seeds " in report
    assert "composite Main {" in report


def test_smaller_programs_have_an_input_for_every_port():
    case = generate(77), draw_setting(77)
    for program, _ in candidates(case):
        made = {output.stream for op in program.ops for output in op.outputs}
        assert all(stream in made for op in program.ops for stream in op.streams)
        assert all(all(op.inputs) for op in program.ops)


def test_both_fail_on_the_same_tuple():
    program = chain("Functor")
    failing = replace(program.ops[1], outputs=(Output(stream="A0", schema=N, assignments=(("n", "6 / (I0.n - 3)"),)),))
    program = replace(program, ops=(program.ops[0], failing, program.ops[2]))
    assert find_difference(program, Setting(seed=0, fused=1.0, channels=1, batches=(2,))) is None
    wanted = run_reference(compile_program(program), Path())
    assert wanted.error is not None
    assert "{n=3}: division by zero" in wanted.error


def test_programs_reach_most_of_the_toolkit():
    kinds = {op.kind for seed in range(300) for op in generate(seed).ops}
    assert len(kinds) > 30


@pytest.mark.parametrize("seed", range(20, 24))
def test_files_are_what_the_program_reads(seed, tmp_path):
    program = generate(seed, replace(SIZE, fails=False))
    write_files(program, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(program.files)
