"""Files that survive a crash of the machine: there as a whole or not at all, and known to be unchanged.

A file system keeps what was written in memory, and writes it in an order of its own. What has to be there after a power
loss is synced in three steps: the content (`sync_file`), then the name (`os.replace`, `os.link`), then the folder that
holds the name (`sync_folder`). `write_durably` and `create_durably` take these steps for a small file; whoever appends
to a large one calls `sync_file` before it tells anybody how long the file is, and `sync_folder` where the file is new.

A sealed file begins with a line that tells the length and the SHA-256 of the rest, so that a file that was cut or
changed is noticed when it is read.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from pathlib import Path

from penstock.base.diagnostics import UserError

_MAGIC = b"penstock sealed"
LOST = "put the file back from a copy of the folder, or start with a new checkpoint folder"
"""The hint for a file of a checkpoint that is missing or damaged."""


def sync_file(path: Path) -> None:
    """Let the content of a file, as it is now, survive a power loss."""
    _sync(path, os.O_RDONLY)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder, as they are now, survive a power loss."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def make_folder(folder: Path) -> None:
    """Make a folder, and those on the way to it, so that they survive a power loss."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file so that a crash leaves what was there before, or all of the new content."""
    part = _write_part(path, data)
    os.replace(part, path)
    sync_folder(path.parent)


def create_durably(path: Path, data: bytes) -> bool:
    """Write a file unless there is one; of several that try at once, one is told that it has."""
    part = _write_part(path, data)
    try:
        os.link(part, path)
    except FileExistsError:
        return False
    finally:
        part.unlink()
    sync_folder(path.parent)
    return True


def seal(data: bytes) -> bytes:
    """The content of a sealed file.

    Example:
        >>> unseal(seal(b"x"), Path("state"), "the state of the sinks")
        b'x'
    """
    return b"%s %d %s\n%s" % (_MAGIC, len(data), hashlib.sha256(data).hexdigest().encode(), data)


def unseal(content: bytes, path: Path, what: str) -> bytes:
    """The data of a sealed file, without the seal.

    Args:
        content: The content of the file.
        path: The path of the file, for the message.
        what: The file's purpose, for the message.

    Raises:
        UserError: The file was cut or changed, or is no sealed file.
    """
    head, _, data = content.partition(b"\n")
    if not content or seal(data).partition(b"\n")[0] != head:
        raise UserError(f"{what} is damaged: `{path}` {_damage(content, head, data)}", hint=LOST)
    return data


def write_sealed(path: Path, data: bytes) -> None:
    """Write a sealed file durably."""
    write_durably(path, seal(data))


def read_sealed(path: Path, what: str) -> bytes:
    """Read the data of a sealed file.

    Args:
        path: The path of the file.
        what: Its purpose, for the message.

    Raises:
        UserError: It is missing, was cut or changed.
    """
    try:
        return unseal(path.read_bytes(), path, what)
    except FileNotFoundError:
        raise UserError(f"{what} is missing: there is no `{path}`", hint=LOST) from None
    except OSError as error:
        raise UserError(f"{what} cannot be read: `{path}`: {error.strerror or error}", hint=LOST) from error


def _damage(content: bytes, head: bytes, data: bytes) -> str:
    if not content:
        return "is empty"
    fields = head.removeprefix(_MAGIC).split()
    if not head.startswith(_MAGIC) or len(fields) != 2 or not fields[0].isdigit():
        return "does not begin as such a file does"
    if len(data) != int(fields[0]):
        return f"had {int(fields[0])} bytes, and has {len(data)}"
    return "has other content than was written"


def _write_part(path: Path, data: bytes) -> Path:
    """Write and sync a file of another name in the same folder; two processes never share one."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
