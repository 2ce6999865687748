"""Functions that ask for the event time of a tuple, and for the window by event time that is being computed.

In a program the compiler puts attributes in the place of these calls (`lang.expand.event_time`); one that is left
stands where there is no event time, and is refused there.
"""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function


@function("<tuple T> timestamp getEventTime(T tuple)")
def find_event_time(tuple_: Any) -> NoReturn:
    """The event time of a tuple: the attribute that `@eventTime` names."""
    raise EvaluationError("the tuple has no event time")


@function("stateful timestamp intervalStart()")
def find_start() -> NoReturn:
    """The start of the interval that an output tuple is made of."""
    raise EvaluationError("there is no interval here")


@function("stateful timestamp intervalEnd()")
def find_end() -> NoReturn:
    """The end of the interval that an output tuple is made of."""
    raise EvaluationError("there is no interval here")


@function("stateful uint64 paneIndex()")
def find_index() -> NoReturn:
    """How often a tuple has been made of this interval before."""
    raise EvaluationError("there is no interval here")


@function("stateful enum{paneEarly, paneOnComplete, paneLate} paneTiming()")
def find_timing() -> NoReturn:
    """Whether the interval is complete for the first time, or tuples came for it later."""
    raise EvaluationError("there is no interval here")
