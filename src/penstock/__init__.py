"""Penstock: an optimizing compiler, profiler and scheduler for streaming applications.

Example:
    >>> from penstock import App, agg, col
    >>> from penstock import windows as w
    >>> app = App("Averages")
    >>> trades = app.read_csv("trades.csv", "rstring sym, float64 price")
    >>> means = trades.aggregate(w.tumbling(w.count(10)), by="sym", price=agg.avg(col.price)).named("Means")
    >>> means.write_csv("means.csv")
    >>> means
    <Stream Means: rstring sym, float64 price>
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from penstock.base.tracebacks import hide_our_frames

if TYPE_CHECKING:
    from penstock.api import windows as windows
    from penstock.api.application import App as App
    from penstock.api.application import Feedback as Feedback
    from penstock.api.column_words import agg as agg
    from penstock.api.column_words import col as col
    from penstock.api.column_words import fn as fn
    from penstock.api.column_words import lhs as lhs
    from penstock.api.column_words import record as record
    from penstock.api.column_words import rhs as rhs
    from penstock.api.column_words import submission_value as submission_value
    from penstock.api.column_words import when as when
    from penstock.api.keyed.operator import KeyedOperator as KeyedOperator
    from penstock.api.operators import Operator as Operator
    from penstock.api.operators import filter_ as filter_
    from penstock.api.operators import flat_map as flat_map
    from penstock.api.operators import map_ as map_
    from penstock.api.operators import sink as sink
    from penstock.api.operators import source as source
    from penstock.api.outputs import Output as Output
    from penstock.api.sources.partitioned import PartitionedSource as PartitionedSource
    from penstock.api.sources.timed_items import after as after
    from penstock.api.sources.timed_items import at as at
    from penstock.api.sources.timed_lines import TimedLines as TimedLines
    from penstock.api.streams import Stream as Stream
    from penstock.api.windows import count as count
    from penstock.api.windows import delta as delta
    from penstock.api.windows import punct as punct
    from penstock.api.windows import sliding as sliding
    from penstock.api.windows import time as time
    from penstock.api.windows import tumbling as tumbling
    from penstock.base.diagnostics import Infeasible as Infeasible
    from penstock.base.diagnostics import UserError as UserError
    from penstock.ir.models import Forwarding as Forwarding
    from penstock.ir.models import OperatorModel as OperatorModel
    from penstock.ir.models import Selectivity as Selectivity
    from penstock.ir.models import State as State
    from penstock.toolkit.formats import Malformed as Malformed

# Loaded on first use, so that a command that needs none of it starts at once.
_HOMES = {
    "api.application": ("App", "Feedback"),
    "api.column_words": ("agg", "col", "fn", "lhs", "record", "rhs", "submission_value", "when"),
    "api.sources.timed_items": ("after", "at"),
    "api.keyed.operator": ("KeyedOperator",),
    "api.operators": ("Operator", "filter_", "flat_map", "map_", "sink", "source"),
    "api.outputs": ("Output",),
    "api.sources.partitioned": ("PartitionedSource",),
    "api.streams": ("Stream",),
    "api.sources.timed_lines": ("TimedLines",),
    "api.windows": ("count", "delta", "punct", "sliding", "time", "tumbling"),
    "base.diagnostics": ("Infeasible", "UserError"),
    "ir.models": ("Forwarding", "OperatorModel", "Selectivity", "State"),
    "toolkit.formats": ("Malformed",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {"windows": "api.windows"}

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"penstock.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module `penstock` has no attribute `{name}`")
    return getattr(import_module(f"penstock.{_HOME[name]}"), name)


hide_our_frames()
