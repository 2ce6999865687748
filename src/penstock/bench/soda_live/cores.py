"""The cores that a run may use: taken away from all of its processes, and given back."""

from __future__ import annotations

import os
from contextlib import suppress

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import PROC, family

CORES = 2
"""The machine of the experiment: on a larger one the rest is not used."""

_ROUNDS = 2
"""What is started while the first round goes on, is met in the second; the children of those that were met inherit."""


def own_cores() -> frozenset[int]:
    """The cores of the experiment.

    Raises:
        UserError: This machine has too few.
    """
    found = sorted(os.sched_getaffinity(0))
    if len(found) < CORES:
        raise UserError(f"the experiment takes {CORES} cores, and there is {len(found)}")
    return frozenset(found[:CORES])


def use_cores(cores: frozenset[int]) -> None:
    """Let this process and all that it has started use these cores and no others."""
    for _ in range(_ROUNDS):
        for pid in family():
            with suppress(OSError):
                for thread in (PROC / str(pid) / "task").iterdir():
                    with suppress(OSError):
                        os.sched_setaffinity(int(thread.name), cores)
