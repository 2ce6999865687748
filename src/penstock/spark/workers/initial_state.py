"""The state that the channels of PEs begin with, where a job goes on from a savepoint.

Each channel of a stateful PE has a file under the checkpoint, which it reads in the first batch that comes to it: as
long as Spark's store has nothing of it. So a batch that is run again begins with the same state.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from penstock.base.durable_files import make_folder, read_sealed, write_sealed

INITIAL = "initial"
"""The folder under the checkpoint."""


def write_initial(folder: Path, pe: int, channel: int, state: dict[str, Any]) -> None:
    """Store the state that a channel begins with."""
    make_folder(folder)
    write_sealed(_path(folder, pe, channel), pickle.dumps(state, protocol=5))


def read_initial(folder: Path, pe: int, channel: int) -> dict[str, Any]:
    """The state that a channel begins with.

    Raises:
        UserError: It is not there, or was changed.
    """
    found: dict[str, Any] = pickle.loads(read_sealed(_path(folder, pe, channel), "the state that a job begins with"))
    return found


def _path(folder: Path, pe: int, channel: int) -> Path:
    return folder / f"{pe}-{channel}.state"
