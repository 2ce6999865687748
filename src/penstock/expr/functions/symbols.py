"""The enumerations and types that SPL declares in `Sys`, `Log` and `Trace`.

Example:
    >>> symbol_type("Sys.WindowMarker")
    EnumType(symbols=('WindowMarker', 'FinalMarker'))
    >>> symbol_type("Trace.debug") == SYSTEM_TYPES["Trace.Level"]
    True
"""

from __future__ import annotations

from penstock.expr.functions.calendar import TIMESTAMP_FORMAT, TM
from penstock.ir.types import EnumType, Type, parse_type

SYSTEM_TYPES: dict[str, Type] = {
    "Sys.Punctuation": parse_type("enum{WindowMarker, FinalMarker}"),
    "Sys.LogLevel": parse_type("enum{error, info, debug, trace}"),
    "Sys.Kind": parse_type("enum{Gauge, Counter, Time}"),
    "Sys.TimestampFormat": parse_type(TIMESTAMP_FORMAT),
    "Sys.CongestionPolicy": parse_type("enum{Wait, DropFirst, DropLast}"),
    "Sys.Resolution": parse_type("enum{Milliseconds, Microseconds, Nanoseconds}"),
    "Sys.tm": parse_type(TM),
    "Sys.PoolSharingMode": parse_type("enum{Shared, Exclusive}"),
    "Sys.PaneTiming": parse_type("enum{paneEarly, paneOnComplete, paneLate}"),
    "Sys.PartitionEvictionKind": parse_type("enum{PartitionAge, PartitionCount, TupleCount}"),
    "Sys.PartitionEvictionSelection": parse_type("enum{LRU}"),
    "Log.Level": parse_type("enum{error, warn, info}"),
    "Trace.Level": parse_type("enum{error, warn, info, debug, trace}"),
}
"""From the name of a type, as SPL writes it, to the type."""


def symbol_type(name: str) -> EnumType | None:
    """The enumeration that a symbol such as `Sys.Counter` or `Log.error` belongs to, if there is one.

    Example:
        >>> symbol_type("Sys.red") is None
        True
    """
    scope, _, symbol = name.partition(".")
    for type_name, type_ in SYSTEM_TYPES.items():
        if type_name.startswith(f"{scope}.") and isinstance(type_, EnumType) and symbol in type_.symbols:
            return type_
    return None
