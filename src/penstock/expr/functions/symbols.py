"""The enumerations and types that SPL declares in `Sys`, `Log` and `Trace`.

Example:
    >>> symbol_type("Sys.WindowMarker")
    EnumType(symbols=('WindowMarker', 'FinalMarker'))
    >>> symbol_type("Trace.debug") == SYSTEM_TYPES["Trace.Level"]
    True
"""

from __future__ import annotations

from penstock.expr.functions.calendar import TIMESTAMP_FORMAT, TM
from penstock.ir.system_enumerations import SYSTEM_ENUMERATIONS
from penstock.ir.types import EnumType, Type, parse_type

_CONNECTION = "tuple<int64 pe, int64 port, uint8 congestionFactor, uint64 nTuplesFilteredOut>"

SYSTEM_TYPES: dict[str, Type] = {
    **SYSTEM_ENUMERATIONS,
    "Sys.TimestampFormat": parse_type(TIMESTAMP_FORMAT),
    "Sys.tm": parse_type(TM),
    "Sys.PEConnection": parse_type(_CONNECTION),
    "Sys.PEConnections": parse_type(f"list<{_CONNECTION}>"),
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
