"""Loading modules from files and from text."""

from __future__ import annotations

import sys
import traceback

import pytest

from penstock.base.modules import load_file, load_text


def test_a_file_is_found_under_its_name_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "mine.py").write_text("import sys\nfound = sys.modules[__name__]\n")
    module = load_file(tmp_path / "mine.py", "yours")
    assert module.found is module is sys.modules["yours"]


def test_a_traceback_shows_the_lines_of_a_text_that_has_a_name():
    names = load_text("def fail():\n    raise ValueError('no')  # here\n", {}, "<PE 3, module 4>")
    with pytest.raises(ValueError, match="no") as raised:
        names["fail"]()
    assert "# here" in "".join(traceback.format_exception(raised.value))
