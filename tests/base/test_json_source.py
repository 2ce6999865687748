"""JSON files as users write them, whole or broken."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.json_source import parse_json, read_json

BROKEN = {
    "nothing": ("", "p.json:1:1: error: not JSON: expecting value; the file is cut short"),
    "a text that ends too early": ('{"a": [1', "the file is cut short"),
    "a comma too many": ('{"a": 1,\n "b": ,}', "p.json:2:7: error: not JSON: expecting value\n"),
    "a key twice": ('{"a": {"b": 1, "c": 2, "b": 3}}', "p.json: the key `b` stands twice in one object"),
    "lists in lists without end": ("[" * 100_000, "p.json: lists and objects are nested too deeply"),
    "half a surrogate pair": (r'{"id": "\ud800"}', r"p.json: `\ud800` is half a character; write both halves"),
    "a number of five thousand digits": ("9" * 5000, "p.json: a number has too many digits"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_not_json_is_refused_with_the_culprit(case: str) -> None:
    text, message = BROKEN[case]
    with pytest.raises(UserError) as raised:
        parse_json(text, "p.json")
    assert message in str(raised.value)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(path) == [1]


def test_a_whole_surrogate_pair_is_a_letter() -> None:
    assert parse_json(r'"\ud83d\udc0e"', "p.json") == "🐎"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read `.*none\.json`: No such file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(UserError, match=r"cannot read `.*`: Is a directory"):
        read_json(tmp_path)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(UserError, match=r"cannot read `.*p\.json`: it is not a UTF-8 text file"):
        read_json(path)


def test_a_key_that_stands_twice_among_very_many_is_found_at_once() -> None:
    keys = [*range(100_000), 99_999]
    began = time.process_time()
    with pytest.raises(UserError, match="the key `k99999` stands twice in one object"):
        parse_json("{" + ", ".join(f'"k{key}": 1' for key in keys) + "}", "p.json")
    assert time.process_time() - began < 5
