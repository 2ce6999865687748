"""What the processes of a job leave behind, and how much of it is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.service.jobs import process
from penstock.service.jobs.process import KEPT_ATTEMPTS, MARK, Attempt


def test_what_a_job_prints_stays_within_bounds_while_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_LOG_BYTES", 1000)
    attempt = Attempt(folder=tmp_path)
    with open(attempt.log, "ab") as log:
        child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=log)
        assert child.stdin is not None
        for number in range(40):
            child.stdin.write(b"line %4d %s\n" % (number, b"." * 89))
            child.stdin.flush()
            while attempt.last_words(200)[-100:-90] != f"line {number:4} ":
                continue
            attempt.trim_log()
            assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 2200
        child.stdin.close()
        child.wait()
    lines = attempt.last_words(1500).splitlines()
    assert [line.split()[1] for line in lines] == [str(number) for number in range(25, 40)]
    assert attempt.last_words(250).splitlines()[-2].split()[1] == "38"


def test_a_log_that_is_short_or_not_there_is_left_alone(tmp_path: Path) -> None:
    attempt = Attempt(folder=tmp_path)
    attempt.trim_log()
    attempt.log.write_text("one\n")
    attempt.trim_log()
    assert (attempt.last_words(), sorted(file.name for file in tmp_path.iterdir())) == ("one\n", ["log.txt"])


def test_of_many_attempts_the_last_ones_are_kept_and_those_that_still_run(tmp_path: Path) -> None:
    for number in range(1, 31):
        (tmp_path / str(number)).mkdir()
    (tmp_path / "notes").mkdir()
    environment = {**os.environ, MARK: str(tmp_path / "3")}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment) as alive:
        Attempt(folder=tmp_path / "31").drop_earlier()
        alive.communicate(b"\n")
    left = sorted(int(folder.name) for folder in tmp_path.iterdir() if folder.name.isdigit())
    assert left == [3, *range(31 - KEPT_ATTEMPTS + 1, 31)]
    assert (tmp_path / "notes").exists()
