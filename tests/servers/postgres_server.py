"""A PostgreSQL server, started when the first test asks for it."""

from __future__ import annotations

import functools
import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

from servers.processes import free_port, scratch_folder, start


def program(name: str) -> str | None:
    """Where a program of the server lies: on the path, or where Debian puts it."""
    found = shutil.which(name)
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return found or (str(beside[-1]) if beside else None)


def _user() -> dict[str, object]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    return {}


@functools.cache
def server() -> str:
    """The address of a running server; skips the test if there can be none."""
    initdb, postgres = program("initdb"), program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("there is no PostgreSQL server; install it (Debian: apt-get install postgresql)")
    folder, port, user = scratch_folder(), free_port(), _user()
    if user:
        os.chown(folder, user["user"], user["group"])  # type: ignore[call-overload]
    data = folder / "data"
    command = [initdb, "-D", str(data), "-U", "penstock", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, **user)  # type: ignore[call-overload]
    options = ["-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-F"]
    start([postgres, *options], port, folder / "log", cwd=folder, **user)
    return f"postgresql://penstock@127.0.0.1:{port}/postgres"
