"""Durations as people write them."""

from __future__ import annotations

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.durations import read_seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("100 ms", 0.1), ("2h", 7200.0), ("1.5 minutes", 90.0), ("-3 s", -3.0), ("1 ns", 1e-9)]
)
def test_units_are_those_of_spark_and_polars(text, seconds):
    assert read_seconds(text) == seconds


@pytest.mark.parametrize("wrong", ["", "5", "5 parsecs", "s", None, True, float("nan"), float("inf"), "5 s 3"])
def test_what_is_no_duration_is_refused(wrong):
    with pytest.raises(UserError, match="a duration is a number of seconds"):
        read_seconds(wrong)
