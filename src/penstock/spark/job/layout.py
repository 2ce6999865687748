"""How the rows of a job lie in Spark's partitions, and how those of a channel are brought together."""

from __future__ import annotations

from enum import Enum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark.sql.functions as F

from penstock.codegen.plan.physical import PE, Edge, PhysicalPlan, Route
from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.spark.workers.state_mark import StateMark
from penstock.spark.workers.stateful_door import stateful_door

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Layout(Enum):
    """How rows lie in partitions: as sources give them, all in one, by channel, or anyhow in several."""

    SOURCES = "as the sources give them"
    ONE = "in one partition"
    BY_CHANNEL = "by channel"
    SPREAD = "in several partitions"


def _stays(edge: Edge, plan: PhysicalPlan, reads_for_channels: bool) -> bool:
    """Whether the tuples of an edge are with their channel as they leave."""
    from_source = reads_for_channels and plan.pes[edge.producer].role == "source"
    return edge.route is Route.SAME or (edge.route is Route.TURNS and from_source)


def lay_out(
    pe: PE, frame: DataFrame, layout: Layout, plan: PhysicalPlan, reads_for_channels: bool = False
) -> tuple[DataFrame, Layout]:
    """Bring the rows of each channel of a PE together.

    Args:
        pe: The PE.
        frame: What comes.
        layout: Of the rows that come.
        plan: Of the job.
        reads_for_channels: Whether tasks of the source read for the channels.
    """
    if pe.channels == 1:
        if plan.channels == 1 or layout in (Layout.SOURCES, Layout.ONE):
            return frame.coalesce(1), Layout.ONE
        # Not `coalesce`, which would let one task do the work of all channels.
        return frame.repartition(1), Layout.ONE
    if layout is Layout.BY_CHANNEL and all(_stays(edge, plan, reads_for_channels) for edge in plan.into(pe.index)):
        return frame, layout
    return frame.repartitionById(plan.channels, F.col("channel")), Layout.BY_CHANNEL


def run_with_state(
    pe: PE,
    frame: DataFrame,
    plan: PhysicalPlan,
    program: str,
    initial: Path | None = None,
    large: str | None = None,
    limit: int | None = None,
    mark: StateMark | None = None,
    *,
    metered: bool = False,
) -> DataFrame:
    """Let a stateful PE take the rows, with its state in Spark's store.

    Args:
        pe: The PE.
        frame: What comes.
        plan: Of the job.
        program: Its address.
        initial: The folder with the state that channels begin with, where it is not an empty one.
        large: Where rows go that are too many to be sent to the driver, if they are for it.
        limit: How many bytes of state a channel may hold.
        mark: What the state must have been written under, where no checkpoint of ours says it.
        metered: Whether each task tells what it has sent.
    """
    # Spark places groups by the hash of their key, so each channel has a key that is hashed to a partition of its own.
    keys = F.array(*(F.lit(key) for key in channel_keys(plan.channels)))
    grouped = frame.withColumn("slot", keys[F.col("channel")]).groupBy("slot")
    processor = stateful_door(program, plan, pe.index, initial, large, limit, mark, metered=metered)
    return grouped.transformWithStateInPandas(processor, SPARK_SCHEMA, "Append", "None")


def channel_keys(channels: int) -> list[int]:
    """For each channel an integer that Spark's hash partitioning sends to the partition of that number.

    Example:
        >>> channel_keys(2)
        [2, 0]
    """
    found: dict[int, int] = {}
    for key in count():
        found.setdefault(murmur3(key) % channels, key)
        if len(found) == channels:
            return [found[channel] for channel in range(channels)]
    raise AssertionError


def murmur3(key: int) -> int:
    """Spark's hash of a 32-bit integer: MurmurHash3 with seed 42, as a signed number.

    Example:
        >>> murmur3(0), murmur3(1)
        (933211791, -559580957)
    """
    mask = 0xFFFFFFFF
    word = key * 0xCC9E2D51 & mask
    word = (word << 15 | word >> 17) & mask
    found = 42 ^ (word * 0x1B873593 & mask)
    found = (found << 13 | found >> 19) & mask
    found = (found * 5 + 0xE6546B64 & mask) ^ 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        found = (found ^ found >> shift) * factor & mask
    return found - (1 << 32) if found >> 31 else found
