"""Spark's home folder without its zipped Python, so that workers import PySpark from where pip has installed it.

Spark puts `SPARK_HOME/python/lib/pyspark.zip` in front of the path of every Python process that it starts. Python keeps
no compiled code of what it imports from a zip: a process takes 0.65 s to import PySpark from there and 0.15 s from an
installed package. Each query starts three such processes for its sources and one for each stateful PE; the workers,
which are forked, are not among them. Where Spark is the one that pip has installed beside us, the installed package is
the same, so the zip is left out: the home folder that Java sees is one of links to all the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from penstock.base.cache_folder import cache_folder
from penstock.base.diagnostics import UserError
from penstock.base.private_files import check_private, make_private_folder

_HOME = "SPARK_HOME"
_WANTED = ("bin", "conf", "data", "jars", "sbin")


@contextmanager
def without_zipped_python() -> Iterator[None]:
    """Start Java meanwhile with a home folder without PySpark's zip; where the user has set a home, that one holds."""
    home = None if _HOME in os.environ else _linked(installed())
    if home is not None:
        os.environ[_HOME] = str(home)
    try:
        yield
    finally:
        if home is not None:
            del os.environ[_HOME]


def installed() -> Path:
    """Where pip has put Spark."""
    import pyspark

    return Path(pyspark.__file__).parent


def _linked(spark: Path) -> Path | None:
    """A folder with links to all of Spark that Java needs; None where that cannot be had."""
    if not (spark / "jars").is_dir():
        return None
    home = cache_folder() / f"spark-{sha256(str(spark).encode()).hexdigest()[:16]}"
    try:
        make_private_folder(home.parent)
        make_private_folder(home)
        check_private(home, "the cache of Spark")
        for name in _WANTED:
            if (spark / name).exists():
                with suppress(FileExistsError):
                    (home / name).symlink_to(spark / name)
    except (OSError, UserError):
        return None
    return home
