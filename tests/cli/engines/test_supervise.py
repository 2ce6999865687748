"""A run that fails is started again, with back-off, as long as it gets somewhere."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli import cli
from penstock.cli.engines.supervise import supervise

RUN = """
import os, pathlib, signal, sys
checkpoint = pathlib.Path({checkpoint!r})
count = checkpoint / "count"
n = int(count.read_text()) + 1 if count.exists() else 1
checkpoint.mkdir(exist_ok=True)
count.write_text(str(n))
commits = checkpoint / "spark" / "commits"
commits.mkdir(parents=True, exist_ok=True)
{body}
"""
COMMIT = "(commits / str(n)).touch()"


def attempt(folder: Path, body: str, most: int = 3) -> tuple[int, int, list[float]]:
    """The exit status of a supervised run, how often it ran, and the waits between."""
    checkpoint = folder / "kept"
    text = RUN.format(checkpoint=str(checkpoint), body=body)
    waited: list[float] = []
    status = supervise([sys.executable, "-c", text], checkpoint, most, sleep=waited.append)
    return status, int((checkpoint / "count").read_text()), waited


def test_a_run_is_started_again_until_it_is_done(tmp_path: Path) -> None:
    assert attempt(tmp_path, f"{COMMIT}\nsys.exit(4 if n < 5 else 0)") == (0, 5, [1, 1, 1, 1])


def test_failures_in_a_row_wait_longer_and_are_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert attempt(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)") == (137, 4, [1, 2, 4])
    said = capsys.readouterr().err
    assert "the run has failed (signal 9); starting it again in 4 s" in said
    assert "given up: it has failed 4 times in a row" in said


def test_the_users_own_error_is_not_tried_again(tmp_path: Path) -> None:
    assert attempt(tmp_path, "sys.exit(1)") == (1, 1, [])
    # What was well before, and is not now, may be well again.
    again = tmp_path / "again"
    again.mkdir()
    assert attempt(again, f"{COMMIT}\nsys.exit(1 if n < 3 else 0)") == (0, 3, [1, 1])


@pytest.mark.parametrize("status", [0, 2, 3, 130])
def test_what_is_no_failure_ends(tmp_path: Path, status: int) -> None:
    assert attempt(tmp_path, f"sys.exit({status})") == (status, 1, [])


def test_sigterm_is_passed_on_and_ends_it(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n(checkpoint / 'up').touch()\nsignal.pause()"
    text = RUN.format(checkpoint=str(tmp_path / "kept"), body=body)
    code = (
        "import sys; from pathlib import Path; from penstock.cli.engines.supervise import supervise; "
        f"sys.exit(supervise([sys.executable, '-c', {text!r}], Path({str(tmp_path / 'kept')!r}), 3))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
    for _ in range(300):
        if (tmp_path / "kept" / "up").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 7
    assert (tmp_path / "kept" / "count").read_text() == "1"


def test_there_is_something_to_go_on_from(tmp_path: Path) -> None:
    program = tmp_path / "main.spl"
    program.write_text("composite Main { graph stream<int32 x> A = Beacon() {} }")
    found = CliRunner().invoke(cli, ["run", str(program), "--restart", "3"], standalone_mode=False)
    assert "give --checkpoint DIR" in str(found.exception)
