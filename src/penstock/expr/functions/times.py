"""Functions over timestamps.

A timestamp counts nanoseconds since 1970 in UTC. The zone that functions without a zone argument use is UTC everywhere,
so that a program gives the same answer on every machine. The present is the application's clock.

For the functions of event time, the last ones, the compiler puts attributes in their place (`lang.expand.event_time`);
a call that is left stands where there is no event time, and is refused there.
"""

from __future__ import annotations

from decimal import Decimal, Overflow
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.emit.numbers import NANOSECONDS as SECOND_NS
from penstock.expr.emit.numbers import checked
from penstock.expr.environment import Environment
from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function
from penstock.expr.values.numbers import DECIMAL_CONTEXTS


@function("timestamp createTimestamp(int64 seconds, uint32 nanoseconds)")
def create_timestamp(seconds: int, nanoseconds: int) -> int:
    """The timestamp so long after 1970."""
    return checked(seconds * SECOND_NS + nanoseconds)


@function("timestamp createTimestamp(int64 seconds, uint32 nanoseconds, int32 machine)")
def create_timestamp_on(seconds: int, nanoseconds: int, machine: int) -> int:
    """The timestamp so long after 1970; the machine is not kept."""
    return create_timestamp(seconds, nanoseconds)


def _seconds_vector(time: Any) -> object:
    if not isinstance(time, pa.Array):
        return NotImplemented
    return pa.array(np.floor_divide(time.to_numpy(), SECOND_NS))


def _nanoseconds_vector(time: Any) -> object:
    if not isinstance(time, pa.Array):
        return NotImplemented
    return pa.array(np.mod(time.to_numpy(), SECOND_NS).astype(np.uint32))


@function("int64 getSeconds(timestamp time)", vector=_seconds_vector)
def get_seconds(time: int) -> int:
    """The whole seconds since 1970."""
    return time // SECOND_NS


@function("uint32 getNanoseconds(timestamp time)", vector=_nanoseconds_vector)
def get_nanoseconds(time: int) -> int:
    """The nanoseconds since the last whole second."""
    return time % SECOND_NS


@function("int32 getMachineId(timestamp time)")
def get_machine_id(time: int) -> int:
    """The machine that took the time: always 0."""
    return 0


@function("stateful timestamp getTimestamp()", needs_environment=True)
def get_timestamp(environment: Environment) -> int:
    """The present."""
    return environment.clock.now_ns


@function("stateful float64 getTimestampInSecs()", needs_environment=True)
def get_timestamp_in_seconds(environment: Environment) -> float:
    """The present, in seconds since 1970."""
    return environment.clock.now_ns / SECOND_NS


@function("stateful int64 getCPUCounterInNanoSeconds()", needs_environment=True)
def get_cpu_counter(environment: Environment) -> int:
    """The reading of a counter of nanoseconds: the application's clock."""
    return environment.clock.now_ns


@function("timestamp add(timestamp time, int64 nanoseconds)")
def add_nanoseconds(time: int, nanoseconds: int) -> int:
    """A time so many nanoseconds later."""
    return checked(time + nanoseconds)


@function("timestamp add(timestamp time, float64 seconds)")
def add_seconds(time: int, seconds: float) -> int:
    """A time so many seconds later."""
    if seconds - seconds != 0:
        raise EvaluationError(f"add of {seconds} seconds to a timestamp")
    return checked(time + round(seconds * SECOND_NS))


@function("timestamp subtract(timestamp time, float64 seconds)")
def subtract_seconds(time: int, seconds: float) -> int:
    """A time so many seconds earlier."""
    return add_seconds(time, -seconds)


@function("int64 diffAsNanos(timestamp later, timestamp earlier)")
def difference_in_nanoseconds(later: int, earlier: int) -> int:
    """The nanoseconds from one time to another."""
    return checked(later - earlier)


def _difference_vector(later: Any, earlier: Any) -> object:
    if not isinstance(later, pa.Array):
        return NotImplemented
    try:
        nanoseconds = pc.subtract_checked(later, earlier)
    except pa.ArrowInvalid:
        return NotImplemented
    return pc.divide(pc.cast(nanoseconds, pa.float64(), safe=False), float(SECOND_NS))


@function("float64 diffAsSecs(timestamp later, timestamp earlier)", vector=_difference_vector)
def difference_in_seconds(later: int, earlier: int) -> float:
    """The seconds from one time to another."""
    return float(later - earlier) / SECOND_NS


@function("decimal128 toDecimal128(timestamp time)")
def to_decimal(time: int) -> Decimal:
    """The seconds since 1970, exactly."""
    return Decimal(time).scaleb(-9, DECIMAL_CONTEXTS["decimal128"])


@function("timestamp fromDecimal128(decimal128 seconds)")
def from_decimal(seconds: Decimal) -> int:
    """The timestamp so many seconds after 1970."""
    try:
        return checked(int(seconds.scaleb(9, DECIMAL_CONTEXTS["decimal128"])))
    except (ValueError, Overflow, OverflowError) as error:
        raise EvaluationError(f"timestamp out of range: {seconds} s since 1970") from error


_RESOLUTION = "enum{Milliseconds, Microseconds, Nanoseconds}"
_TICK_NS = {"Milliseconds": 1_000_000, "Microseconds": 1_000, "Nanoseconds": 1}


@function(
    f"timestamp toTimestamp(int64 ticks, {_RESOLUTION} resolution)",
    f"timestamp toTimestamp(uint64 ticks, {_RESOLUTION} resolution)",
)
def from_ticks(ticks: int, resolution: str) -> int:
    """The timestamp so many ticks after 1970."""
    return checked(ticks * _TICK_NS[resolution])


@function(f"int64 int64TicksFromTimestamp(timestamp time, {_RESOLUTION} resolution)")
def to_ticks(time: int, resolution: str) -> int:
    """The whole ticks since 1970."""
    return time // _TICK_NS[resolution]


@function(f"uint64 uint64TicksFromTimestamp(timestamp time, {_RESOLUTION} resolution)")
def to_unsigned_ticks(time: int, resolution: str) -> int:
    """The whole ticks since 1970; a time before that is an error."""
    if time < 0:
        raise EvaluationError(f"{time} ns since 1970 is before 1970")
    return to_ticks(time, resolution)


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
