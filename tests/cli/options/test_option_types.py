"""`--channels`, `--reschedule` and sizes: what they take."""

from __future__ import annotations

import click
import pytest

from penstock.cli.options.option_types import ChannelsType, RescheduleType, SizeType


def test_channels_are_a_positive_number_or_auto():
    read = ChannelsType()
    assert [read.convert(text, None, None) for text in ("3", "auto")] == [3, "auto"]
    for wrong in ("0", "-1", "many"):
        with pytest.raises(click.BadParameter, match="neither a positive number nor `auto`"):
            read.convert(wrong, None, None)


def test_a_job_is_rescheduled_every_so_many_seconds_or_never():
    read = RescheduleType()
    assert [read.convert(given, None, None) for given in ("0.5", "60", "never", None)] == [0.5, 60.0, None, None]
    for wrong in ("0", "-1", "nan", "inf", "often"):
        with pytest.raises(click.BadParameter, match="neither a number of seconds above 0 nor `never`"):
            read.convert(wrong, None, None)


def test_a_size_is_a_number_of_bytes_with_or_without_a_unit():
    read = SizeType()
    texts = ("1", "10B", "2KiB", "2k", "1.5 MiB", "3GB", "1TiB")
    wanted = [1, 10, 2048, 2048, 3 << 19, 3 << 30, 1 << 40]
    assert [read.convert(text, None, None) for text in texts] == wanted
    for wrong in ("0", "-1", "1e9", "MiB", "2 PiB", "1.5.5", "nan", "", "9" * 400):
        with pytest.raises(click.BadParameter, match="is no size; write a number of bytes"):
            read.convert(wrong, None, None)
