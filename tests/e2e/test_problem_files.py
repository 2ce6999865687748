"""Problem files that cannot be read: the three solvers say the same."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from penstock.base.diagnostics import UserError
from penstock.cli.admit import command as admit
from penstock.cli.fuse import command as fuse
from penstock.cli.place import command as place

FILES: dict[str, tuple[bytes | None, str]] = {
    "empty": (b"", "{path}:1:1: error: not JSON: expecting value; the file is cut short"),
    "cut short": (b'{"a": 5', "{path}:1:8: error: not JSON: expecting ',' delimiter; the file is cut short"),
    "missing": (None, "error: cannot read `{path}`: No such file or directory"),
    "not UTF-8": (b'\xff\xfe{"a"', "error: cannot read `{path}`: it is not a UTF-8 text file"),
    "a list": (b"[]", "error: {path}: the problem is a list; write an object: "),
    "null": (b"null", "error: {path}: the problem is null; write an object: "),
    "a key twice": (b'{"a": 1, "a": 2}', "error: {path}: the key `a` stands twice in one object; keep one of them"),
    "nested": (b"[" * 200_000, "error: {path}: lists and objects are nested too deeply to be read"),
}


def first_line(command: click.Command, path: Path) -> str:
    with pytest.raises(UserError) as caught:
        CliRunner().invoke(command, [str(path)], catch_exceptions=False)
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", [admit, fuse, place], ids=["admit", "fuse", "place"])
def test_a_file_that_is_no_problem_is_refused_in_one_wording(command: click.Command, name: str, tmp_path: Path) -> None:
    content, message = FILES[name]
    path = tmp_path / "p.json"
    if content is not None:
        path.write_bytes(content)
    assert first_line(command, path).startswith(message.format(path=path))


@pytest.mark.parametrize("command", [admit, fuse, place], ids=["admit", "fuse", "place"])
def test_a_folder_is_refused_in_one_wording(command: click.Command, tmp_path: Path) -> None:
    assert first_line(command, tmp_path) == f"error: cannot read `{tmp_path}`: Is a directory"
