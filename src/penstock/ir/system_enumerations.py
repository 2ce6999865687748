"""The enumerations that SPL declares in `Sys`, `Log` and `Trace`, by their names."""

from __future__ import annotations

from penstock.ir.types import Type, parse_type

INPUT_PORT_METRICS = (
    "nTuplesProcessed, nTuplesDropped, nTuplesQueued, nWindowPunctsProcessed, nFinalPunctsProcessed, "
    "nWindowPunctsQueued, nFinalPunctsQueued, queueSize, maxItemsQueued, recentMaxItemsQueued, "
    "recentMaxItemsQueuedInterval, nEnqueueWaits"
)
OUTPUT_PORT_METRICS = "nTuplesSubmitted, nWindowPunctsSubmitted, nFinalPunctsSubmitted"

SYSTEM_ENUMERATIONS: dict[str, Type] = {
    "Sys.Punctuation": parse_type("enum{WindowMarker, FinalMarker}"),
    "Sys.LogLevel": parse_type("enum{error, info, debug, trace}"),
    "Sys.Kind": parse_type("enum{Gauge, Counter, Time}"),
    "Sys.CongestionPolicy": parse_type("enum{Wait, DropFirst, DropLast}"),
    "Sys.Resolution": parse_type("enum{Milliseconds, Microseconds, Nanoseconds}"),
    "Sys.PoolSharingMode": parse_type("enum{Shared, Exclusive}"),
    "Sys.PaneTiming": parse_type("enum{paneEarly, paneOnComplete, paneLate}"),
    "Sys.PartitionEvictionKind": parse_type("enum{PartitionAge, PartitionCount, TupleCount}"),
    "Sys.PartitionEvictionSelection": parse_type("enum{LRU}"),
    "Sys.OperatorInputPortMetricName": parse_type(f"enum{{{INPUT_PORT_METRICS}}}"),
    "Sys.OperatorOutputPortMetricName": parse_type(f"enum{{{OUTPUT_PORT_METRICS}}}"),
    "Log.Level": parse_type("enum{error, warn, info}"),
    "Trace.Level": parse_type("enum{error, warn, info, debug, trace}"),
}


def scope_of(type_: Type) -> str | None:
    """The scope by which the symbols of an enumeration are named, if SPL declares it.

    Example:
        >>> scope_of(parse_type("enum{Shared, Exclusive}")), scope_of(parse_type("enum{red}"))
        ('Sys', None)
    """
    return next((name.partition(".")[0] for name, found in SYSTEM_ENUMERATIONS.items() if found == type_), None)
