"""Experiments with small inputs, one after the other in one process, so that those on Spark share a session.

`python tests/bench/quick_run.py FOLDER NAME...` leaves for each what `penstock bench NAME --quick -o FOLDER` leaves.
"""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from penstock.bench import EXPERIMENTS, Bench


def is_on_spark(name: str) -> bool:
    spec = find_spec(f"penstock.bench.{name.replace('-', '_')}")
    assert spec is not None
    assert spec.origin is not None
    return "spark" in Path(spec.origin).read_text()


LONG = ("drift", "moves", "changes", "soak")
"""Those that take minutes even with small inputs: clusters that are started, jobs that are killed. `PENSTOCK_LONG=1`
in the environment runs them."""

RUN = tuple(name for name in EXPERIMENTS if name not in LONG or "PENSTOCK_LONG" in os.environ)
ON_SPARK = tuple(name for name in RUN if is_on_spark(name))
WITHOUT_SPARK = tuple(name for name in RUN if name not in ON_SPARK)
GROUPS = {ON_SPARK: "spark-commands", WITHOUT_SPARK: "benches"}
"""Experiments that share a process, and the worker of theirs; those on Spark run beside other Sparks of their own."""


@cache
def quick_results(names: tuple[str, ...]) -> Path:
    """The folder of what these experiments leave behind."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-benches-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    done = subprocess.run([sys.executable, __file__, folder, *names], capture_output=True, text=True, timeout=1800)
    if done.returncode:
        # The tests say it one by one; it is not run once more for each.
        for name in names:
            if not (folder / f"{name}.json").exists():
                (folder / f"{name}.error").write_text(done.stderr)
    return folder


def run_quickly(folder: Path, names: list[str]) -> None:
    """Run each; the traceback of one that fails is in `NAME.error`, and the others run nevertheless."""
    for name in names:
        bench = Bench(name, quick=True, out=folder)
        try:
            importlib.import_module(f"penstock.bench.{name.replace('-', '_')}").run(bench)
            bench.write()
        except Exception:
            (folder / f"{name}.error").write_text(traceback.format_exc())


if __name__ == "__main__":
    run_quickly(Path(sys.argv[1]), sys.argv[2:])
