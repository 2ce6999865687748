"""A process that behaves as `penstock run` does towards the service, without Spark: it reports, stops and ends."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = Path(__file__)


def main(report: Path, checkpoint: Path, how: str) -> None:
    """Batches of ten tuples, counted in the checkpoint as Spark would; `how` says how it ends."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: None if how == "stubborn" else asked.append(number))
    with open(checkpoint / "starts", "a") as starts:
        starts.write(f"{os.getpid()}\n")
    if how == "broken" or (how == "flaky" and len((checkpoint / "starts").read_text().splitlines()) < 3):
        print("error: it is broken", file=sys.stderr)
        sys.exit(4)
    if how == "parent":
        # Somebody who outlives us, as Spark's machine may, whatever happens to our session.
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        (checkpoint / "child").write_text(str(child.pid))
    if how == "slow":
        time.sleep(0.5)
    if how == "hanging":
        time.sleep(600)
    held = os.open(checkpoint / "held", os.O_CREAT | os.O_WRONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("error: it runs twice")
    count = checkpoint / "count"
    batches = 0
    while not asked and (how != "short" or batches < 3):
        done = int(count.read_text()) if count.exists() else 0
        counted = count.with_suffix(".new")
        counted.write_text(str(done + 10))
        counted.replace(count)
        batches += 1
        told = {"batches": batches, "time": time.time(), "submitted": {"A": [done + 10]}, "waited_seconds": 0.0}
        fresh = report.with_suffix(".new")
        fresh.write_text(json.dumps({"applications": {"Main": told}}))
        fresh.replace(report)
        time.sleep(0.03)
    os.close(held)
    print(json.dumps({"stopped": "interrupted" if asked else "done"}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
