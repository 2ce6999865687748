"""The command: `python -m tests.fuzz --seeds 0:20000 --jobs 2`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from .check import check_seed, describe  # the path must be there first
from .generate import Size


def main(arguments: list[str] | None = None) -> int:
    """Run seeds; prints the smallest program of each that shows a difference, and gives 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="which, as FIRST:END or one number")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--timed", type=int, default=Size().timed, help="the most operators that wait for time")
    parser.add_argument("--state", action="store_true", help="many keys, their state in a store, and faults of files")
    parser.add_argument("--no-shrink", action="store_true", help="print the programs as they are")
    parser.add_argument("--show", action="store_true", help="print the program of each seed and do not run it")
    parser.add_argument("--stop-after", type=int, default=10, help="stop after so many differences")
    given = parser.parse_args(arguments)
    first, _, end = given.seeds.partition(":")
    seeds = range(int(first), int(end) if end else int(first) + 1)
    size = None if given.state else Size(timed=given.timed)
    if given.show:
        for seed in seeds:
            print(describe(seed, size))
        return 0
    return _run(seeds, given, size)


def _run(seeds: range, given: argparse.Namespace, size: Size | None) -> int:
    started, differing = time.monotonic(), 0
    for done, (seed, report) in enumerate(_reports(seeds, given, size), start=1):
        if report is not None:
            differing += 1
            print(f"\n==== seed {seed} ====\n{report}", flush=True)
        if done % 100 == 0 or done == len(seeds):
            rate = done / (time.monotonic() - started)
            print(f"{done} of {len(seeds)} programs, {differing} differ, {rate:.1f} a second", file=sys.stderr)
        if differing >= given.stop_after:
            break
    return 1 if differing else 0


def _reports(seeds: range, given: argparse.Namespace, size: Size | None) -> Iterator[tuple[int, str | None]]:
    tasks = ((seed, size, not given.no_shrink) for seed in seeds)
    if given.jobs == 1:
        yield from map(check_seed, tasks)
        return
    with get_context("spawn").Pool(given.jobs) as pool:
        yield from pool.imap_unordered(check_seed, tasks, chunksize=4)


if __name__ == "__main__":
    sys.exit(main())
