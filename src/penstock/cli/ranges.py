"""Kinds of numbers that options take."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A number within limits. Unlike `click.FloatRange` it refuses `nan`, which is below no limit and above none.

    Example:
        >>> Number(min=0).convert("2.5", None, None)
        2.5
        >>> Number(min=0).convert("nan", None, None)
        Traceback (most recent call last):
        click.exceptions.BadParameter: 'nan' is not a number.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number in a text."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number
