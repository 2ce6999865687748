"""The event time of a tuple in nanoseconds since 1970, read from an attribute or an expression."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.ir.expressions import Expression
from penstock.ir.graph import Operator
from penstock.ir.types import TIMESTAMP, Schema, Type, is_float, is_integer
from penstock.toolkit.core.definition import ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import symbol

RESOLUTIONS = {"Seconds": 1_000_000_000, "Milliseconds": 1_000_000, "Microseconds": 1_000, "Nanoseconds": 1}
"""The nanoseconds of a unit in which an integer counts time."""

MOST_NS = 2**62
"""An event time beyond this, some 146 years from 1970, is refused: sums with the size of a window must not overflow."""

RESOLUTION = ParamSpec(
    name="resolution",
    kind=ParamKind.SYMBOLS,
    symbols=tuple(RESOLUTIONS),
    doc="The unit of a time that is an integer.",
)


def read_times(operator: Operator, type_: Type) -> Callable[[Any], int]:
    """The function that turns a value of a type into nanoseconds since 1970.

    Example:
        >>> from penstock.ir.types import FLOAT64
        >>> from penstock.ir.graph import Operator
        >>> read_times(Operator(id="T", kind="EventOrder"), FLOAT64)(1.5)
        1500000000
    """
    if type_ == TIMESTAMP:
        return _checked
    if is_float(type_):
        return _seconds_ns
    unit = unit_ns(operator, type_)
    return lambda value: _checked(value * unit)


def unit_ns(operator: Operator, type_: Type) -> int:
    """The nanoseconds of the unit in which times of a type are counted."""
    return RESOLUTIONS[symbol(operator, "resolution", "Seconds")] if is_integer(type_) else 1


def attribute_types(schema: Schema) -> tuple[Type, ...]:
    """The types of the attributes of a schema."""
    return tuple(a.type for a in schema.attributes)


def _seconds_ns(value: float) -> int:
    if not math.isfinite(value):
        raise UserError(f"{value} is not an event time")
    # Whole seconds apart: their product with 1e9 would be rounded to some 200 ns in our time.
    whole = math.floor(value)
    return _checked(whole * 1_000_000_000 + round((value - whole) * 1e9))


def _checked(time_ns: int) -> int:
    if not -MOST_NS < time_ns < MOST_NS:
        raise UserError(f"the event time {time_ns} ns lies more than 146 years from 1970")
    return time_ns


def check_times(operator: Operator, times: dict[str, Expression | None], found: Diagnostics) -> None:
    """Report times that are none, and integers whose unit is not said."""
    needs_unit = False
    for name, value in times.items():
        if value is None:
            continue
        if is_integer(value.type):
            needs_unit = True
        elif value.type != TIMESTAMP and not is_float(value.type):
            message = f"`{name}` must be a timestamp, a float of seconds or an integer, found {value.type}"
            found.error(message, value.span or operator.span)
    if needs_unit and not operator.param("resolution"):
        found.error(
            "the event time is an integer, and its unit is not said",
            operator.span,
            hint="add `resolution: Milliseconds`, Seconds, Microseconds or Nanoseconds",
        )
