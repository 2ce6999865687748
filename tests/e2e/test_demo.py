"""The demo, from any folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_runs_from_any_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/demo.py"), "--ticks", "3000", "--out", "results"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "The first bargains" in done.stdout
    assert (tmp_path / "results/bargains.csv").stat().st_size > 0
    assert (tmp_path / "results/bargains.html").exists()
