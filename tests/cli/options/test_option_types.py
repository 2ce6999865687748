"""`--channels`: what it takes."""

from __future__ import annotations

import click
import pytest

from penstock.cli.options.option_types import ChannelsType


def test_channels_are_a_positive_number_or_auto():
    read = ChannelsType()
    assert [read.convert(text, None, None) for text in ("3", "auto")] == [3, "auto"]
    for wrong in ("0", "-1", "many"):
        with pytest.raises(click.BadParameter, match="neither a positive number nor `auto`"):
            read.convert(wrong, None, None)
