"""Every link of a page leads somewhere: to a file that is there, and to a heading that is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_blocks import ROOT, pages

_LINK = re.compile(r"\]\((?P<target>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?[^)]*\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names of the headings of a page, as links to them are written."""
    words = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in _HEADING.findall(page.read_text(encoding="utf-8")))
    return {re.sub(r"\s+", "-", text.strip()) for text in words}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for match in _LINK.finditer(page.read_text(encoding="utf-8")):
        if "://" in match["target"]:
            continue
        target = page.parent / match["target"] if match["target"] else page
        assert target.exists(), f"{page.name} links to {match['target']}"
        if match["anchor"] and target.suffix == ".md":
            assert match["anchor"] in anchors(target), f"{page.name} links to {match[0]}"


def test_every_example_is_listed():
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    folders = [path.parent.name for path in (ROOT / "examples").glob("*/README.md")]
    assert [name for name in folders if f"({name}/README.md)" not in listed] == []
