"""Why an operator is not parallel, or why a region ends: a safety condition that fails, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Condition(Enum):
    """The safety conditions of section 3.1 of the auto-parallelization paper, and ours.

    The first seven are the paper's. MARKERS: no operator that waits for window markers stands behind the operator.
    FEEDBACK: a region does not reach across an edge that closes a loop. WIDTH: `@parallel` instructions agree.
    """

    STATE = "state"
    SELECTIVITY = "selectivity"
    FAN_IN = "fan-in"
    FAN_OUT = "fan-out"
    KEYS = "compatible keys"
    FORWARDING = "forwarded keys"
    FUSION = "fusion dependency"
    MARKERS = "window markers"
    FEEDBACK = "feedback"
    WIDTH = "width"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A safety condition that fails.

    Attributes:
        condition: Which one.
        text: What is in the way, as a sentence about the operator (`it ...`) that its author can act on.
    """

    condition: Condition
    text: str

    def __str__(self) -> str:
        return f"{self.condition.value}: {self.text}"


def listing(names: list[str] | tuple[str, ...]) -> str:
    """Names in a sentence.

    Example:
        >>> listing(["a", "b", "c"])
        '`a`, `b` and `c`'
    """
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else "nothing"


def key_text(key: frozenset[str]) -> str:
    """A key as the paper writes it.

    Example:
        >>> key_text(frozenset({"sym", "id"}))
        '{id, sym}'
    """
    return "{" + ", ".join(sorted(key)) + "}"
