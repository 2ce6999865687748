"""Reading a program whoever wrote it: it may print, leave processes behind, and see no token."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import stat_of
from penstock.service.jobs import description
from penstock.service.jobs.description import describe
from penstock.service.jobs.submission import TemplateSpec

PROGRAM = """
import os, subprocess
from penstock import App
child = subprocess.Popen(["sleep", "600"])
open("child", "w").write(str(child.pid))
{more}
app = App("Numbers")
app.from_rows([(1,)], "int32 x", name="Rows").for_each(lambda t: None, name="Sink")
"""


def read(folder: Path, more: str = "") -> object:
    (folder / "app.py").write_text(PROGRAM.format(more=more))
    return describe(TemplateSpec(id="t", app="app.py:app"), folder)


def until_ended(pid: int) -> None:
    deadline = time.monotonic() + 30
    while (stat_of(pid) or "Z")[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_program_that_leaves_a_process_behind_is_read_and_the_process_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    found = read(tmp_path)
    assert isinstance(found, dict)
    assert found["sources"] == ["Rows"]
    assert time.monotonic() - began < description.DESCRIBE_SECONDS
    until_ended(int((tmp_path / "child").read_text()))


def test_a_program_sees_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", "open-sesame")
    with pytest.raises(UserError, match="seen: None"):
        read(tmp_path, "raise SystemExit(f\"seen: {os.environ.get('PENSTOCK_TOKEN')}\")")


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(description, "DESCRIBE_SECONDS", 1.0)
    command = ["sh", "-c", "sleep 600 & echo $! > child; wait"]
    with pytest.raises(UserError, match="took more than 1 s to be read"):
        description._read(command, tmp_path, "it")
    until_ended(int((tmp_path / "child").read_text()))


def test_a_program_that_prints_without_end_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "MOST_PRINTED_BYTES", 10_000)
    status, out, _ = description._read(["sh", "-c", "sleep 0.2; while :; do echo line; done"], tmp_path, "it")
    assert (status != 0, len(out) <= 10_000) == (True, True)


def test_a_program_that_spoils_what_is_read_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "_read", lambda *arguments: (0, b"not json", b""))
    with pytest.raises(UserError, match="template `t` cannot be read"):
        describe(TemplateSpec(id="t", app="app.py:app"), tmp_path)
