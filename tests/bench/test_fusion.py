"""The applications of `penstock bench fusion`: what is compared can be planned, and has input."""

from __future__ import annotations

import pytest

from penstock.bench.workloads.fusion_subjects import SUBJECTS, by_composite
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.optimizer import unfused
from penstock.testing import run


@pytest.mark.parametrize("name", SUBJECTS)
def test_both_ends_and_the_fusion_by_hand_can_be_planned(name, tmp_path):
    application = SUBJECTS[name](tmp_path, quick=True).application
    alone, by_hand = (physical_plan(application, fuse(application)) for fuse in (unfused, by_composite))
    assert len(alone.pes) > len(by_hand.pes) > 3


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_input_makes_every_operator_work(name, tmp_path):
    subject = SUBJECTS[name](tmp_path, quick=True)
    result = run(subject.program, environment=Environment(data_directory=tmp_path, output_directory=tmp_path))
    read = sum(sum(result.submitted[o.id]) for o in subject.application.operators if not o.inputs)
    assert read == subject.size.per_batch * subject.size.batches
    assert all(sum(result.received[o.id]) > 0 for o in subject.application.operators if o.inputs)
