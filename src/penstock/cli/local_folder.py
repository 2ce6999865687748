"""The type of options that name a folder on a local file system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from penstock.base.local_paths import local_path


class LocalFolder(click.Path):
    """A path or a `file:` URI; other URIs are refused by their name."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        name = param.opts[0] if param is not None else "the folder"
        return super().convert(local_path(str(value), name), param, ctx)
