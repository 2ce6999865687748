"""Key groups, and the table that tells the channel of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.base.diagnostics import UserError
from penstock.parallel.key_groups import KEY_GROUPS, check_table, spread_evenly


@given(st.integers(1, 2000), st.data())
def test_every_channel_holds_as_many_groups_as_the_others_or_one_more(groups, data):
    channels = data.draw(st.integers(1, groups))
    table = spread_evenly(groups, channels)
    held = [table.count(channel) for channel in range(channels)]
    assert len(table) == groups == sum(held)
    assert max(held) - min(held) <= 1
    assert list(table) == sorted(table)


def test_common_numbers_of_channels_hold_equally_many_groups():
    for channels in (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16, 18, 20, 24, 30, 36, 40, 48, 60, 72, 80, 90):
        assert {spread_evenly(KEY_GROUPS, channels).count(c) for c in range(channels)} == {KEY_GROUPS // channels}


def test_more_channels_than_groups_are_refused():
    with pytest.raises(UserError, match="721 channels cannot share 720 key groups"):
        spread_evenly(KEY_GROUPS, 721)


def test_a_table_may_be_any_and_channels_may_hold_nothing():
    assert check_table([3, 0, 3], 3, 4) == (3, 0, 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([0, 1], "names the channel of each of 3 key groups, found 2"),
        ([0, 2, 1], "key group 1 goes to channel 2, and there are channels 0 to 1"),
        ([0, True, 1], "key group 1 goes to channel True"),
        ([0, "1", 1], "key group 1 goes to channel '1'"),
        ([-1, 0, 0], "key group 0 goes to channel -1"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    with pytest.raises(UserError, match=message):
        check_table(table, 3, 2)
