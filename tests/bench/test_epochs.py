"""`penstock bench epochs`: the quick run writes its figures and reaches its bars."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.bench import Bench
from penstock.bench.epochs import run


def test_the_quick_run_reaches_its_bars_and_draws(tmp_path: Path) -> None:
    bench = Bench("epochs", quick=True, out=tmp_path)
    run(bench)
    bench.write()
    # Whether decisions are in time depends on the machine, which is no matter for a test.
    missed = [check.name for check in bench.checks if not check.holds and "in time" not in check.name]
    assert missed == []
    assert json.loads((tmp_path / "epochs.json").read_text())["checks"]
    assert (tmp_path / "epochs.png").stat().st_size > 0
