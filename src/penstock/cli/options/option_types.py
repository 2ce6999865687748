"""Types of options: numbers, folders and channels."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click

from penstock.base.local_paths import local_path
from penstock.compiler.fusion_names import AUTO


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


class LocalFolder(click.Path):
    """A path or a `file:` URI; other URIs are refused by their name."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        name = param.opts[0] if param is not None else "the folder"
        return super().convert(local_path(str(value), name), param, ctx)


class ChannelsType(click.ParamType[int | str]):
    """A positive number, or `auto`."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Read it."""
        if value == AUTO or (isinstance(value, int) and value > 0):
            return str(value) if value == AUTO else int(value)
        if isinstance(value, str) and value.isdecimal() and int(value) > 0:
            return int(value)
        self.fail(f"`{value}` is neither a positive number nor `auto`", param, ctx)


class RescheduleType(click.ParamType[float]):
    """A number of seconds above 0, or `never`, which is None.

    Example:
        >>> RescheduleType().convert("30", None, None), RescheduleType().convert("never", None, None)
        (30.0, None)
    """

    name = "SECONDS|never"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        if value in (None, "never"):
            return None
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < math.inf:
            self.fail(f"`{value}` is neither a number of seconds above 0 nor `never`", param, ctx)
        return seconds


class SizeType(click.ParamType[int]):
    """A number of bytes, as a number or in KiB, MiB, GiB or TiB.

    Example:
        >>> SizeType().convert("1.5GiB", None, None), SizeType().convert("2000", None, None)
        (1610612736, 2000)
    """

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?) ?(?:([KMGT])i?)?B?", str(value), re.IGNORECASE)
        power = "KMGT".index(found[2].upper()) + 1 if found and found[2] else 0
        size = 0 if found is None else round(float(found[1]) * 1024**power)
        if size < 1:
            self.fail(f"`{value}` is no size; write a number of bytes, or 512MiB, 2GiB", param, ctx)
        return size
