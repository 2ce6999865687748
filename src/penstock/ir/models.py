"""Operator models: what the compiler may assume of an operator, in the vocabulary of the auto-parallelization paper.

The three flags of section 3.2; the default of each is unknown. What is unknown is never parallelized.

Example:
    >>> OperatorModel().is_parallelizable
    False
    >>> OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE).is_parallelizable
    True
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.ir.facts import NO_FACTS, Facts


class State(Enum):
    """The kind of state that an operator keeps between tuples."""

    STATELESS = "stateless"
    PARTITIONED = "partitioned"
    UNKNOWN = "unknown"


class Selectivity(Enum):
    """How many tuples leave for one that comes in; `NO_PARAM_FILTER` is one, or at most one if a filter is given."""

    EXACTLY_ONE = "exactly one"
    NO_PARAM_FILTER = "no param filter"
    AT_MOST_ONE = "at most one"
    UNKNOWN = "unknown"


class Forwarding(Enum):
    """Which attributes are copied unchanged.

    `ALWAYS`: all that the invocation does not change or drop; `FUNCTION_ANY`: those that it passes through `Any`
    (or another output function that picks a value of the partition's key).
    """

    ALWAYS = "always"
    FUNCTION_ANY = "function any"
    UNKNOWN = "unknown"


class Markers(Enum):
    """Which window markers leave an operator: those of its input, and perhaps its own; only its own; or none."""

    PASSED_ON = "passed on"
    OWN = "its own"
    NONE = "none"


class Flag(Enum):
    """The flags of a model that need a reason where they are unknown."""

    STATE = "state"
    SELECTIVITY = "selectivity"


@dataclass(frozen=True, slots=True)
class Why:
    """Why a flag of a model is unknown.

    Attributes:
        flag: Which one.
        text: A sentence about the operator (`it ...`) that its author can act on.

    Example:
        >>> print(Why(Flag.STATE, "it prints"))
        state: it prints
    """

    flag: Flag
    text: str

    def __str__(self) -> str:
        return f"{self.flag.value}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorModel:
    """The model of one operator instance.

    Attributes:
        state: Stateless, partitioned, or unknown.
        partition_by: The key attributes when partitioned: for each input port, a set of attribute names.
        selectivity: Tuples out for one tuple in, over all output ports.
        forwarding: How to tell which attributes are copied.
        forwards: The attributes that are known to be copied unchanged from the first input port to every output.
        side_effects: Whether the operator does more than submit tuples (writes a file, calls out).
        spontaneous: Whether it may submit a tuple while none comes in: on a timer, or at the end of its input.
        markers: Which window markers leave it.
        waits_for_markers: Whether what it does depends on the window markers of its input.
        why: The reasons for each flag that is unknown.
        facts: Those of its definition.

    Example:
        >>> OperatorModel(state=State.PARTITIONED, partition_by=(frozenset({"sym"}),)).selectivity
        <Selectivity.UNKNOWN: 'unknown'>
    """

    state: State = State.UNKNOWN
    partition_by: tuple[frozenset[str], ...] = ()
    selectivity: Selectivity = Selectivity.UNKNOWN
    forwarding: Forwarding = Forwarding.UNKNOWN
    forwards: frozenset[str] = frozenset()
    side_effects: bool = False
    spontaneous: bool = False
    markers: Markers = Markers.PASSED_ON
    waits_for_markers: bool = False
    why: tuple[Why, ...] = ()
    facts: Facts = NO_FACTS

    def reasons(self, flag: Flag) -> tuple[str, ...]:
        """Why a flag is unknown, in words.

        Example:
            >>> OperatorModel(why=(Why(Flag.STATE, "it prints"), Why(Flag.SELECTIVITY, "it loops"))).reasons(Flag.STATE)
            ('it prints',)
        """
        return tuple(why.text for why in self.why if why.flag is flag)

    @property
    def is_parallelizable(self) -> bool:
        """Whether state and selectivity allow an instance of its own on every channel (section 3.1).

        Example:
            >>> OperatorModel(state=State.STATELESS).is_parallelizable
            False
        """
        return self.state is not State.UNKNOWN and self.selectivity is not Selectivity.UNKNOWN


UNKNOWN_MODEL = OperatorModel()
