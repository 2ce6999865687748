"""The places of timers and of feedback in the sequential order, as bytes that sort; see `spark.workers.placed_timers`.

A path is made of groups of four bytes. What follows at once from an item, or from the call of a timer, has steps behind
the path of that cause. What comes round a loop has the mark of its round there, which is greater than any step, and so
comes behind all that the cause has sent at once.

Example:
    >>> ticket = ticket_at(5, 0, b"\\0\\0\\0\\1", 0)
    >>> firing_path(0, 3, ticket) < firing_path(0, 4, ticket) < firing_path(1, 3, ticket)
    True
    >>> wave_and_rank(firing_path(1, 3, ticket)), wave_and_rank(b"\\0\\0\\0\\1")
    ((1, 3), (0, 0))
    >>> made = firing_path(0, 3, ticket) + b"\\0\\0\\0\\1"
    >>> round_path(made, 4, 0) > made, round_path(round_path(made, 4, 0), 4, 0) > round_path(made, 4, 1)
    (True, True)
"""

from __future__ import annotations

import struct

AFTER_TIMERS = -1
"""The number of what a timer makes that was asked for earlier: before the items of the sources at the same time."""

FIRST_WAVE = 0xFF00_0000
"""Greater than any step of a path."""

_HEAD = 8
_GROUP = 4
END_OF_TICKET = b"\xfe\xff\xff\xff"
"""Behind the ticket of a timer, so that it can be told from the steps that follow."""

_FIRST_ROUND = 0xFD00_0000


def ticket_at(time_ns: int, number: int, path: bytes, asked: int) -> bytes:
    """The ticket of a call that is asked for at a place where some have been asked for already."""
    return struct.pack(">QQ", time_ns, number + 1) + path + asked.to_bytes(4)


def firing_path(wave: int, rank: int, ticket: bytes) -> bytes:
    """The path of what a timer makes."""
    return firing_head(wave, rank) + ticket + END_OF_TICKET


def firing_head(wave: int, rank: int) -> bytes:
    """The first bytes of the paths of all items that the timers of an operator make in a wave."""
    return struct.pack(">II", FIRST_WAVE + wave, rank)


def wave_and_rank(path: bytes) -> tuple[int, int]:
    """The wave and the rank of the timer that made an item; zeros for one that no timer has made at its time."""
    if path[:1] != b"\xff":
        return 0, 0
    wave, rank = struct.unpack(">II", path[:_HEAD])
    return wave - FIRST_WAVE, rank


def round_path(path: bytes, rank: int, sent: int) -> bytes:
    """The path of what comes round to an operator, if it was sent at a path where some were sent already."""
    cause, round_ = _cause_and_round(path)
    return cause + struct.pack(">III", _FIRST_ROUND + round_ + 1, rank, sent)


def is_round(path: bytes) -> bool:
    """Whether something comes round at a path."""
    return path[-3 * _GROUP :][:1] == b"\xfd"


def _cause_and_round(path: bytes) -> tuple[bytes, int]:
    """The path of the item or timer that something follows from, and the number of rounds since."""
    round_ = 0
    for end in range(len(path), 0, -_GROUP):
        group = path[end - _GROUP : end]
        if group == END_OF_TICKET:
            return path[:end], round_
        if group[0] == 0xFD:
            round_ = int.from_bytes(group) - _FIRST_ROUND
    return b"", round_
