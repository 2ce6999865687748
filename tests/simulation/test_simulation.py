"""The simulation itself: a seed is one history; what is lost, repeated or in disorder is found and made small."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from fuzz.chain import chain
from fuzz.setting import Setting
from fuzz.shrink import shrink
from penstock.runtime.sinks import order
from penstock.spark.sources.data_source import Planning
from penstock.toolkit.files.file_records import FileRecords

from .check import check_seed, describe, differs_alike, draw_case, find
from .history import KINDS, PHASES, Fault, History, draw_history, simpler_histories

PLAN = Setting(seed=0, fused=0.0, channels=1, batches=(2,))
QUIET = History(seed=0, plans=(PLAN,))


def killed(phase: str, step: int = 0, **more: object) -> Fault:
    return Fault(batch=2, phase=phase, step=step, how="kill", **more)  # type: ignore[arg-type]


def test_a_seed_gives_one_history():
    assert draw_case(5) == draw_case(5)
    assert draw_history(5) != draw_history(6)


def test_histories_have_all_that_can_happen():
    faults = [fault for seed in range(300) for fault in draw_history(seed).faults]
    assert {(fault.phase, fault.how) for fault in faults} == {(phase, how) for phase in PHASES for how in KINDS}


@pytest.mark.parametrize("how", sorted({*KINDS}))
@pytest.mark.parametrize("phase", sorted({*PHASES}))
def test_a_fault_in_each_phase_changes_nothing(phase, how):
    history = replace(QUIET, plans=(PLAN, replace(PLAN, fused=1.0)), lengths=(3,))
    fault = Fault(batch=1, phase=phase, step=3, how=how)
    assert find((chain("Filter", "Functor"), replace(history, faults=(fault, replace(fault, batch=2))))) is None


def test_a_file_of_the_plan_before_that_cannot_be_removed_is_not_taken_for_one_of_the_new_plan():
    """A commit of it that is left would stand for a batch of the new one."""
    assert find(draw_case(10941)) is None


def test_tuples_that_are_lost_are_found(monkeypatch):
    """A planner that goes on from where another one stood loses the first turn of each source."""
    real = Planning.planner_at

    def forgetful(planning: Planning, number: int) -> object:
        is_new = planning._planner is None
        planner = real(planning, number)
        if is_new and number:
            planner.next_batch(1)
        return planner

    monkeypatch.setattr(Planning, "planner_at", forgetful)
    assert find((chain("Filter"), QUIET)) is None
    found = find((chain("Filter"), replace(QUIET, faults=(killed("written", 1),))))
    assert found is not None
    assert found.kind == "something is missing"


def test_tuples_that_are_repeated_are_found_and_made_small(monkeypatch):
    """A sink does not cut off what a batch has left that is written again."""
    monkeypatch.setattr("penstock.toolkit.files.file_records.ChecksummedFile.cut", lambda *_: None)
    monkeypatch.setattr(FileRecords, "cut_off", lambda *_: None)
    plans = (PLAN, replace(PLAN, channels=3))
    history = replace(QUIET, plans=plans, lengths=(3,), faults=(killed("PEs"), killed("written")), jumps=True)
    case = chain("Filter", "Functor", "Filter"), history
    difference = find(case)
    assert difference is not None
    smallest, simplest = shrink(case, partial(differs_alike, difference=difference), simpler_histories)
    assert [op.kind for op in smallest.ops] == ["Custom", "FileSink"]
    assert simplest.faults == (replace(killed("written"), batch=0),)
    assert (len(simplest.plans), simplest.jumps) == (1, False)


def test_tuples_in_disorder_are_found(monkeypatch):
    """What arrives in any order is taken as it comes."""
    monkeypatch.setattr(order, "_runs", lambda values: [list(values)] if values else [])
    program = chain("Filter")
    plan = replace(PLAN, channels=3, batches=(9,))
    parallel = replace(program.ops[1], annotations=("@parallel(width=3)",))
    program = replace(program, ops=(program.ops[0], parallel, *program.ops[2:]))
    found = find((program, replace(QUIET, plans=(plan,), mixes=True)))
    assert found is not None
    assert found.kind == "the order differs"


def test_a_report_tells_how_to_see_it_again(monkeypatch):
    monkeypatch.setattr("penstock.runtime.sinks.writer.in_order", lambda container, frames: [])
    report = next(filter(None, (check_seed((seed, False))[1] for seed in range(40))))
    assert "python -m tests.simulation --seeds " in report
    assert "composite Main {" in report
    assert "History(" in describe(3)
