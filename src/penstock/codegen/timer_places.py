"""The places of timers in the sequential order, as bytes that sort as the timers fire; see `spark.placed_timers`.

Example:
    >>> ticket = ticket_at(5, 0, b"\\0\\0\\0\\1", 0)
    >>> firing_path(0, 3, ticket) < firing_path(0, 4, ticket) < firing_path(1, 3, ticket)
    True
    >>> wave_and_rank(firing_path(1, 3, ticket)), wave_and_rank(b"\\0\\0\\0\\1")
    ((1, 3), (0, 0))
"""

from __future__ import annotations

import struct

AFTER_TIMERS = -1
"""The number of what a timer makes that was asked for earlier: before the items of the sources at the same time."""

FIRST_WAVE = 0xFF00_0000
"""Greater than any step of a path."""

_HEAD = 8


def ticket_at(time_ns: int, number: int, path: bytes, asked: int) -> bytes:
    """The ticket of a call that is asked for at a place where some have been asked for already."""
    return struct.pack(">QQ", time_ns, number + 1) + path + asked.to_bytes(4)


def firing_path(wave: int, rank: int, ticket: bytes) -> bytes:
    """The path of what a timer makes."""
    return firing_head(wave, rank) + ticket


def firing_head(wave: int, rank: int) -> bytes:
    """What the paths begin with of all that the timers of an operator make."""
    return struct.pack(">II", FIRST_WAVE + wave, rank)


def wave_and_rank(path: bytes) -> tuple[int, int]:
    """The wave and the rank of the timer that made an item; zeros for one that no timer has made at its time."""
    if path[:1] != b"\xff":
        return 0, 0
    wave, rank = struct.unpack(">II", path[:_HEAD])
    return wave - FIRST_WAVE, rank
