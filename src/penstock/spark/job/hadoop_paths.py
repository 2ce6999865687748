"""Paths of this machine as Spark takes them.

Spark's paths are Hadoop's: text with a scheme, but no URI, so nothing in it is escaped. `Path.as_uri` would write a
blank as `%20`, which Spark takes for three characters of a name.
"""

from __future__ import annotations

import re
from pathlib import Path

_OF_PATTERNS = re.compile(r"([\\{}\[\]*?])")


def hadoop_path(path: Path) -> str:
    """The path of a file or folder; with its scheme, because what a bare path means depends on `fs.defaultFS`.

    Example:
        >>> hadoop_path(Path("/data/my rows"))
        'file:///data/my rows'
    """
    return f"file://{path.absolute()}"


def hadoop_pattern(path: Path) -> str:
    """The pattern that matches a path alone, where Spark's readers take patterns.

    Example:
        >>> print(hadoop_pattern(Path("/data/{1}")))
        file:///data/\\{1\\}
    """
    return _OF_PATTERNS.sub(r"\\\1", hadoop_path(path))
