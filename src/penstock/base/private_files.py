"""Folders that nobody else may read, and the check that nobody else has written what is about to be believed.

A checkpoint and a savepoint hold code and Python objects. Who can write to one can run code as whoever resumes it. So
they are made for the user alone, and looked through before anything of them is read: every file must belong to the user
or to root, and nobody else may write to it. The folders on the way to them may belong to anybody, but not everybody may
write to them; one with the sticky bit, such as `/tmp`, counts as one in which nobody else can rename or delete what is
ours. Where processes of other users write the files of a job, as executors of a cluster may, `PENSTOCK_TRUST` names
whom the user trusts: `spark,@streaming` are the user `spark` and the members of the group `streaming`; numbers do, too.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import make_folder, sync_folder

VARIABLE = "PENSTOCK_TRUST"
"""The environment variable that names whom the user trusts."""

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def make_private_folder(folder: Path) -> None:
    """Make a folder that nobody else may look into, unless it is there; those on the way to it are made as usual.

    All of them survive a power loss.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     make_private_folder(Path(place) / "a/b")
        ...     [oct(os.stat(path).st_mode & 0o777) for path in (Path(place) / "a/b",)]
        ['0o700']
    """
    make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=PRIVATE_FOLDER)
        sync_folder(folder.parent)


def check_private(path: Path, what: str) -> None:
    """Make sure that nobody else can have written a file, or anything in a folder.

    Args:
        path: Of the file or the folder.
        what: It is, for the message.

    Raises:
        UserError: Somebody else can.
    """
    trusted = _Trusted()
    place = path.resolve()
    for found, is_on_the_way in (*((parent, True) for parent in reversed(place.parents)), *_inside(place)):
        who = trusted.who_may_write(found, is_on_the_way)
        if who is not None:
            hint = (
                "what it holds is run as you: if you know it is as you left it, take it over with `chown` and "
                f"`chmod -R go-w`; {VARIABLE} names users and @groups that you trust"
            )
            raise UserError(f"{what} is not believed: `{found}` {who}", hint=hint)


def _inside(place: Path) -> Iterator[tuple[Path, bool]]:
    yield place, False
    if not place.is_dir():
        return
    for folder, folders, files in os.walk(place):
        yield from ((Path(folder, name), False) for name in (*folders, *files))


class _Trusted:
    """Whose writing is believed: the user's own, root's, and that of those who are named."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._users, self._groups = {0, os.geteuid()}, set[int]()
        for name in environ.get(VARIABLE, "").split(","):
            self._add(name.strip())
        with suppress(KeyError):
            # A user's own group, as some systems give everybody.
            own = grp.getgrgid(os.getegid())
            if own.gr_name == pwd.getpwuid(os.geteuid()).pw_name and not own.gr_mem:
                self._groups.add(own.gr_gid)

    def _add(self, name: str) -> None:
        if not name:
            return
        bare = name.removeprefix("@")
        into = self._groups if name.startswith("@") else self._users
        try:
            if bare.isdecimal():
                into.add(int(bare))
            elif name.startswith("@"):
                into.add(grp.getgrnam(bare).gr_gid)
            else:
                into.add(pwd.getpwnam(bare).pw_uid)
        except KeyError:
            raise UserError(f"{VARIABLE} names `{name}`, which is no user or group here") from None

    def who_may_write(self, path: Path, is_on_the_way: bool) -> str | None:
        """Who else may write something, as the end of a sentence; None if nobody."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            # What goes away meanwhile is not read.
            return None
        if is_on_the_way and found.st_mode & stat.S_ISVTX:
            return None
        if found.st_mode & stat.S_IWOTH and not stat.S_ISLNK(found.st_mode):
            return "may be written by everybody"
        if is_on_the_way:
            return None
        if found.st_uid not in self._users:
            return f"belongs to {_name_of(found.st_uid)}"
        if stat.S_ISLNK(found.st_mode):
            return None
        if found.st_mode & stat.S_IWGRP and found.st_gid not in self._groups:
            return f"may be written by the group {_group_of(found.st_gid)}"
        return None


def _name_of(uid: int) -> str:
    try:
        return f"`{pwd.getpwuid(uid).pw_name}`"
    except KeyError:
        return f"user {uid}"


def _group_of(gid: int) -> str:
    try:
        return f"`{grp.getgrgid(gid).gr_name}`"
    except KeyError:
        return str(gid)
