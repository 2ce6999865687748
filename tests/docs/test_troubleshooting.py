"""Every message that the troubleshooting page explains is one that the program gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from markdown_blocks import ROOT

PAGE = (ROOT / "docs/guides/troubleshooting.md").read_text(encoding="utf-8")
SPEED = "## Speed"
HEADINGS = re.findall(r"^###? (.*)$", PAGE, re.MULTILINE)
MESSAGES = [heading for heading in HEADINGS if heading[0] in "`…" or heading[0].islower() or "Java" in heading]
FIELD = "…"


def templates() -> Iterator[str]:
    """The texts of the source, with `…` for what is filled in."""
    for path in (ROOT / "src/penstock").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else FIELD for p in node.values)
                yield "".join(str(part) for part in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.fixture(scope="module")
def texts() -> str:
    return "\n".join(templates())


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_that_is_explained_exists(message, texts):
    literal = message.removesuffix(": …").removesuffix(" …")
    assert literal in texts


def test_most_headings_are_messages():
    assert len(MESSAGES) >= len(HEADINGS) // 2
    assert len(MESSAGES) > 20


def test_the_guide_to_explain_names_every_reason():
    from penstock.parallel.reasons import Condition

    guide = (ROOT / "docs/guides/explain.md").read_text(encoding="utf-8")
    assert [c.value for c in Condition if f"| `{c.value}` |" not in guide] == []
