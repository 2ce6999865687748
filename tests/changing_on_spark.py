"""Jobs on Spark that change fusion, channels and batch size while they are killed, run by hand.

Each seed is a program whose operators act by time and by key (`timed_programs`). It is started two to five times, each
time with another plan, and killed with SIGKILL, Java and the workers with it: while its savepoint is written, when that
is complete, while state is dealt out, when the new plan stands, behind some batch, or at any moment. At last it runs to
its end, and every sink must hold what the reference gives it::

    python tests/changing_on_spark.py 0:60
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from timed_programs import timed_program

SECONDS = 400
LOOK_SECONDS = 0.002

Moment = Callable[[Path, Path], bool]
"""Tells by a checkpoint, and what a job says on standard error, whether it is to be killed now."""


def _record(checkpoint: Path) -> dict:
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads((checkpoint / "plan.json").read_text()))
    return {}


def _behind_batches(number: int) -> Moment:
    return lambda checkpoint, said: said.read_text().count("\nbatch") >= number


def _at_any_time(seconds: float) -> Moment:
    until = time.monotonic() + seconds
    return lambda checkpoint, said: time.monotonic() >= until


def _when_dealt(before: object) -> Moment:
    return lambda checkpoint, said: _record(checkpoint).get("first_batch") not in (None, before)


def draw_moment(rng: Random, checkpoint: Path) -> tuple[str, Moment]:
    """When to kill a job, with a name."""
    number, seconds = rng.randint(1, 4), rng.uniform(0, 25)
    has_initial = (checkpoint / "initial").exists()
    return rng.choice(
        [
            ("while the savepoint is written", lambda c, said: (c / "savepoint" / "operators").exists()),
            ("when the savepoint is complete", lambda c, said: "switching" in _record(c)),
            ("while state is dealt out", lambda c, said: "switching" in _record(c) and (c / "initial").exists()),
            ("when the new plan stands", _when_dealt(_record(checkpoint).get("first_batch"))),
            (f"behind batch {number}", _behind_batches(number)),
            (f"after {seconds:.1f} s", _at_any_time(seconds)),
            *([] if has_initial else [("when initial state is there", lambda c, said: (c / "initial").exists())]),
        ]
    )


def run_until(folder: Path, plan: list[str], moment: Moment | None) -> int | None:
    """Run the job of a folder; its status, or None if it was killed."""
    where = ["--data", ".", "--out", "found", "--checkpoint", "c", "--master", "local[2]"]
    command = [sys.executable, "-m", "penstock.cli", "run", "main.spl", *where, *plan]
    said = folder / "said"
    with said.open("w") as errors:
        running = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        until = time.monotonic() + SECONDS
        while running.poll() is None:
            if (moment is not None and moment(folder / "c", said)) or time.monotonic() > until:
                # Its own group: this process, Java and Spark's workers.
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
                return None if time.monotonic() <= until else -1
            time.sleep(LOOK_SECONDS)
    return running.returncode


def try_seed(seed: int, folder: Path) -> str | None:
    """Run a program while it changes and is killed; what is wrong, if anything."""
    rng = Random(seed)
    (folder / "main.spl").write_text(timed_program(seed))
    wanted = ["run", "main.spl", "--data", ".", "--engine", "reference", "--out", "wanted"]
    subprocess.run([sys.executable, "-m", "penstock.cli", *wanted], cwd=folder, check=True, capture_output=True)
    history = []
    for _ in range(rng.randint(2, 5)):
        plan = draw_plan(rng)
        name, moment = draw_moment(rng, folder / "c")
        status = run_until(folder, plan, moment)
        history.append(f"{' '.join(plan)}: {'killed ' + name if status is None else status}")
        print("   ", history[-1], flush=True)
        if status not in (None, 0):
            return f"{(folder / 'said').read_text()[-1500:]}\n{history}"
    plan = draw_plan(rng)
    if (status := run_until(folder, plan, None)) != 0:
        return f"{' '.join(plan)} ended with {status}: {(folder / 'said').read_text()[-1500:]}\n{history}"
    found, reference = (_files(folder / name) for name in ("found", "wanted"))
    different = sorted(name for name in found.keys() | reference.keys() if found.get(name) != reference.get(name))
    return f"{different} differ\n{history}" if different else None


def draw_plan(rng: Random) -> list[str]:
    """Options of `penstock run`."""
    channels, batch = rng.choice([1, 2, 3]), rng.choice([1, 2, 3, 5, 20])
    return ["--fusion", rng.choice(["none", "all"]), "--channels", str(channels), "--batch", str(batch)]


def _files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")}


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", help="A:B")
    begin, end = map(int, parser.parse_args().seeds.split(":"))
    failed = 0
    for seed in range(begin, end):
        print(f"seed {seed}", flush=True)
        folder = Path(tempfile.mkdtemp())
        problem = try_seed(seed, folder)
        if problem is None:
            shutil.rmtree(folder)
        else:
            failed += 1
            print(f"seed {seed}, in {folder}: {problem}", flush=True)
    print(f"{end - begin} jobs, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(_main())
