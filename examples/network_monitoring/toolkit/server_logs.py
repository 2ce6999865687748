"""`ParSrc`: reads the logs of many servers at once, in the order of their time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path

from penstock import UserError, after, source


@source
def ParSrc(servers: str, environment) -> Iterator[object]:
    """The lines of all log files that match `servers`; each is `seconds uid text`, ascending in time."""
    paths = sorted(environment.data_directory.glob(servers))
    if not paths:
        raise UserError(f"no log matches `{servers}` in {environment.data_directory}")
    now = 0.0
    for seconds, server, uid, msg in heapq.merge(*(lines(path) for path in paths)):
        if seconds > now:
            yield after(seconds - now)
            now = seconds
        yield {"uid": uid, "server": server, "msg": msg}


def lines(path: Path) -> Iterator[tuple[float, str, int, str]]:
    with path.open() as file:
        for line in file:
            seconds, uid, msg = line.rstrip("\n").split(" ", 2)
            yield float(seconds), path.name, int(uid), msg
