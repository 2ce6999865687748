"""The command: `python -m tests.simulation --seeds 0:10000 --jobs 2`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.seeds import add_options, run_seeds, seeds_of

from .check import check_seed, describe  # the path must be there first


def main(arguments: list[str] | None = None) -> int:
    """Run seeds; prints the smallest case of each that shows a difference, and gives 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    add_options(parser, "0:1000")
    given = parser.parse_args(arguments)
    if given.show:
        for seed in seeds_of(given):
            print(describe(seed))
        return 0
    return run_seeds([(seed, not given.no_shrink) for seed in seeds_of(given)], check_seed, given)


if __name__ == "__main__":
    sys.exit(main())
