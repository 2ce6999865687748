"""Keys for channels that Spark's hash partitioning sends to different partitions."""

from __future__ import annotations

from itertools import count


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
