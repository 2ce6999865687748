"""What we parallelize beyond the paper; each is off unless asked for, so that the default is the paper's algorithm."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """Which conditions of the paper are relaxed.

    Attributes:
        prolific: Operators that make several tuples of one may be in a region. Condition of its own: every tuple they
            make is made while a tuple comes in. Order is kept by second-level numbers: see `strategies`.
        fan_out: Operators whose output goes to several places may be in a region, which then is a tree with one entry
            and several exits. Condition of its own: fan-in stays at most one, and every exit has its own joint.
    """

    prolific: bool = False
    fan_out: bool = False


PAPER = Extensions()
BEYOND = Extensions(prolific=True, fan_out=True)
