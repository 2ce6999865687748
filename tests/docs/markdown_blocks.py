"""Finds the code blocks of a Markdown page, and says what each of them is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"(?:^    \S[^\n]*\n(?:\n(?=    ))?)+", re.MULTILINE)
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>[^>]+) -->\s*\Z")
_TITLE = re.compile(r'title="(?P<title>[^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A code block.

    Attributes:
        page: The file it stands in.
        line: Where its text begins.
        language: The first word behind the fence; `indented` for a block that has none.
        title: The name of the file whose text it is, if it says so.
        text: What stands in it.
        reason: Why it is not run, if the page says so.
    """

    page: Path
    line: int
    language: str
    title: str | None
    text: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """All pages that a reader of the project may follow."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    return sorted(found)


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    fenced = list(_fenced(page, text))
    bare = _FENCE.sub(lambda m: "\n" * m[0].count("\n"), text)
    return sorted([*fenced, *_indented(page, bare)], key=lambda block: block.line)


def _fenced(page: Path, text: str) -> Iterator[Block]:
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = _TITLE.search(rest)
        reason = _NOT_RUN.search(text[: match.start()])
        yield Block(
            page=page,
            line=text.count("\n", 0, match.start()) + 2,
            language=language,
            title=None if title is None else title["title"],
            text=_dedent(match["text"], match["indent"]),
            reason=None if reason is None else reason["reason"],
        )


def _indented(page: Path, text: str) -> Iterator[Block]:
    """Blocks without a fence; the lines of a list that go on are indented too, but follow a line of text."""
    for match in _INDENTED.finditer(text):
        if text[: match.start()].endswith("\n\n"):
            line = text.count("\n", 0, match.start()) + 1
            body = _dedent(match[0], "    ")
            yield Block(page=page, line=line, language="indented", title=None, text=body, reason=None)


def _dedent(text: str, indent: str) -> str:
    return "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
