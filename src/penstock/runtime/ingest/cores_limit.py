"""The file that says how many cores a job shall have now, changeable while it runs.

    CHECKPOINT/cores.json    {"cores": 3}

Whoever runs the job writes it; the driver looks at it between two batches and asks its cluster for so many
(`penstock.spark.job.resizing`), where the cluster can change that while an application runs.
"""

from __future__ import annotations

import json
from pathlib import Path

from penstock.base.durable_files import write_durably

FILE = "cores.json"


def can_resize(master: str) -> bool:
    """Whether a cluster gives a running application other cores.

    Example:
        >>> can_resize("spark://host:7077"), can_resize("local[4]"), can_resize("yarn")
        (True, False, False)
    """
    return master.startswith("spark://")


def write_cores(checkpoint: Path, cores: int) -> None:
    """Let a job have so many cores from its next batch on.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_cores(Path(folder), 3)
        ...     read_cores(Path(folder))
        3
    """
    write_durably(checkpoint / FILE, json.dumps({"cores": cores}).encode())


def read_cores(checkpoint: Path) -> int | None:
    """The cores that a job shall have; None where nobody says, or what is there is no such number.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / FILE).write_text('{"cores": "many"}')
        ...     read_cores(Path(folder))
    """
    try:
        found = json.loads((checkpoint / FILE).read_bytes())
    except (OSError, ValueError):
        return None
    cores = found.get("cores") if isinstance(found, dict) else None
    return cores if isinstance(cores, int) and not isinstance(cores, bool) and cores > 0 else None
