"""The value of `--channels`: a number, or `auto`."""

from __future__ import annotations

from typing import Any

import click

from penstock.compiler.fusion_names import AUTO


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
