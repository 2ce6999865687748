"""Files that survive a power loss, and say so when they were changed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import create_durably, make_folder, read_sealed, write_durably, write_sealed

WHAT = "the state of the sinks"


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 100])
def test_a_sealed_file_gives_back_what_was_written(tmp_path, data):
    write_sealed(tmp_path / "s", data)
    assert read_sealed(tmp_path / "s", WHAT) == data


@pytest.mark.parametrize("length", range(0, 160, 7))
def test_a_sealed_file_that_was_cut_is_named(tmp_path, length):
    path = tmp_path / "s"
    write_sealed(path, b"line\n" * 50)
    os.truncate(path, length)
    with pytest.raises(UserError, match=f"the state of the sinks is damaged: `{path}`"):
        read_sealed(path, WHAT)


def test_a_sealed_file_with_one_other_bit_is_named(tmp_path):
    path = tmp_path / "s"
    write_sealed(path, b"content")
    sealed = path.read_bytes()
    for position in range(len(sealed)):
        path.write_bytes(sealed[:position] + bytes([sealed[position] ^ 1]) + sealed[position + 1 :])
        with pytest.raises(UserError, match="is damaged"):
            read_sealed(path, WHAT)


def test_a_sealed_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(UserError, match="the state of the sinks is missing: there is no"):
        read_sealed(tmp_path / "s", WHAT)


def test_of_several_who_create_a_file_one_is_told_that_it_has(tmp_path):
    path = tmp_path / "epoch"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: create_durably(path, str(n).encode()), range(40)))
    assert made.count(True) == 1
    assert path.read_text() == str(made.index(True))
    assert [p.name for p in tmp_path.iterdir()] == ["epoch"]


def test_content_is_synced_before_its_name_and_the_name_before_the_return(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append("sync " + _kind(fd)), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), replace(a, b)))
    write_durably(tmp_path / "s", b"x")
    assert done == ["sync file", "rename", "sync folder"]


def test_a_new_folder_is_synced_into_the_one_that_holds_it(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), fsync(fd)))
    make_folder(tmp_path / "a" / "b")
    assert synced == [str(tmp_path), str(tmp_path / "a")]


def _kind(fd):
    return "folder" if os.path.isdir(f"/proc/self/fd/{fd}") else "file"
