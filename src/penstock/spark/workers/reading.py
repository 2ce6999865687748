"""A task that reads a source and runs the PE behind it in the same process (`spark.sources.reading_pe` says which)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.spark.sinks.large_results import spill_large
from penstock.spark.sources.data_source import load_plan, read_beside
from penstock.spark.workers.instances import stateless_pe

if TYPE_CHECKING:
    import pyarrow as pa


def read_and_process(
    program: str, part: dict[str, Any], pe: int, *, follows: bool, large: str | None = None, metered: bool = False
) -> Iterator[pa.RecordBatch]:
    """What leaves a PE for a part of a batch, and what the source sends to others.

    Args:
        program: The path of the pickled program.
        part: What to read, for one channel.
        pe: The index of the PE.
        follows: Whether the run goes on for ever.
        large: The folder for rows that are too many to be sent, if they go to the driver.
        metered: Whether the task tells what the PE has sent.
    """
    plan = load_plan(program)
    (mine,) = (edge.index for edge in plan.into(pe))
    process = stateless_pe(program, plan, pe, metered=metered)
    left = process(read_beside(program, part, mine, follows=follows))
    return left if large is None else spill_large(left, large)
