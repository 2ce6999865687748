"""ReplayableStart: passes everything on.

In SPL it stands between a source that cannot be replayed and a consistent region. Here every job is consistent as a
whole, and what a source has read is kept until every sink has it, so there is nothing left to do: it is a Filter
without a condition.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.ir.facts import Facts, Reads
from penstock.toolkit.relational import filter


class ReplayableStartRuntime(filter.FilterRuntime):
    """Passes on tuples and markers."""


DEFINITION = replace(
    filter.DEFINITION,
    name="ReplayableStart",
    doc="Passes everything on: every source is replayed after a crash.",
    outputs=(1, 1),
    params=(),
    facts=Facts(reads=Reads.AND_PASSES_ON, is_repeatable=True),
    runtime=ReplayableStartRuntime,
)
