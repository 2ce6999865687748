"""Extensions of parallelization beyond the paper: `PAPER` has none of them, jobs run with `BEYOND`, which has all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """Which conditions of the paper are relaxed.

    Attributes:
        prolific: Operators that make several tuples of one may be in a region. Condition of its own: every tuple they
            make is made while a tuple comes in. Order is kept by second-level numbers: see `strategies`.
        by_time: Operators that make several tuples of one and those that fire by time may be in one region, or be the
            same operator. Order is kept by places: see `strategies`.
        fan_out: Operators whose output goes to several places may be in a region, which then is a tree with one entry
            and several exits. Condition of its own: every exit has its own joint.
        fan_in: Operators that receive several streams may be in a region, which then has several entries. Condition of
            its own: all that meets carries the same key; order is kept by places. See `meeting`.
    """

    prolific: bool = False
    by_time: bool = False
    fan_out: bool = False
    fan_in: bool = False


PAPER = Extensions()
BEYOND = Extensions(prolific=True, by_time=True, fan_out=True, fan_in=True)
