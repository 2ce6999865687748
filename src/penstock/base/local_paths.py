"""Paths as users write them: a bare path or a `file:` URI is local, another URI is refused by its name.

A file system that is mounted (NFS, a FUSE mount of a bucket) is local here; what is not is a place that only a library
can reach, such as `s3a://bucket/key`. Without this, `s3a://bucket/key` would be a folder named `s3a:`.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.base.diagnostics import UserError

# A scheme of one letter would be a drive; a name such as `a:b.csv` is a name.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def local_path(text: str, what: str) -> Path:
    """The path that a text means.

    Args:
        text: A path or a URI.
        what: It is, for the message.

    Raises:
        UserError: It is a URI of something that is not local.

    Example:
        >>> local_path("file:///data/a%20b.csv", "the file"), local_path("x/y", "the file")
        (PosixPath('/data/a b.csv'), PosixPath('x/y'))
    """
    return Path(local_name(text, what))


def local_name(text: str, what: str) -> str:
    """The same as text, with nothing changed but what makes it a URI.

    Raises:
        UserError: It is a URI of something that is not local.
    """
    found = _URI.match(text)
    if found is None:
        return text
    scheme = found[1].lower()
    parts = urlsplit(text)
    if scheme == "file" and parts.netloc in ("", "localhost"):
        return unquote(parts.path)
    where = f"on the host `{parts.netloc}`" if scheme == "file" else f"of the kind `{scheme}`"
    raise UserError(
        f"{what} `{text}` is {where}, which is not supported yet",
        hint="give a path on a local or mounted file system, as /path or file:///path",
    )
