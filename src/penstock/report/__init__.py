"""One self-contained HTML page made of sections: text, tables, charts and graphs. It needs no network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.resources import files


def page(title: str, summary: str, sections: Sequence[str]) -> str:
    """The whole page.

    Example:
        >>> text = page("Trial", "a trial", [section("One", paragraph("1 < 2"))])
        >>> text.startswith("<!doctype html>"), "1 &lt; 2" in text, "@BODY@" in text
        (True, True, False)
    """
    template = files("penstock.report").joinpath("page.html").read_text(encoding="utf-8")
    return (
        template.replace("@TITLE@", html.escape(title))
        .replace("@SUMMARY@", html.escape(summary))
        .replace("@BODY@", "\n".join(sections))
    )


def section(title: str, *parts: str) -> str:
    """A heading with what belongs to it."""
    return f"<section><h2>{html.escape(title)}</h2>{''.join(parts)}</section>"


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{html.escape(text)}</p>"


def figures(values: Sequence[tuple[str, str]]) -> str:
    """Large figures beside each other, each with what it is.

    Example:
        >>> figures([("8.1", "times faster")])
        '<div class="figures"><div><b>8.1</b><span>times faster</span></div></div>'
    """
    cells = "".join(f"<div><b>{html.escape(v)}</b><span>{html.escape(what)}</span></div>" for v, what in values)
    return f'<div class="figures">{cells}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0) -> str:
    """A table; its last `numbers` columns stand at the right."""
    left = len(head) - numbers

    def line(cells: Sequence[str], tag: str) -> str:
        marks = ("" if i < left else ' class="number"' for i in range(len(cells)))
        return "".join(f"<{tag}{mark}>{html.escape(cell)}</{tag}>" for mark, cell in zip(marks, cells, strict=True))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{line(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'


def graph(svg: str) -> str:
    """A drawing that scrolls by itself where the page is narrow."""
    return f'<div class="wide graph">{svg}</div>'


def hidden(title: str, part: str) -> str:
    """A part behind a line that opens it."""
    return f"<details><summary>{html.escape(title)}</summary>{part}</details>"


def code(title: str, text: str) -> str:
    """Code behind a line that opens it."""
    return hidden(title, f"<pre>{html.escape(text)}</pre>")
