"""What planners assume of a machine, and for which size of batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.compiler import Options, fusion_choice
from penstock.optimizer import machine
from penstock.optimizer.machine import TYPICAL, machine_transfer


@pytest.fixture
def uncalibrated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setattr(machine, "cache_folder", lambda: tmp_path)
    return monkeypatch


@pytest.mark.parametrize("times", [0.5, 1.0, 3.0])
def test_typical_costs_are_those_of_a_machine_of_this_speed(uncalibrated: pytest.MonkeyPatch, times: float) -> None:
    uncalibrated.setattr(machine, "_speed", lambda: times * TYPICAL.mips)
    found = machine_transfer()
    assert found.mips == TYPICAL.mips
    assert found.batch_seconds == pytest.approx(TYPICAL.batch_seconds / times)
    assert found.jvm_feed.seconds(10, 8) == pytest.approx(TYPICAL.jvm_feed.seconds(10, 8) / times)


def test_the_speed_of_this_machine_is_measured_once() -> None:
    assert machine._speed() == machine._speed() > 0


def test_planners_know_the_size_of_the_batches_that_will_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def note(*_: object, turns_per_batch: int) -> None:
        seen.append(turns_per_batch)
        raise _Enough

    monkeypatch.setattr(machine, "machine_setting", note)
    for options in (Options(fusion="throughput", batch=7_000), Options(fusion="throughput")):
        with pytest.raises(_Enough):
            fusion_choice.fuse_by_costs(None, None, 1, options)  # type: ignore[arg-type]
    assert seen == [7_000, 200_000]


class _Enough(Exception):
    """Nothing more is needed."""
