"""The command: `python -m tests.hostile --seeds 0:100000`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from .check import check_seed, mutant

SLICE = 1_000
PATIENCE_SECONDS = 3600.0


def main(arguments: list[str] | None = None) -> int:
    """Read the mutants of seeds; prints those that are not read as they should be, and gives 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="which, as FIRST:END or one number")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no other slice after this time")
    parser.add_argument("--here", action="store_true", help="in this process, not in one for every thousand")
    parser.add_argument("--show", action="store_true", help="print the mutants and do not read them")
    given = parser.parse_args(arguments)
    first, _, end = given.seeds.partition(":")
    seeds = range(int(first), int(end) if end else int(first) + 1)
    if given.show:
        for seed in seeds:
            subject, data = mutant(seed)
            print(f"==== seed {seed}: {subject.name}")
            sys.stdout.flush()
            sys.stdout.buffer.write(data + b"\n")
        return 0
    return _check_here(seeds) if given.here else _check_apart(seeds, given.seconds)


def _check_here(seeds: range) -> int:
    found = 0
    for seed in seeds:
        print(f"at {seed}", flush=True)
        _, report = check_seed(seed)
        if report is not None:
            found += 1
            print(f"==== seed {seed} ====\n{report}", flush=True)
    return min(found, 1)


def _check_apart(seeds: range, seconds: float) -> int:
    """Each thousand in a process of its own: one that ends, whatever ended it, is found, too."""
    began, bad, done = time.monotonic(), 0, 0
    kinds: Counter[str] = Counter()
    for start in range(seeds.start, seeds.stop, SLICE):
        if time.monotonic() - began > seconds:
            break
        at, end = start, min(start + SLICE, seeds.stop)
        while at < end:
            command = [sys.executable, "-m", "tests.hostile", "--here", "--seeds", f"{at}:{end}"]
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_SECONDS)
            lines = run.stdout.splitlines()
            reached = max(
                (int(line[3:]) for line in lines if line.startswith("at ") and line[3:].isdigit()), default=at
            )
            bad += sum(line.startswith("==== seed ") for line in lines)
            report = [line for line in lines if not (line.startswith("at ") and line[3:].isdigit())]
            if report:
                print("\n".join(report), flush=True)
            if run.returncode not in (0, 1):
                bad += 1
                print(
                    f"==== seed {reached} ====\nthe process ended with {run.returncode}\n{run.stderr[-2000:]}",
                    flush=True,
                )
            at = end if run.returncode in (0, 1) else reached + 1
        kinds.update(mutant(seed)[0].name for seed in range(start, end))
        done += end - start
        rate = done / (time.monotonic() - began)
        print(f"{done} of {len(seeds)} mutants, {bad} found, {rate:.1f} a second", file=sys.stderr, flush=True)
    print(", ".join(f"{count} {name}" for name, count in kinds.most_common()), file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
