"""Key groups: the fixed parts that the keys of a job are divided into, and the channel that holds each.

Introduction:
    State belongs to an operator and a key group, never to a PE or a channel. The number of groups is chosen when a job
    is first started and stays; which channel holds a group may change. So other channels mean that groups move, and no
    key is ever found in two places.

Formulation:
    group = the upper half of the key's code (`routing`), scaled to the number of groups; channel = table[group].
    The table may be any: a plan holds it (`Channels.tables`), and `spread_evenly` is the one that is used unless
    somebody knows better (`compiler.Options.tables`, `penstock rescale --tables`).

Example:
    >>> spread_evenly(6, 4)
    (0, 0, 1, 2, 2, 3)

When it does not apply:
    Regions without a key take tuples in turns, and have no table.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.base.diagnostics import UserError

KEY_GROUPS = 720
"""How many groups there are unless a job says otherwise: divisible by all numbers up to 6, by 8, 9, 10, 12, 15, 16."""

Table = tuple[int, ...]
"""For each key group the channel that holds it."""


def spread_evenly(groups: int, channels: int) -> Table:
    """The table that gives each channel a run of neighbouring groups, as many as the others or one more.

    Raises:
        UserError: There are more channels than groups.
    """
    if channels > groups:
        raise UserError(
            f"{channels} channels cannot share {groups} key groups: each channel holds at least one",
            hint="ask for fewer channels, or start a new job with more --key-groups",
        )
    return tuple(group * channels // groups for group in range(groups))


def check_table(table: Sequence[int], groups: int, channels: int) -> Table:
    """The table, if it names a channel for each key group; it may be any, and a channel may hold no group.

    Args:
        table: For each key group its channel.
        groups: How many groups there are.
        channels: How many channels there are.

    Raises:
        UserError: It has another length, or names a channel that there is none of.

    Example:
        >>> check_table([1, 0, 1, 1], 4, 2)
        (1, 0, 1, 1)
    """
    if len(table) != groups:
        raise UserError(f"a table names the channel of each of {groups} key groups, found {len(table)} channels")
    for group, channel in enumerate(table):
        if not isinstance(channel, int) or isinstance(channel, bool) or not 0 <= channel < channels:
            raise UserError(
                f"key group {group} goes to channel {channel!r}, and there are channels 0 to {channels - 1}"
            )
    return tuple(table)
