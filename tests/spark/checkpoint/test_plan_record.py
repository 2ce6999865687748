"""A checkpoint that another version has written is refused before anything of it is read."""

from __future__ import annotations

import json

import pytest

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.compiler.resuming import RECORD
from penstock.lang import compile_text
from penstock.spark.checkpoint.plan_record import FORMAT, claim
from penstock.spark.workers.channel_state import STATE_VERSION

PROGRAM = """composite Main { graph
  stream<int32 n> A = Beacon() { param iterations: 3u; output A: n = 1; }
  () as S = FileSink(A) { param file: "s.csv"; } }"""


def test_a_checkpoint_of_the_format_before_is_refused(tmp_path):
    plan = physical_plan(compile_text(PROGRAM).application, [["A"], ["S"]])
    assert not claim(tmp_path, plan)
    record = json.loads((tmp_path / RECORD).read_text())
    (tmp_path / RECORD).write_text(json.dumps({**record, "format": FORMAT - 1}))
    with pytest.raises(UserError, match=f"it has format {FORMAT - 1}, this version of penstock writes {FORMAT}"):
        claim(tmp_path, plan)


def test_state_of_another_form_has_a_checkpoint_of_another_format():
    """A worker that finds no state of the form that it knows takes its channel for new: the record must tell first."""
    assert (FORMAT, STATE_VERSION) == (4, 4)
