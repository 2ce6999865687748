"""The sessions that jobs run in."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from penstock.spark.job.session import _remove, _unix_sockets


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


def test_the_folder_of_sockets_goes_with_its_own_process_alone(tmp_path):
    (tmp_path / "made").mkdir()
    _remove(str(tmp_path / "made"), os.getppid())
    assert (tmp_path / "made").exists()
    _remove(str(tmp_path / "made"), os.getpid())
    assert not (tmp_path / "made").exists()
