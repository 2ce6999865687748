"""The last good profile of each application, in the user's cache folder, for `--fusion auto`.

Profiles are kept by the fingerprint of the graph: a changed program starts without one. One that has seen less does not
replace one that has seen more: a try with ten lines of input says little about the run with all of it.
"""

from __future__ import annotations

import time
from pathlib import Path

from penstock.base.cache_folder import cache_folder
from penstock.base.diagnostics import UserError
from penstock.ir.codec import fingerprint
from penstock.ir.graph import Application
from penstock.model import Profile, read_profile, write_profile
from penstock.optimizer.prediction import seen_tuples


def profile_path(application: Application, folder: Path | None = None) -> Path:
    """Where the profile of an application is kept."""
    return (folder or cache_folder()) / "profiles" / f"{fingerprint(application)}.json"


def kept_profile(application: Application, folder: Path | None = None) -> Profile | None:
    """The last good profile, if there is one that can be read and is of this graph."""
    try:
        return profile_for(application, profile_path(application, folder))
    except UserError:
        return None


def profile_age(application: Application, folder: Path | None = None) -> float:
    """How many seconds ago the last good profile was taken; 0 if it could not be kept."""
    try:
        return max(0.0, time.time() - profile_path(application, folder).stat().st_mtime)
    except OSError:
        return 0.0


def profile_for(application: Application, path: Path) -> Profile:
    """The profile in a file.

    Raises:
        UserError: It cannot be read, or is one of another graph.
    """
    profile = read_profile(path)
    if set(profile.operator) != {o.id for o in application.operators}:
        raise UserError(f"`{path}` is a profile of another graph", hint="take one of this application")
    return profile


def keep_if_seen_more(profile: Profile, application: Application, folder: Path | None = None) -> None:
    """Keep a profile that a run has left beside its work, unless the one that is kept has seen more tuples."""
    kept = kept_profile(application, folder)
    if kept is None or seen_tuples(profile) >= seen_tuples(kept):
        keep_profile(profile, application, folder)


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
