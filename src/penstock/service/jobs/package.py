"""The code of a job on its way from the user to the service: files by their paths, in base64."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.service.jobs.submission import is_inside

MOST_BYTES = 16 << 20
"""Of all files of a package together."""

MOST_FILES = 2_000

CODE = frozenset({".spl", ".splmm", ".py", ".pm", ".pl", ".xml", ".json", ".toml", ".txt", ".csv", ".md"})
"""The endings of files that are packed; what is larger than code is `data`, and stays where it is."""

_LARGEST_DATA = 1 << 20
_SKIPPED = frozenset({"data", "results", "out", "node_modules", "__pycache__", "site"})


def pack(folder: Path, toolkits: Sequence[Path] = ()) -> dict[str, str]:
    """The code in a folder and in folders of toolkits, which are called `toolkits/0`, `toolkits/1`, ...

    Raises:
        UserError: It is too much.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "app.spl").write_text("composite Main { }")
        ...     pack(Path(folder))
        {'app.spl': 'Y29tcG9zaXRlIE1haW4geyB9'}
    """
    files: dict[str, str] = {}
    size = 0
    roots = [(folder, ""), *((toolkit, f"toolkits/{n}/") for n, toolkit in enumerate(toolkits))]
    for root, prefix in roots:
        for path in _code_in(root):
            content = path.read_bytes()
            size += len(content)
            if size > MOST_BYTES or len(files) >= MOST_FILES:
                message = f"the code in `{root}` is more than {MOST_BYTES >> 20} MiB, or {MOST_FILES:,} files"
                raise UserError(message, hint="move the application into a folder of its own, and data into `data`")
            files[prefix + path.relative_to(root).as_posix()] = base64.b64encode(content).decode()
    return files


def _code_in(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if _is_of_code(Path(folder) / name))
        for name in sorted(files):
            path = Path(folder) / name
            if path.suffix in CODE and not name.startswith(".") and path.is_file():
                if path.suffix in (".csv", ".json", ".txt") and path.stat().st_size > _LARGEST_DATA:
                    continue
                yield path


def _is_of_code(folder: Path) -> bool:
    """Whether a folder may hold code: it is not hidden, not of data, and no virtual environment."""
    return folder.name not in _SKIPPED and not folder.name.startswith(".") and not (folder / "pyvenv.cfg").exists()


def unpack(files: Mapping[str, str], folder: Path) -> None:
    """Write the files of a package into a folder that is not there yet.

    Raises:
        UserError: A file is none, or they are too many; every mistake is named, and nothing is written.
    """
    found, contents = Diagnostics(), {}
    for path, text in files.items():
        if not is_inside(path):
            found.error(f"the file `{path[:80]}` is not in the package", hint="write a relative path without `..`")
        try:
            contents[path] = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            found.error(f"the file `{path[:80]}` is not in base64")
    if len(files) > MOST_FILES or sum(map(len, contents.values())) > MOST_BYTES:
        found.error(f"the package is more than {MOST_BYTES >> 20} MiB, or {MOST_FILES:,} files")
    for path in contents:
        above = [path[:i] for i, character in enumerate(path) if character == "/"]
        for other in above:
            if other in contents:
                found.error(f"`{other[:80]}` is a file and a folder of the package")
    found.raise_if_any()
    for path, content in contents.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
