"""Application configurations are read from a file, each mistake in it is named, and what is secret stays so."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.redaction import redact
from penstock.expr.configurations import VARIABLE, read_configurations


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "conf.json"))
    return tmp_path / "conf.json"


def test_a_file_names_the_properties_of_each(file: Path) -> None:
    file.write_text('{"market": {"server": "db:5432", "password": "Kaffee und Kuchen"}, "empty": {}}')
    found = read_configurations()
    assert found == {"market": {"server": "db:5432", "password": "Kaffee und Kuchen"}, "empty": {}}
    assert redact("db:5432 refuses Kaffee und Kuchen") == "db:5432 refuses ***"


def test_without_a_file_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert read_configurations() == {}


def test_every_mistake_is_named(file: Path) -> None:
    file.write_text('{"market": {"port": 5432}, "b": []}')
    with pytest.raises(UserError) as refused:
        read_configurations()
    assert [str(mistake) for mistake in refused.value.diagnostics] == [
        f"error: {file}: `port` of the application configuration `market` is a number; write a string",
        f"error: {file}: the application configuration `b` is a list; write an object",
    ]


@pytest.mark.parametrize(
    ("text", "message"), [("[]", "the application configurations are a list"), ("{", "not JSON"), (None, "cannot read")]
)
def test_what_is_no_such_file_is_refused(file: Path, text: str | None, message: str) -> None:
    if text is not None:
        file.write_text(text)
    with pytest.raises(UserError, match=message):
        read_configurations()
