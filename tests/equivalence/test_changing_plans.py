"""Fusion, channels, key tables and batch size change while programs run, and sinks get what the reference gives them.

Every change goes through the files of a savepoint. A few of each kind are tried here; thousands, by a command::

    python tests/changing_plans.py timed 1000 --start 5000
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from keyed_programs import draw_program
from test_plans import FIXTURES, PROGRAMS

from changing_plans import assert_equal_while_plans_change, hostile_program
from penstock.lang import compile_text
from timed_programs import timed_program


@pytest.mark.parametrize("path", PROGRAMS[::2], ids=lambda path: path.stem)
def test_fixtures_while_their_plans_change(path, tmp_path):
    program = compile_text(path.read_text(), path=path.name)
    assert_equal_while_plans_change(program, FIXTURES / "data", tmp_path, Random(len(path.stem)))


@pytest.mark.parametrize("seed", range(15))
def test_operators_that_act_by_time_while_their_plans_change(seed, tmp_path):
    assert_equal_while_plans_change(compile_text(timed_program(seed)), Path(), tmp_path, Random(seed))


@pytest.mark.parametrize("seed", range(10))
def test_keyed_classes_while_their_plans_change(seed, tmp_path):
    assert_equal_while_plans_change(draw_program(Random(seed)), Path(), tmp_path, Random(seed))


@pytest.mark.parametrize("seed", [2, 3, 5, 12, 19, 24])
def test_keys_of_every_type_that_come_and_go_while_plans_change(seed, tmp_path):
    program = hostile_program(seed, tmp_path)
    assert program is not None
    assert_equal_while_plans_change(program, tmp_path, tmp_path, Random(seed))


BETWEEN_EFFECTS = """composite Main { graph
    stream<int32 k, int32 v> A = Beacon() { param iterations: 60u;
      output A: k = (int32) (IterationCount() % 3ul), v = (int32) IterationCount(); }
    stream<A> P = Custom(A as I) { logic onTuple I: { printStringLn("p" + (rstring) v); submit(I, P); } }
    stream<A> W = Aggregate(P) { window P: tumbling, count(4), partitioned; param partitionBy: k;
      output W: k = Any(k), v = Sum(v); }
    stream<A> Q = Custom(W as I) { logic onTuple I: { printStringLn("q" + (rstring) v); submit(I, Q); } }
    () as S = FileSink(Q) { param file: "q.csv"; }
}"""


@pytest.mark.parametrize("seed", [3, 9])
def test_a_window_between_operators_that_print_keeps_one_form_of_state(seed, tmp_path):
    assert_equal_while_plans_change(compile_text(BETWEEN_EFFECTS), Path(), tmp_path, Random(seed))


UNUSUAL = """composite Main { type T = list<int32> l, float64 f, decimal64 d, int32 v; graph
    stream<T> A = Beacon() { param iterations: 80u; output A: l = IterationCount() % 3ul == 0ul ? [1, 2] : [2],
      f = IterationCount() % 2ul == 0ul ? 0.0 : -0.0, d = (decimal64) (IterationCount() % 4ul),
      v = (int32) IterationCount(); }
    stream<T> W = Aggregate(A) { window A: tumbling, count(4), partitioned; param partitionBy: d, f;
      output W: l = Any(l), f = Any(f), d = Any(d), v = Sum(v); }
    stream<T> U = Aggregate(A) { window A: tumbling, count(3), partitioned; param partitionBy: d;
      output U: l = Any(l), f = StdDev(f), d = Any(d), v = CountDistinct(v); }
    stream<T> X = DeDuplicate(A) { param key: l, d; count: 9; }
    () as S1 = FileSink(W) { param file: "w"; }
    () as S2 = FileSink(U) { param file: "u"; }
    () as S3 = FileSink(X) { param file: "x"; }
}"""


@pytest.mark.parametrize("seed", [4, 5])
def test_keys_and_values_of_unusual_types_move_too(seed, tmp_path):
    """A channel without keys does not lose the types of its columns."""
    assert_equal_while_plans_change(compile_text(UNUSUAL), Path(), tmp_path, Random(seed), changes=4)
