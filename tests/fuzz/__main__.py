"""The command: `python -m tests.fuzz --seeds 0:20000 --jobs 2`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from .check import check_seed, describe  # the path must be there first
from .generate import Size
from .seeds import add_options, run_seeds, seeds_of


def main(arguments: list[str] | None = None) -> int:
    """Run seeds; prints the smallest program of each that shows a difference, and gives 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    add_options(parser, "0:1000")
    parser.add_argument("--timed", type=int, default=Size().timed, help="the most operators that wait for time")
    parser.add_argument("--state", action="store_true", help="many keys, their state in a store, and faults of files")
    given = parser.parse_args(arguments)
    size = None if given.state else Size(timed=given.timed)
    if given.show:
        for seed in seeds_of(given):
            print(describe(seed, size))
        return 0
    return run_seeds([(seed, size, not given.no_shrink) for seed in seeds_of(given)], check_seed, given)


if __name__ == "__main__":
    sys.exit(main())
