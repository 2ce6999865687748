"""Small files that are there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves what was there before, or all of the new content."""
    part = path.with_suffix(".part")
    part.write_bytes(data)
    os.replace(part, path)
