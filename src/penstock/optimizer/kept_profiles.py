"""The last good profile of each application, in the user's cache folder, for `--fusion auto`.

Profiles are kept by the fingerprint of the graph: a changed program starts without one.
"""

from __future__ import annotations

from pathlib import Path

from penstock.cache_folder import cache_folder
from penstock.diagnostics import UserError
from penstock.ir.codec import fingerprint
from penstock.ir.graph import Application
from penstock.model import Profile, read_profile, write_profile


def profile_path(application: Application, folder: Path | None = None) -> Path:
    """Where the profile of an application is kept."""
    return (folder or cache_folder()) / "profiles" / f"{fingerprint(application)}.json"


def kept_profile(application: Application, folder: Path | None = None) -> Profile | None:
    """The last good profile, if there is one that can be read."""
    try:
        return read_profile(profile_path(application, folder))
    except UserError:
        return None


def keep_profile(profile: Profile, application: Application, folder: Path | None = None) -> None:
    """Keep a profile, unless it saw nothing; a folder that cannot be written to is no reason to stop a run."""
    if not is_good(profile):
        return
    path = profile_path(application, folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        write_profile(profile, fresh)
        fresh.replace(path)
    except OSError:
        return


def is_good(profile: Profile) -> bool:
    """Whether a profile says something: tuples have come from some source, and some operator took time.

    Example:
        >>> is_good(Profile(mips=1000.0))
        False
    """
    return any(rate > 0 for rate in profile.source_rates.values()) and any(o.cpu_seconds > 0 for o in profile.operators)
