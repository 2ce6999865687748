"""Where Penstock keeps what took long to find out: profiles, calibrations of machines, the tables of the parser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """`PENSTOCK_CACHE` if it is set, else `penstock` in the user's cache folder; it need not exist yet.

    Example:
        >>> str(cache_folder({"PENSTOCK_CACHE": "/kept"})), str(cache_folder({"XDG_CACHE_HOME": "/home/me/.cache"}))
        ('/kept', '/home/me/.cache/penstock')
    """
    given = os.environ if environ is None else environ
    if given.get("PENSTOCK_CACHE"):
        return Path(given["PENSTOCK_CACHE"])
    base = given.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "penstock"
