"""The sessions that jobs run in."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from penstock.spark.job.session import _unix_sockets


def test_sockets_lie_in_a_folder_that_is_the_users_alone():
    found = _unix_sockets()
    folder = Path(found["spark.python.unix.domain.socket.dir"])
    assert found["spark.python.unix.domain.socket.enabled"] == "true"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_where_temporary_folders_have_long_names_there_are_no_unix_sockets(tmp_path, monkeypatch):
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert _unix_sockets() == {}
