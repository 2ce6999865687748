"""The command-line reference is what the commands say of themselves."""

from __future__ import annotations

import subprocess
import sys

from markdown_blocks import ROOT

PAGE = ROOT / "docs/reference/command-line.md"


def test_the_page_is_current():
    # In a process of its own: a command keeps the help option of its first caller, who may have called it alone.
    made = subprocess.run([sys.executable, "-m", "penstock.cli.reference"], check=True, capture_output=True, text=True)
    written = PAGE.read_text(encoding="utf-8")
    assert written == made.stdout, "run `python -m penstock.cli.reference > docs/reference/command-line.md`"
