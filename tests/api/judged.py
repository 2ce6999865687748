"""The table of operators that the inference is tried on: each says itself what is the best that may be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.ir.types import parse_schema

INPUT = parse_schema("rstring sym, rstring alt, int64 n, float64 price, list<int64> xs, set<rstring> marks")
OUTPUT = parse_schema("rstring sym, float64 out")

TABLE: list[Judged] = []


@dataclass(frozen=True)
class Judged:
    """An operator and the best that may be said of it: `key` is None for unknown, empty for stateless."""

    operator: Any
    role: str
    key: frozenset[str] | None
    is_harmless: bool = False

    def __str__(self) -> str:
        return self.operator.__name__


def _judged(key: str | None, *, role: str = "", harmless: bool = False) -> Callable[[Any], Any]:
    names = None if key is None else frozenset(key.split())

    def note(operator: Any) -> Any:
        used = role or ("process" if isinstance(operator, type) else "map")
        TABLE.append(Judged(operator, used, names, harmless))
        return operator

    return note


unknown = _judged(None)
unknown_filter = _judged(None, role="filter")
unknown_flat_map = _judged(None, role="flat map")
at_best_stateless = _judged("")
stateless = _judged("", harmless=True)
stateless_filter = _judged("", role="filter", harmless=True)
stateless_flat_map = _judged("", role="flat map", harmless=True)


def at_best(key: str) -> Callable[[Any], Any]:
    """An operator that is tricky, and partitioned by nothing more than this key."""
    return _judged(key)


def keyed(key: str) -> Callable[[Any], Any]:
    """An ordinary operator with state by this key, which must be seen."""
    return _judged(key, harmless=True)
