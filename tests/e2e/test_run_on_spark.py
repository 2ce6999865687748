"""`penstock run` on Spark, as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("spark-commands")

PROGRAM = """
composite Main {
  graph
    stream<int32 k, int32 x> A = FileSource() { param file: "in.csv"; }
    stream<int32 k, int32 total> B = Aggregate(A) {
      window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k;
      output B: k = Any(k), total = Sum(x);
    }
    () as Sink = FileSink(B) { param file: "out.csv"; }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "main.spl").write_text(PROGRAM)
    (tmp_path / "in.csv").write_text("".join(f"{n * 7 % 11},{n}\n" for n in range(4000)))
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock.cli", "run", "main.spl", "--data", ".", *arguments]


def test_an_interrupted_run_says_how_to_go_on_and_does(folder):
    subprocess.run(command("--engine", "reference", "--out", "wanted"), cwd=folder, check=True)
    on_spark = command("--channels", "2", "--batch", "400", "--checkpoint", "c", "--out", "found", "--json")
    running = subprocess.Popen(on_spark, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while not (line := running.stderr.readline()).startswith("batch"):
        assert line, "it ended before the first batch"
    running.send_signal(signal.SIGINT)
    summary, messages = running.communicate(timeout=300)
    assert running.returncode == 130
    assert "stopping after this batch" in messages
    assert "to resume, run the same command again, with --checkpoint c" in messages
    assert "Exception" not in messages
    assert json.loads(summary)["stopped"] == "interrupted"
    resumed = subprocess.run(on_spark, cwd=folder, check=True, capture_output=True, text=True)
    outcome = json.loads(resumed.stdout)
    assert (outcome["stopped"], outcome["resumed"]) == ("done", True)
    assert outcome["operators"]["A"]["submitted"] == [4000]
    assert (folder / "found" / "out.csv").read_bytes() == (folder / "wanted" / "out.csv").read_bytes()


def test_a_growing_directory_is_followed_until_the_user_stops_it(folder):
    text = PROGRAM.replace(
        'FileSource() { param file: "in.csv"; }',
        'FileSource(Files) { }\n stream<rstring name> Files = DirectoryScan() { param directory: "inbox"; }',
    )
    (folder / "main.spl").write_text(text.replace("sliding, count(5), count(1)", "tumbling, count(1)"))
    (folder / "inbox").mkdir()
    (folder / "inbox" / "1.csv").write_text("1,10\n1,20\n")
    running = subprocess.Popen(command("--out", "found", "--json"), cwd=folder, stdout=subprocess.PIPE, text=True)
    out = folder / "found" / "out.csv"
    assert content(out, lines=2) == "1,10\n1,20\n"
    (folder / "part").write_text("1,30\n")
    os.replace(folder / "part", folder / "inbox" / "2.csv")
    assert content(out, lines=3) == "1,10\n1,20\n1,30\n"
    running.send_signal(signal.SIGINT)
    summary, _ = running.communicate(timeout=300)
    assert json.loads(summary)["stopped"] == "interrupted"


def content(path: Path, *, lines: int) -> str:
    """The text of a file as soon as it has so many lines, or what it has after a long time."""
    until = time.monotonic() + 240
    while time.monotonic() < until:
        text = path.read_text() if path.exists() else ""
        if text.count("\n") >= lines:
            return text
        time.sleep(0.2)
    return path.read_text()
