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

from changing_plans import assert_equal_while_plans_change
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
