"""Durations as people write them: `"30 minutes"`, `"5 s"`, a number of seconds, a `timedelta`."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from penstock.base.diagnostics import UserError

_UNITS = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("week", "weeks"), 604800.0),
}
_WRITTEN = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.ASCII)


def read_seconds(duration: object) -> float:
    """The seconds of a duration.

    Raises:
        UserError: It is none.

    Example:
        >>> read_seconds("30 minutes"), read_seconds("-500 ms"), read_seconds(timedelta(hours=1)), read_seconds(5)
        (1800.0, -0.5, 3600.0, 5.0)
    """
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if isinstance(duration, int | float) and not isinstance(duration, bool) and math.isfinite(duration):
        return float(duration)
    if isinstance(duration, str) and (found := _WRITTEN.fullmatch(duration)) and found[2] in _UNITS:
        # Of a unit below a second the nearest number is that of the quotient: 0.1 is 100 / 1000, and not 100 * 0.001.
        number, unit = float(found[1]), _UNITS[found[2]]
        return number * unit if unit >= 1 else number / round(1 / unit)
    message = f"a duration is a number of seconds, a timedelta or text, found {duration!r}"
    raise UserError(message, hint='write 5, "30 s", "10 minutes", "1 hour" or "500 ms"')
