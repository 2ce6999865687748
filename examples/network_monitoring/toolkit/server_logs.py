"""`ParSrc`: reads the logs of many servers at once, in the order of their time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock import TimedLines, UserError


class ParSrc(TimedLines):
    """The lines of all log files that match `servers`; each is `seconds uid text`, ascending in time."""

    def __init__(self, servers: str, environment) -> None:
        self.servers, self.folder = servers, environment.data_directory

    def files(self) -> list[Path]:
        """The logs, by name."""
        paths = sorted(self.folder.glob(self.servers))
        if not paths:
            raise UserError(f"no log matches `{self.servers}` in {self.folder}")
        return paths

    def line(self, text: str, file: Path) -> tuple[float, dict[str, Any]]:
        """One line."""
        seconds, uid, msg = text.split(" ", 2)
        return float(seconds), {"uid": int(uid), "server": file.name, "msg": msg}

    def lines(self, texts: pa.StringArray, file: Path) -> tuple[pa.Array, dict[str, pa.Array]] | None:
        """Many lines at once: all of three parts, with digits only where the user stands."""
        parts = pc.split_pattern(texts, " ", max_splits=2).flatten()
        uid = parts[1::3]
        if len(parts) != 3 * len(texts) or not pc.all(pc.ascii_is_decimal(uid)).as_py():
            return None
        columns = {"uid": uid.cast(pa.uint32()), "server": pa.repeat(file.name, len(texts)), "msg": parts[2::3]}
        return parts[0::3].cast(pa.float64()), columns
