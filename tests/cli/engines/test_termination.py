"""SIGTERM stops a run in order: what was processed is written, and the exit status is 0."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.cli.engines.termination import stop_on_sigterm

PROGRAM = """composite Main { graph
    stream<int32 x> Numbers = Beacon() { output Numbers: x = (int32) IterationCount(); }
    () as Sink = FileSink(Numbers) { param file: "numbers.csv"; } }"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_run_ends_in_order(tmp_path: Path, number: signal.Signals, status: int) -> None:
    (tmp_path / "main.spl").write_text(PROGRAM)
    command = ["run", "main.spl", "--engine", "local", "--out", "out", "--batch", "100", "--metrics", "0", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock.cli", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    address = next(line.split()[-1] for line in process.stderr if line.startswith("metrics are at"))
    assert any(line.startswith("batch 0") for line in process.stderr)
    with urllib.request.urlopen(address, timeout=10) as answer:
        assert (
            'penstock_tuples_submitted_total{application="Main",operator="Numbers",port="0"}' in answer.read().decode()
        )
    process.send_signal(number)
    out, said = process.communicate(timeout=60)
    assert process.returncode == status, said
    written = (tmp_path / "out" / "numbers.csv").read_text().splitlines()
    assert written == [str(n) for n in range(len(written))]
    assert json.loads(out)["operators"]["Sink"]["received"] == [len(written)]


def lose_java_to_sigterm() -> None:
    with stop_on_sigterm():
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        raise ConnectionError("the answer of Java is empty")


def test_who_ended_spark_with_the_same_signal_is_told_what_to_do() -> None:
    with pytest.raises(UserError, match="SIGTERM has ended Spark, too") as caught:
        lose_java_to_sigterm()
    assert "KillMode=mixed" in str(caught.value)


def test_errors_without_a_signal_stay_as_they_are() -> None:
    with pytest.raises(ConnectionError, match="gone"), stop_on_sigterm():
        raise ConnectionError("gone")
