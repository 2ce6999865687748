"""How often a job was started from its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.base.durable_files import read_sealed, write_sealed

FILE = "launches.json"


def count_launches(checkpoint: Path) -> int:
    """How often a job was started before, and note that it is started once more: what `getRelaunchCount()` gives.

    Raises:
        UserError: What the checkpoint says was changed.
    """
    path = checkpoint / FILE
    before: int = json.loads(read_sealed(path, "the number of launches"))["launches"] if path.exists() else 0
    write_sealed(path, json.dumps({"launches": before + 1}).encode())
    return before
