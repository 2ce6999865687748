"""The table of generated operators in the documentation tells what the code does."""

from __future__ import annotations

from pathlib import Path

from penstock.compiler.coverage import coverage
from penstock.lang import compile_file

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "spl" / "valid"


def test_the_page_lists_what_is_generated_among_all_fixtures():
    table = coverage(compile_file(path) for path in sorted(FIXTURES.glob("*.spl")))
    assert table in (ROOT / "docs" / "design" / "codegen.md").read_text(encoding="utf-8")
