"""Some hundreds of hostile inputs, and all those that were not read as they should be once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from . import check
from .check import check_seed, mutant, problem_of
from .subjects import SUBJECTS, subject_named

FOUND = sorted((Path(__file__).parent / "found").glob("*.*"))


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_a_mutant_is_read_or_refused_with_a_message(first):
    assert [report for _, report in map(check_seed, range(first, first + 50)) if report is not None] == []


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found_once_stays_mended(path):
    """The name of a file begins with that of its subject."""
    assert problem_of(subject_named(path.name.partition("-")[0]), path.read_bytes()) is None


def test_a_mutant_comes_from_its_seed_alone():
    assert [mutant(seed)[1] for seed in range(20)] == [mutant(seed)[1] for seed in range(20)]
    assert sum(subject.share for subject in SUBJECTS) == 100


def test_what_is_wrong_is_noticed():
    def fails(data: bytes, folder: Path) -> None:
        raise KeyError("a bug")

    def hangs(data: bytes, folder: Path) -> None:
        while True:
            pass

    def grows(data: bytes, folder: Path) -> None:
        bytearray(7 << 30)

    before, check.SECONDS = check.SECONDS, 1
    try:
        problems = [problem_of(replace(SUBJECTS[0], read=read), b"") or "" for read in (fails, hangs, grows)]
    finally:
        check.SECONDS = before
    assert ["KeyError" in problems[0], "more than 1 s" in problems[1], "MemoryError" in problems[2]] == [True] * 3
