"""What a run has written and printed, in a form that can be compared."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from penstock.reference.result import DEAD_LETTERS
from penstock.toolkit.formats.file_chunks import read_chunks

_SIGNS = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"x\x9c", "zlib"))


def read_outputs(folder: Path, printed: str) -> dict[str, object]:
    """The content of every file, of Parquet folders their rows, without compression; and what was printed, by label."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or name == DEAD_LETTERS:
            continue
        if path.suffix == ".parquet" or path.read_bytes()[:4] == b"PAR1":
            rows = [repr(row) for row in pq.read_table(path).to_pylist()]
            found[str(Path(name).parent)] = [*found.get(str(Path(name).parent), []), *rows]  # type: ignore[misc]
        else:
            found[name] = _plain(path)
    for line in printed.splitlines(keepends=True):
        label = f"printed by {line.partition(' ')[0].rstrip()}"
        found[label] = f"{found.get(label, '')}{line}"
    return found


def _plain(path: Path) -> bytes:
    content = path.read_bytes()
    for sign, compression in _SIGNS:
        if content.startswith(sign):
            try:
                return b"".join(read_chunks(path, compression))
            except OSError:
                return content
    return content
