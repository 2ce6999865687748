"""How much a profile run looks at: the two knobs of section 3.2 of the SPADE paper."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.profiler.raw_statistics import RESERVOIR


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The fraction of tuples for which metrics are collected, and how many values of each metric are kept.

    Attributes:
        rate: The paper's s, above 0 and up to 1.
        reservoir: The paper's S.
    """

    rate: float = 0.001
    reservoir: int = RESERVOIR
