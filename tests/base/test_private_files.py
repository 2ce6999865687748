"""Nothing is believed that others can have written."""

from __future__ import annotations

import os

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.private_files import VARIABLE, check_private, make_private_folder

SOMEBODY = 54_321


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "job"
    make_private_folder(folder)
    (folder / "sinks").mkdir()
    (folder / "sinks/1.state").write_bytes(b"x")
    return folder


def refusal(folder):
    with pytest.raises(UserError) as caught:
        check_private(folder, "the checkpoint")
    return str(caught.value)


def test_what_we_make_is_ours_alone(checkpoint):
    assert checkpoint.stat().st_mode & 0o777 == 0o700
    check_private(checkpoint, "the checkpoint")


@pytest.mark.parametrize("name", ["", "sinks", "sinks/1.state"])
def test_what_everybody_may_write_is_not_believed(checkpoint, name):
    (checkpoint / name).chmod(0o777)
    assert f"`{checkpoint / name}` may be written by everybody" in refusal(checkpoint)


def test_a_folder_on_the_way_that_everybody_may_write_counts_unless_it_is_sticky(checkpoint):
    checkpoint.parent.chmod(0o777)
    assert "may be written by everybody" in refusal(checkpoint)
    checkpoint.parent.chmod(0o1777)
    check_private(checkpoint, "the checkpoint")
    checkpoint.parent.chmod(0o700)


def test_a_link_is_followed_to_where_the_folder_is(checkpoint, tmp_path):
    (checkpoint / "sinks").chmod(0o777)
    (tmp_path / "link").symlink_to(checkpoint)
    assert "may be written by everybody" in refusal(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_somebody_else_is_not_believed_unless_they_are_trusted(checkpoint, monkeypatch):
    os.chown(checkpoint / "sinks/1.state", SOMEBODY, 0)
    assert f"belongs to user {SOMEBODY}" in refusal(checkpoint)
    monkeypatch.setenv(VARIABLE, str(SOMEBODY))
    check_private(checkpoint, "the checkpoint")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_a_group_may_write_is_not_believed_unless_it_is_trusted(checkpoint, monkeypatch):
    os.chown(checkpoint / "sinks", 0, SOMEBODY)
    (checkpoint / "sinks").chmod(0o770)
    assert f"may be written by the group {SOMEBODY}" in refusal(checkpoint)
    monkeypatch.setenv(VARIABLE, f"nobody,@{SOMEBODY}")
    check_private(checkpoint, "the checkpoint")


def test_a_name_that_nobody_has_is_told(checkpoint, monkeypatch):
    monkeypatch.setenv(VARIABLE, "no-such-user")
    assert "names `no-such-user`, which is no user or group here" in refusal(checkpoint)
