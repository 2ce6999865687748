"""Checks many seeds, in several processes, and prints what is found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Check = Callable[[Task], tuple[int, str | None]]
"""A seed, and a report of it if there is a difference."""


def add_options(parser: argparse.ArgumentParser, seeds: str) -> None:
    """Add what every command that checks seeds can be told."""
    parser.add_argument("--seeds", default=seeds, help="which, as FIRST:END or one number")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--no-shrink", action="store_true", help="print the programs as they are")
    parser.add_argument("--show", action="store_true", help="print the program of each seed and do not run it")
    parser.add_argument("--stop-after", type=int, default=10, help="stop after so many differences")


def seeds_of(given: argparse.Namespace) -> range:
    """The seeds that were asked for."""
    first, _, end = given.seeds.partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


def run_seeds(tasks: list[Task], check: Check[Task], given: argparse.Namespace) -> int:
    """Check all; 1 if there is a difference."""
    started, differing = time.monotonic(), 0
    for done, (seed, report) in enumerate(_reports(tasks, check, given.jobs), start=1):
        if report is not None:
            differing += 1
            print(f"\n==== seed {seed} ====\n{report}", flush=True)
        if done % 100 == 0 or done == len(tasks):
            rate = done / (time.monotonic() - started)
            print(f"{done} of {len(tasks)} programs, {differing} differ, {rate:.1f} a second", file=sys.stderr)
        if differing >= given.stop_after:
            break
    return 1 if differing else 0


def _reports(tasks: list[Task], check: Check[Task], jobs: int) -> Iterator[tuple[int, str | None]]:
    if jobs == 1:
        yield from map(check, tasks)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(check, tasks, chunksize=4)
