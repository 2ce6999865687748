"""The command-line reference is what the commands say of themselves."""

from __future__ import annotations

from markdown_blocks import ROOT

from penstock.cli.reference import reference

PAGE = ROOT / "docs/reference/command-line.md"


def test_the_page_is_current():
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference(), "run `python -m penstock.cli.reference > docs/reference/command-line.md`"
